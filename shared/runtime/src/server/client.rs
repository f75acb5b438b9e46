//! Clients, to whom what they take of a node is counted. Knows them by nothing but their addresses.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Address of the sender of a request, as its connection has it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl Peer {
    /// The client at this address.
    #[must_use]
    pub fn client(self) -> ClientAddress {
        ClientAddress::of(self.0.ip())
    }
}

/// A client: an address, and of IPv6 its network, because a host has all addresses of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddress(IpAddr);

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Bits of an IPv6 address that belong to the host.
const HOST_BITS: u32 = 64;

impl ClientAddress {
    pub(super) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> HOST_BITS << HOST_BITS).into(),
            address => address,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn qlt_8_a_client_is_an_address_or_the_network_of_one() {
        let of = |text: &str| ClientAddress::of(text.parse().unwrap());
        assert_eq!(of("10.0.0.1"), of("::ffff:10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }
}
