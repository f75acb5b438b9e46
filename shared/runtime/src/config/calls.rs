//! Systems that may be called: hosts and networks that the configuration allows and denies. Must
//! never resolve a name; the caller asks with the address that it is about to connect to. Beside them, their certificates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use pagurus_tls::{CertificateCheck, CertificateFiles, ClientTls};

use super::destinations::AllowedDestination;
use super::secret_targets::SecretTargets;

/// Ends of the names of files with certificates.
const CERTIFICATE: &str = ".crt";

/// Addresses that a worker may call, those that it may not, and certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallRules {
    /// Nothing else may be called.
    pub allow: Vec<AllowedDestination>,
    /// Not even when `*` or a name allows it.
    pub deny: Vec<AllowedDestination>,
    /// File of issuers that are trusted beside those that this machine trusts.
    pub issuers: Option<PathBuf>,
    /// Folder of the certificates that scenarios name.
    pub certificates: Option<PathBuf>,
    /// Targets of secrets.
    pub secrets: SecretTargets,
}

impl CallRules {
    /// TLS of a call that shows this certificate, if any.
    #[must_use]
    pub fn tls(&self, certificate: Option<CertificateFiles>) -> ClientTls {
        let check = CertificateCheck::IssuerAndName;
        ClientTls { check, issuers: self.issuers.clone(), and_system: true, certificate }
    }

    /// Files of the certificate of this name; `None` where there is no folder of certificates.
    #[must_use]
    pub fn certificate(&self, name: &str) -> Option<CertificateFiles> {
        let folder = self.certificates.as_ref()?;
        let file = |kind: &str| folder.join(format!("{name}{kind}"));
        Some(CertificateFiles { certificate: file(CERTIFICATE), key: file(".key") })
    }

    /// Names of the certificates in the folder.
    #[must_use]
    pub fn certificate_names(&self) -> Vec<String> {
        let entries = self.certificates.as_ref().and_then(|folder| std::fs::read_dir(folder).ok());
        let names =
            entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(CERTIFICATE)?.to_owned())).collect();
        names.sort();
        names
    }

    /// True if a connection may be made. Only an address in `allow` overrides `deny`: the owner of a name decides
    /// which addresses it leads to.
    #[must_use]
    pub fn permits(&self, host: &str, port: u16, to: IpAddr) -> bool {
        // An IPv4 address in the clothes of IPv6 must not slip through.
        let to = to.to_canonical();
        let mut allowed = self.allow.iter().filter(|entry| entry.takes(host, port, to)).peekable();
        if allowed.peek().is_none() {
            return false;
        }
        let denied = |to| self.deny.iter().any(|entry| entry.takes(host, port, to));
        allowed.any(AllowedDestination::is_address)
            || !(denied(to) || reached_through(to).into_iter().flatten().any(denied))
    }
}

/// Other addresses at whose machine a connection to this one may arrive: those that a translator or a tunnel reads out
/// of it (IPv4-compatible, NAT64, 6to4), and the loopback one for the address that stands for none.
fn reached_through(to: IpAddr) -> [Option<IpAddr>; 2] {
    let to = match to {
        IpAddr::V4(to) => return [to.is_unspecified().then_some(Ipv4Addr::LOCALHOST.into()), None],
        IpAddr::V6(to) => to,
    };
    if to.is_unspecified() {
        return [Some(Ipv6Addr::LOCALHOST.into()), Some(Ipv4Addr::LOCALHOST.into())];
    }
    let (segments, octets) = (to.segments(), to.octets());
    let inner = match segments {
        // `::1` is no address of IPv4.
        [0, 0, 0, 0, 0, 0, 0, 1] => None,
        // RFC 4291 (compatible), RFC 6052 and RFC 8215 (NAT64).
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] => {
            octets.last_chunk::<4>().copied()
        }
        // RFC 3056.
        [0x2002, ..] => octets[2..].first_chunk::<4>().copied(),
        _ => None,
    };
    let inner = inner.map(Ipv4Addr::from);
    let own = inner.filter(Ipv4Addr::is_unspecified).map(|_| Ipv4Addr::LOCALHOST.into());
    [inner.map(IpAddr::from), own]
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
            (entry, None) => entry.takes_name(host, port),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn rules(allow: &[&str], deny: &[&str]) -> CallRules {
        let read = |list: &[&str]| list.iter().map(|text| AllowedDestination::parse(text).unwrap()).collect();
        CallRules { allow: read(allow), deny: read(deny), ..CallRules::default() }
    }

    fn permits(rules: &CallRules, host: &str, port: u16, to: &str) -> bool {
        rules.permits(host, port, to.parse().unwrap())
    }

    /// The rules that hold where the configuration says nothing.
    fn by_default() -> CallRules {
        crate::config::load(None, std::iter::empty()).unwrap().worker.calls.clone()
    }

    #[test]
    fn qlt_9_link_local_addresses_and_metadata_services_are_denied_by_default() {
        let rules = by_default();
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
            ("fd00:ec2::254", false),
            ("fd00:ec2::23", false),
            ("fd00:ec3::254", true),
            ("fd20:ce::254", false),
            ("fd00:c1::a9fe:a9fe", false),
            ("100.100.100.200", false),
            ("100.100.100.201", true),
            ("168.63.129.16", false),
            ("192.0.0.192", false),
        ] {
            assert_eq!(permits(&rules, "shop.example", 80, to), expected, "{to}");
        }
    }

    #[test]
    fn qlt_9_an_address_that_holds_a_denied_one_is_denied_as_well() {
        let rules = by_default();
        for to in [
            "64:ff9b::169.254.169.254",
            "64:ff9b::6464:64c8",
            "64:ff9b:1::168.63.129.16",
            "::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "2002:c000:c0::",
        ] {
            assert!(!permits(&rules, "shop.example", 80, to), "{to}");
        }
        for to in ["64:ff9b::8.8.8.8", "2002:808:808::1", "::8.8.8.8", "2001:db8::a9fe:a9fe"] {
            assert!(permits(&rules, "shop.example", 80, to), "{to}");
        }
        let no_loopback = self::rules(&["*"], &["127.0.0.0/8", "::1"]);
        for to in ["0.0.0.0", "::", "::ffff:0.0.0.0", "64:ff9b::127.0.0.1", "64:ff9b::", "127.1.2.3", "::1"] {
            assert!(!permits(&no_loopback, "x", 80, to), "{to}");
        }
    }

    #[test]
    fn qlt_9_only_an_address_lifts_a_denial_and_no_name_does() {
        let allow = [
            "*",
            "localhost",
            "*:8080",
            "127.0.*",
            "*.shop.example",
            "169.254.1.0/24",
            "10.0.0.9:80",
            "[::1]:9",
        ];
        let deny = ["169.254.0.0/16", "127.0.0.0/8", "10.0.0.0/8", "::1", "bad.example"];
        let rules = rules(&allow, &deny);
        for (host, port, to, expected) in [
            ("localhost", 80, "127.0.0.1", false),
            ("127.0.0.1", 8080, "127.0.0.1", false),
            ("a.shop.example", 80, "169.254.169.254", false),
            ("a.shop.example", 80, "::ffff:169.254.169.254", false),
            ("a.shop.example", 80, "64:ff9b::169.254.169.254", false),
            ("a.shop.example", 80, "192.0.2.1", true),
            ("bad.example", 80, "192.0.2.1", false),
            // An address in a rule is meant, by whatever name it is called.
            ("a.shop.example", 80, "169.254.1.9", true),
            ("x", 80, "169.254.2.9", false),
            ("10.0.0.9", 80, "10.0.0.9", true),
            ("10.0.0.9", 81, "10.0.0.9", false),
            ("x", 9, "::1", true),
            ("x", 8, "::1", false),
            // The translated address is another one.
            ("x", 80, "64:ff9b::169.254.1.9", false),
        ] {
            assert_eq!(permits(&rules, host, port, to), expected, "{host}:{port} at {to}");
        }
        let metadata = self::rules(&["fd00:ec2::254", "shop.example"], &["fd00:ec2::/32"]);
        assert!(
            permits(&metadata, "x", 80, "fd00:ec2::254") && !permits(&metadata, "x", 80, "fd00:ec2::253")
        );
    }

    #[test]
    fn a_list_without_a_star_shuts_out_the_rest() {
        let rules = rules(&["*.shop.example:8080", "192.0.2.0/24"], &[]);
        assert!(permits(&rules, "A.Shop.Example", 8080, "10.0.0.1"));
        assert!(!permits(&rules, "a.shop.example", 8081, "10.0.0.1"));
        assert!(permits(&rules, "x", 80, "192.0.2.9"));
        assert!(!permits(&rules, "x", 80, "192.0.3.9"));
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
