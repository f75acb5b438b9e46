//! Hosts and networks, as the configuration names them.

use std::fmt;
use std::net::IpAddr;

use pagurus_domain::order::notification::matches;

/// An entry of `worker.http.allow` or `worker.http.deny`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedDestination {
    /// A name, in which `*` stands for any letters, with or without a port.
    Host {
        /// In small letters.
        name: String,
        /// Port; `None` means any.
        port: Option<u16>,
    },
    /// All addresses that share the first bits.
    Network {
        /// Any address of the network.
        address: IpAddr,
        /// Number of bits that count.
        bits: u8,
        /// Port; `None` means any.
        port: Option<u16>,
    },
}

impl AllowedDestination {
    /// Reads `*`, `shop.example`, `*.example:8080`, `10.0.0.0/8`, `fe80::/10` or one address, with or without a port.
    ///
    /// # Errors
    /// Says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "`{text}` is neither a host, such as `shop.example:8080`, nor a network, such as `10.0.0.0/8`"
            )
        };
        let one = |address: IpAddr, port| Self::Network { address, bits: width(address), port };
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(one(address, None));
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| refused())?;
            let bits = bits.parse().ok().filter(|bits| *bits <= width(address));
            return Ok(Self::Network { address, bits: bits.ok_or_else(refused)?, port: None });
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| refused())?)),
            None => (text, None),
        };
        if let Ok(address) = name.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(one(address, port));
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(refused());
        }
        Ok(Self::Host { name: name.to_ascii_lowercase(), port })
    }

    pub(super) fn is_everything(&self) -> bool {
        matches!(self, Self::Host { name, port: None } if name == "*")
    }

    pub(super) const fn is_address(&self) -> bool {
        matches!(self, Self::Network { .. })
    }

    pub(super) fn takes(&self, host: &str, port: u16, to: IpAddr) -> bool {
        self.takes_name(host, port) || self.takes_name(&to.to_string(), port) || self.takes_address(port, to)
    }

    /// True if it is a name that fits this host.
    pub(super) fn takes_name(&self, host: &str, port: u16) -> bool {
        let Self::Host { name, port: wanted } = self else { return false };
        let host = host.to_ascii_lowercase();
        wanted.is_none_or(|wanted| wanted == port) && matches(name, host.trim_end_matches('.'))
    }

    /// True if it is a network of this address.
    pub(super) fn takes_address(&self, port: u16, to: IpAddr) -> bool {
        let Self::Network { address, bits, port: wanted } = self else { return false };
        wanted.is_none_or(|wanted| wanted == port)
            && first_bits(*address, *bits).is_some_and(|of| first_bits(to, *bits) == Some(of))
            && width(*address) == width(to)
    }
}

impl fmt::Display for AllowedDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = match self {
            Self::Host { name, port } => {
                f.write_str(name)?;
                port
            }
            Self::Network { address, bits, port: None } if *bits < width(*address) => {
                return write!(f, "{address}/{bits}");
            }
            Self::Network { address: address @ IpAddr::V6(_), port, .. } => {
                write!(f, "[{address}]")?;
                port
            }
            Self::Network { address, port, .. } => {
                write!(f, "{address}")?;
                port
            }
        };
        port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first bits of an address as a number; none if there are fewer.
fn first_bits(address: IpAddr, bits: u8) -> Option<u128> {
    let number = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    };
    let rest = width(address).checked_sub(bits)?;
    // A shift by all 128 bits is not defined: a network of 0 bits holds every address.
    Some(number.checked_shr(u32::from(rest)).unwrap_or(0))
}
