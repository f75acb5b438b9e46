//! Exchanges to which scenarios may publish, and secrets may be sent.

use std::fmt;

use pagurus_domain::order::notification::matches;

/// An exchange, with `*` for any letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedExchange {
    /// The virtual host; `None` is the engine's own.
    vhost: Option<String>,
    name: String,
}

impl AllowedExchange {
    /// Reads `EXCHANGE`, of the engine's own virtual host, or `VHOST/EXCHANGE`. The last `/` counts.
    ///
    /// # Errors
    /// Says how to write it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (vhost, name) = match text.rsplit_once('/') {
            Some((vhost, name)) => (Some(vhost), name),
            None => (None, text),
        };
        if name.is_empty() || vhost == Some("") {
            return Err(format!("`{text}` does not name an exchange; write `EXCHANGE`, or `VHOST/EXCHANGE`"));
        }
        Ok(Self { vhost: vhost.map(str::to_owned), name: name.to_owned() })
    }

    /// True if it fits an exchange of this virtual host; `own` is that of the engine.
    #[must_use]
    pub fn takes(&self, vhost: &str, own: &str, exchange: &str) -> bool {
        let is_there = match &self.vhost {
            None => vhost == own,
            Some(of) => matches(of, vhost),
        };
        is_there && matches(&self.name, exchange)
    }
}

impl fmt::Display for AllowedExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.vhost {
            Some(vhost) => write!(f, "{vhost}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Exchanges to which scenarios may publish, and those to which they may not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeRules {
    /// Nothing else may be published to.
    pub allow: Vec<AllowedExchange>,
    /// Not even what `allow` names.
    pub deny: Vec<AllowedExchange>,
}

impl ExchangeRules {
    /// Checks a target. `own` is the engine's own virtual host.
    ///
    /// # Errors
    /// The sentence for people: nothing may be published there.
    pub fn permit(&self, vhost: &str, own: &str, exchange: &str) -> Result<(), String> {
        let holds = |list: &[AllowedExchange]| list.iter().any(|entry| entry.takes(vhost, own, exchange));
        if holds(&self.allow) && !holds(&self.deny) {
            return Ok(());
        }
        Err(format!(
            "nothing may be published to exchange `{exchange}` of virtual host `{vhost}`: see `worker.amqp.allow` and \
             `worker.amqp.deny`"
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::super::load;

    fn permitted(settings: &[(&str, &str)], vhost: &str, exchange: &str) -> bool {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = load(None, settings).unwrap();
        settings.worker.exchanges.permit(vhost, "own", exchange).is_ok()
    }

    #[test]
    fn qlt_9_scenarios_publish_to_what_is_allowed_and_not_denied() {
        let allow = ("PAGURUS__WORKER__AMQP__ALLOW", "['crm.*', 'partner/*', '/shop/in', '//x']");
        let deny = ("PAGURUS__WORKER__AMQP__DENY", "['*.audit', '*/secret']");
        for (vhost, exchange, by_default, by_lists) in [
            ("own", "crm.in", true, true),
            ("own", "crm.audit", true, false),
            ("own", "other", true, false),
            ("other", "crm.in", true, false),
            ("partner", "any", true, true),
            ("partner", "secret", true, false),
            // An entry without a virtual host is about the engine's own.
            ("partner", "x.audit", true, true),
            ("/shop", "in", true, true),
            ("/", "x", true, true),
        ] {
            assert_eq!(permitted(&[], vhost, exchange), by_default, "{vhost} {exchange}");
            assert_eq!(permitted(&[allow, deny], vhost, exchange), by_lists, "{vhost} {exchange}");
        }
    }
}
