//! Where secrets may be sent: `secrets.for` and `secrets.others`. Knows names of secrets and never a value, and resolves no
//! name; the caller asks with the address that it is about to connect to.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use super::destinations::AllowedDestination;
use super::exchanges::AllowedExchange;

/// Beginning of an entry that names an exchange.
const EXCHANGE: &str = "amqp:";

/// An entry of `secrets.for`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretTarget {
    /// A host or a network, of calls and webhooks.
    Http(AllowedDestination),
    /// An exchange.
    Exchange(AllowedExchange),
}

impl SecretTarget {
    /// Reads a host (`billing.example`, `*.bank.example`, `billing.example:8443`), an address or a network as
    /// [`AllowedDestination::parse`] does, `amqp:EXCHANGE`, or `amqp:VHOST/EXCHANGE`.
    ///
    /// # Errors
    /// Says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(exchange) = text.strip_prefix(EXCHANGE) {
            return AllowedExchange::parse(exchange).map(Self::Exchange);
        }
        let read = AllowedDestination::parse(text)?;
        // `10.*` would fit the name `10.evil.example`, and `*bank.example` the name `mybank.example`.
        if let AllowedDestination::Host { name, .. } = &read
            && name != "*"
            && name.strip_prefix("*.").unwrap_or(name).contains('*')
        {
            return Err(format!(
                "`{text}` fits more names than it seems to; `*` stands alone or before a dot, as in `*.bank.example`, and \
                 addresses are written as a network, like `10.0.0.0/8`"
            ));
        }
        Ok(Self::Http(read))
    }
}

impl fmt::Display for SecretTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(host) => host.fmt(f),
            Self::Exchange(exchange) => write!(f, "{EXCHANGE}{exchange}"),
        }
    }
}

/// Targets of all secrets. By default each may be sent anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretTargets {
    /// Targets of the secrets that are named.
    pub of: BTreeMap<String, Vec<SecretTarget>>,
    /// True if a secret that is not named may be sent nowhere.
    pub others_nowhere: bool,
}

impl SecretTargets {
    /// Targets of a secret; `None` means anywhere.
    fn of(&self, secret: &str) -> Option<&[SecretTarget]> {
        let named = self.of.get(secret).map(Vec::as_slice);
        named.or(self.others_nowhere.then_some(&[]))
    }

    /// Returns those of the secrets for which the address decides that is connected to, as the name of the host does not permit
    /// them.
    ///
    /// # Errors
    /// The sentence for people: neither the name nor any address permits one of them.
    pub fn left_to_address<'s>(
        &self,
        secrets: &'s [String],
        host: &str,
        port: u16,
    ) -> Result<Vec<&'s str>, String> {
        let mut left = Vec::new();
        for secret in secrets {
            let Some(targets) = self.of(secret) else { continue };
            let hosts = || targets.iter().filter_map(SecretTarget::host);
            if hosts().any(|entry| entry.takes_name(host, port)) {
                continue;
            }
            if !hosts().any(AllowedDestination::is_address) {
                return Err(self.refusal(secret, &format!("host `{host}`")));
            }
            left.push(secret.as_str());
        }
        Ok(left)
    }

    /// True if all of these secrets may be sent to an address, by whatever name it is called.
    #[must_use]
    pub fn permit_address<'s>(
        &self,
        secrets: impl IntoIterator<Item = &'s str>,
        port: u16,
        to: IpAddr,
    ) -> bool {
        // The address of IPv4 that is written as one of IPv6 is the same machine.
        let to = to.to_canonical();
        let permits =
            |target: &SecretTarget| target.host().is_some_and(|entry| entry.takes_address(port, to));
        secrets.into_iter().all(|secret| self.of(secret).is_none_or(|targets| targets.iter().any(permits)))
    }

    /// Checks a message to an exchange of this virtual host; `own` is that of the engine.
    ///
    /// # Errors
    /// The sentence for people: one of the secrets may not be sent there.
    pub fn permit_exchange(
        &self,
        secrets: &[String],
        vhost: &str,
        own: &str,
        exchange: &str,
    ) -> Result<(), String> {
        let permits = |target: &SecretTarget| match target {
            SecretTarget::Http(_) => false,
            SecretTarget::Exchange(entry) => entry.takes(vhost, own, exchange),
        };
        let kept = |secret: &&String| self.of(secret).is_some_and(|targets| !targets.iter().any(permits));
        match secrets.iter().find(kept) {
            None => Ok(()),
            Some(secret) if vhost == own => Err(self.refusal(secret, &format!("exchange `{exchange}`"))),
            Some(secret) => {
                Err(self.refusal(secret, &format!("exchange `{exchange}` of virtual host `{vhost}`")))
            }
        }
    }

    /// The sentence for people about a secret that may not be sent to this target.
    #[must_use]
    pub fn refusal(&self, secret: &str, target: &str) -> String {
        let permitted = match self.of.get(secret).map(Vec::as_slice) {
            None => "does not name it, and `secrets.others` is `nowhere`".to_owned(),
            Some([]) => "permits: nothing".to_owned(),
            Some(targets) => {
                let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
                format!("permits: {}", targets.join(", "))
            }
        };
        format!("the secret `{secret}` may not be sent to {target}; `secrets.for` {permitted}")
    }
}

impl SecretTarget {
    const fn host(&self) -> Option<&AllowedDestination> {
        match self {
            Self::Http(host) => Some(host),
            Self::Exchange(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::super::load;
    use super::*;

    fn targets(yaml: &str) -> SecretTargets {
        let secrets = [("PAGURUS__SECRETS__FOR".to_owned(), yaml.to_owned())];
        load(None, secrets.into_iter()).unwrap().worker.calls.secrets.clone()
    }

    const BILLING: &str = "{billing: [billing.example, '*.bank.example', 'api.example:8443', 10.0.0.0/8, 'fd00::/8', \
                           'amqp:crm.*', 'amqp:/partner/pay', 'amqp://own']}";

    /// Outcome of a call of this host that leads to this address.
    fn sent(targets: &SecretTargets, secret: &str, host: &str, port: u16, to: &str) -> Result<bool, String> {
        let secrets = [secret.to_owned()];
        let left = targets.left_to_address(&secrets, host, port)?;
        Ok(targets.permit_address(left, port, to.parse().unwrap()))
    }

    #[test]
    fn scn_15_a_secret_is_sent_to_its_hosts_and_networks_alone() {
        let targets = targets(BILLING);
        for (host, port, to, expected) in [
            ("billing.example", 443, "192.0.2.1", true),
            ("Billing.Example.", 80, "192.0.2.1", true),
            ("a.b.bank.example", 443, "192.0.2.1", true),
            ("bank.example", 443, "192.0.2.1", false),
            ("evilbank.example", 443, "192.0.2.1", false),
            ("billing.example.evil", 443, "192.0.2.1", false),
            ("api.example", 8443, "192.0.2.1", true),
            ("api.example", 443, "192.0.2.1", false),
            ("10.1.2.3", 80, "10.1.2.3", true),
            ("::ffff:10.1.2.3", 80, "::ffff:10.1.2.3", true),
            ("11.1.2.3", 80, "11.1.2.3", false),
            // The name is nobody's; the address is one of the network.
            ("inside.example", 80, "10.9.9.9", true),
            ("inside.example", 80, "fd12::1", true),
            ("10.evil.example", 80, "192.0.2.1", false),
            // What a translator makes of the address is another one.
            ("inside.example", 80, "64:ff9b::10.1.2.3", false),
        ] {
            assert_eq!(sent(&targets, "billing", host, port, to), Ok(expected), "{host}:{port} at {to}");
        }
    }

    #[test]
    fn scn_15_a_host_that_no_entry_can_permit_is_refused_before_its_name_is_looked_up() {
        let targets = targets("{billing: [billing.example, 'amqp:crm'], none: []}");
        let refused = sent(&targets, "billing", "evil.example", 80, "192.0.2.1").unwrap_err();
        assert_eq!(
            refused,
            "the secret `billing` may not be sent to host `evil.example`; `secrets.for` permits: billing.example, amqp:crm"
        );
        let refused = sent(&targets, "none", "billing.example", 80, "192.0.2.1").unwrap_err();
        assert!(refused.ends_with("permits: nothing"), "{refused}");
    }

    #[test]
    fn scn_15_a_secret_that_is_not_named_goes_anywhere_unless_the_others_go_nowhere() {
        let mut targets = targets(BILLING);
        assert_eq!(sent(&targets, "other", "evil.example", 80, "192.0.2.1"), Ok(true));
        assert_eq!(targets.permit_exchange(&["other".into()], "/", "/", "any"), Ok(()));
        targets.others_nowhere = true;
        let refused = sent(&targets, "other", "evil.example", 80, "192.0.2.1").unwrap_err();
        assert!(refused.ends_with("`secrets.for` does not name it, and `secrets.others` is `nowhere`"));
        assert!(targets.permit_exchange(&["other".into()], "/", "/", "any").is_err());
        assert_eq!(sent(&targets, "billing", "billing.example", 80, "192.0.2.1"), Ok(true));
    }

    #[test]
    fn scn_15_each_of_several_secrets_must_be_permitted() {
        let targets = targets("{a: [10.0.0.0/8], b: [10.1.0.0/16], c: [shop.example]}");
        let secrets = ["a".to_owned(), "b".to_owned()];
        let left = targets.left_to_address(&secrets, "h", 80).unwrap();
        assert!(targets.permit_address(left.clone(), 80, "10.1.0.1".parse().unwrap()));
        assert!(!targets.permit_address(left, 80, "10.2.0.1".parse().unwrap()));
        let all = ["a".to_owned(), "c".to_owned()];
        assert!(targets.left_to_address(&all, "h", 80).unwrap_err().contains("`c`"));
        assert_eq!(targets.left_to_address(&all, "shop.example", 80).unwrap(), ["a"]);
    }

    #[test]
    fn scn_15_a_message_with_a_secret_goes_to_its_exchanges_alone() {
        let targets = targets(BILLING);
        for (vhost, exchange, expected) in [
            ("own", "crm.in", true),
            ("own", "crm", false),
            ("other", "crm.in", false),
            ("/partner", "pay", true),
            ("/partner", "paid", false),
            ("own", "pay", false),
            // A host is no exchange.
            ("own", "billing.example", false),
        ] {
            let sent = targets.permit_exchange(&["billing".into()], vhost, "own", exchange);
            assert_eq!(sent.is_ok(), expected, "{vhost:?} {exchange}: {sent:?}");
        }
        let refused = targets.permit_exchange(&["billing".into()], "other", "own", "e").unwrap_err();
        assert!(
            refused.contains("to exchange `e` of virtual host `other`; `secrets.for` permits: "),
            "{refused}"
        );
        assert!(refused.contains("api.example:8443, 10.0.0.0/8, fd00::/8, amqp:crm.*"), "{refused}");
        // The virtual host `/` by its name.
        assert!(targets.permit_exchange(&["billing".into()], "/", "/", "own").is_ok());
    }

    #[test]
    fn scn_15_an_entry_that_is_no_target_is_a_fault() {
        for text in
            ["", "http://x", "a b", "10.0.0.0/33", "10.*", "*bank.example", "a.*.example", "amqp:", "amqp:v/"]
        {
            assert!(SecretTarget::parse(text).is_err(), "{text}");
        }
        for text in ["*", "*.bank.example", "x:80", "[::1]:9", "::1", "10.0.0.0/8", "amqp:*", "amqp:v/*"] {
            let shown = SecretTarget::parse(text).unwrap().to_string();
            assert_eq!(SecretTarget::parse(&shown), SecretTarget::parse(text), "{text}: {shown}");
        }
    }

    proptest::proptest! {
        #[test]
        fn qlt_9_no_text_breaks_the_readers_of_places_and_one_that_is_shown_is_read_again(
            text in proptest::prop_oneof!["(amqp:)?[a-c0-9.*/:\\[\\]-]{0,20}", "\\PC{0,20}"],
        ) {
            if let Ok(target) = SecretTarget::parse(&text) {
                proptest::prop_assert_eq!(SecretTarget::parse(&target.to_string()), Ok(target));
            }
            if let Ok(exchange) = AllowedExchange::parse(&text) {
                proptest::prop_assert_eq!(AllowedExchange::parse(&exchange.to_string()), Ok(exchange));
            }
            let _ = crate::syslog::SyslogAddress::read(&text);
        }
    }
}
