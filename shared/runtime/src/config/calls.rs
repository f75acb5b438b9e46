//! Which systems may be called: hosts and networks that the configuration allows and denies. Must
//! never resolve a name; whoever calls asks with the address that it is about to connect to.

use std::net::IpAddr;

use pagurus_domain::order::notification::matches;

/// An entry of `worker.http.allow` or `worker.http.deny`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedDestination {
    /// A name, in which `*` stands for any letters, with or without a port.
    Host {
        /// In small letters.
        name: String,
        /// None means any.
        port: Option<u16>,
    },
    /// All addresses that share the first bits.
    Network {
        /// Any address of the network.
        address: IpAddr,
        /// Number of bits that count.
        bits: u8,
    },
}

impl AllowedDestination {
    /// Reads `*`, `shop.example`, `*.example:8080`, `10.0.0.0/8`, `fe80::/10` or one address.
    ///
    /// # Errors
    /// Says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refused =
            || format!("`{text}` is neither a host like `shop.example:8080` nor a network like `10.0.0.0/8`");
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Ok(Self::Network { address, bits: width(address) });
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| refused())?;
            let bits = bits.parse().ok().filter(|bits| *bits <= width(address));
            return Ok(Self::Network { address, bits: bits.ok_or_else(refused)? });
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().map_err(|_| refused())?)),
            None => (text, None),
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
        if name.is_empty() || !name.chars().all(allowed) {
            return Err(refused());
        }
        Ok(Self::Host { name: name.to_ascii_lowercase(), port })
    }

    fn is_everything(&self) -> bool {
        matches!(self, Self::Host { name, port: None } if name == "*")
    }

    fn takes(&self, host: &str, port: u16, to: IpAddr) -> bool {
        match self {
            Self::Host { name, port: wanted } => {
                let host = host.to_ascii_lowercase();
                wanted.is_none_or(|wanted| wanted == port)
                    && (matches(name, host.trim_end_matches('.')) || matches(name, &to.to_string()))
            }
            Self::Network { address, bits } => {
                first_bits(*address, *bits).is_some_and(|bits_of| first_bits(to, *bits) == Some(bits_of))
                    && width(*address) == width(to)
            }
        }
    }
}

/// Addresses that a worker may call, and those that it may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRules {
    /// Nothing else may be called.
    pub allow: Vec<AllowedDestination>,
    /// Not even when `*` allows it.
    pub deny: Vec<AllowedDestination>,
}

impl CallRules {
    /// True if a connection may be made. An entry of `allow` other than `*` overrides `deny`:
    /// whoever names a place means it.
    #[must_use]
    pub fn permits(&self, host: &str, port: u16, to: IpAddr) -> bool {
        // An IPv4 address in the clothes of IPv6 must not slip through.
        let to = to.to_canonical();
        let mut named = self.allow.iter().filter(|entry| !entry.is_everything());
        named.any(|entry| entry.takes(host, port, to))
            || (self.allow.iter().any(AllowedDestination::is_everything)
                && !self.deny.iter().any(|entry| entry.takes(host, port, to)))
    }
}

impl CallRules {
    /// True if an entry other than `*` names this place: only then may an order choose it. A network
    /// names its addresses, and no name that leads to one of them.
    #[must_use]
    pub fn names(&self, host: &str, port: u16) -> bool {
        let literal =
            host.trim_matches(['[', ']']).parse::<IpAddr>().ok().map(|address| address.to_canonical());
        self.allow.iter().filter(|entry| !entry.is_everything()).any(|entry| match (entry, literal) {
            (_, Some(address)) => entry.takes(host, port, address),
            (AllowedDestination::Host { name, port: wanted }, None) => {
                let host = host.to_ascii_lowercase();
                wanted.is_none_or(|wanted| wanted == port) && matches(name, host.trim_end_matches('.'))
            }
            (AllowedDestination::Network { .. }, None) => false,
        })
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn rules(allow: &[&str], deny: &[&str]) -> CallRules {
        let read = |list: &[&str]| list.iter().map(|text| AllowedDestination::parse(text).unwrap()).collect();
        CallRules { allow: read(allow), deny: read(deny) }
    }

    fn permits(rules: &CallRules, host: &str, port: u16, to: &str) -> bool {
        rules.permits(host, port, to.parse().unwrap())
    }

    #[test]
    fn link_local_addresses_are_denied_by_default() {
        let rules = rules(&["*"], &["169.254.0.0/16", "fe80::/10"]);
        for (to, expected) in [
            ("10.1.2.3", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("169.254.169.254", false),
            ("::ffff:169.254.169.254", false),
            ("169.255.0.1", true),
            ("fe80::1", false),
            ("febf::1", false),
            ("fec0::1", true),
        ] {
            assert_eq!(permits(&rules, "shop.example", 80, to), expected, "{to}");
        }
    }

    #[test]
    fn named_entries_override_denials_and_shut_out_the_rest() {
        let rules = rules(&["*.shop.example:8080", "169.254.1.0/24"], &["169.254.0.0/16", "0.0.0.0/0"]);
        assert!(permits(&rules, "A.Shop.Example", 8080, "10.0.0.1"));
        assert!(!permits(&rules, "a.shop.example", 8081, "10.0.0.1"));
        assert!(permits(&rules, "x", 80, "169.254.1.9"));
        assert!(!permits(&rules, "x", 80, "169.254.2.9"));
        assert!(!permits(&rules, "shop.example", 8080, "10.0.0.1"));
    }

    #[test]
    fn networks_of_no_bits_hold_all_of_their_kind() {
        let rules = rules(&["*"], &["::/0"]);
        assert!(!permits(&rules, "x", 80, "2001:db8::1"));
        assert!(permits(&rules, "x", 80, "8.8.8.8"));
        assert_eq!(AllowedDestination::parse("[::1]"), AllowedDestination::parse("::1/128"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "10.0.0.0/33", "a b", "host:99999", "http://x", "x/8", ":80"] {
            assert!(AllowedDestination::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn qlt_8_only_a_named_place_may_be_chosen_by_an_order() {
        let rules =
            rules(&["*", "shop.example:8080", "*.shops.example", "10.0.0.0/8", "127.0.0.1:9000"], &[]);
        for (host, port) in
            [("Shop.Example.", 8080), ("a.shops.example", 80), ("10.1.2.3", 1), ("127.0.0.1", 9000)]
        {
            assert!(rules.names(host, port), "{host}:{port}");
        }
        for (host, port) in [
            ("shop.example", 80),
            ("other.example", 80),
            ("127.0.0.1", 8080),
            ("[::1]", 9000),
            ("11.0.0.1", 1),
        ] {
            assert!(!rules.names(host, port), "{host}:{port}");
        }
        assert!(!super::tests::rules(&["*"], &[]).names("shop.example", 80));
    }
}
