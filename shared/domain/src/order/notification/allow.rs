//! Targets that messages to clients may go to (AMQP-5): the configured patterns, and what nobody may write to.

use super::target::Target;
use super::webhook::{WebhookPattern, WebhookUrl};
use super::wildcard::matches;

/// Entry of an allow list; `*` stands for any run of characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Pattern of the exchange.
    pub exchange: Option<String>,
    /// Pattern of the routing key.
    pub key: Option<String>,
    /// Pattern of the queue.
    pub queue: Option<String>,
    /// Pattern of webhooks.
    pub webhook: Option<WebhookPattern>,
}

/// Targets that messages to clients may go to (AMQP-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList {
    /// Prefix of the engine's own names.
    pub prefix: String,
    /// The exchange that is meant where none is named.
    pub default_exchange: String,
    /// Allowed targets.
    pub patterns: Vec<Pattern>,
}

impl AllowList {
    /// The entry that names this webhook.
    ///
    /// # Errors
    /// No entry names the URL.
    pub fn webhook(&self, url: &WebhookUrl) -> Result<&WebhookPattern, String> {
        let mut webhooks = self.patterns.iter().filter_map(|pattern| pattern.webhook.as_ref());
        webhooks.find(|pattern| pattern.takes(url)).ok_or_else(|| {
            format!(
                "{} is not allowed here; `notify.allow` lists what is, with `url` and `secret` for webhooks",
                url.place()
            )
        })
    }

    /// Names of the certificates that are shown to receivers of webhooks.
    pub fn certificates(&self) -> impl Iterator<Item = &str> {
        let webhooks = self.patterns.iter().filter_map(|pattern| pattern.webhook.as_ref());
        webhooks.filter_map(|webhook| webhook.certificate.as_deref())
    }

    /// True if a message may go there. The engine's own names and `amq.*` never may.
    ///
    /// # Errors
    /// Says what is forbidden and which setting would allow it.
    pub fn permits(&self, target: &Target) -> Result<(), String> {
        let refused = || Err(format!("{target} is not allowed here; `notify.allow` lists what is"));
        match target {
            Target::Callback(_) => Ok(()),
            Target::Webhook(url) => self.webhook(url).map(|_| ()),
            Target::Queue(queue) => {
                let own = format!("{}.", self.prefix);
                if queue.starts_with("amq.")
                    || (queue.starts_with(&own) && !queue.starts_with(&format!("{own}reply.")))
                {
                    return Err(format!("{target} belongs to the engine or the broker"));
                }
                let allowed = |pattern: &Pattern| pattern.queue.as_deref().is_some_and(|p| matches(p, queue));
                if self.patterns.iter().any(allowed) { Ok(()) } else { refused() }
            }
            Target::Exchange { exchange, key } => {
                let exchange = exchange.as_ref().unwrap_or(&self.default_exchange);
                let notifications = format!("{}.notifications", self.prefix);
                let own = exchange.starts_with(&format!("{}.", self.prefix)) && *exchange != notifications;
                if own || exchange.starts_with("amq.") {
                    return Err(format!("{target} belongs to the engine or the broker"));
                }
                let allowed = |pattern: &Pattern| {
                    pattern.exchange.as_deref().is_some_and(|p| matches(p, exchange))
                        && pattern.key.as_deref().is_none_or(|p| matches(p, key))
                };
                if self.patterns.iter().any(allowed) { Ok(()) } else { refused() }
            }
        }
    }
}

/// Prefix of the names by which the broker knows the callers of direct reply-to.
const DIRECT: &str = "amq.rabbitmq.reply-to.";

impl AllowList {
    /// True if a receipt may go to this queue. Direct reply-to is always allowed: the broker delivers it to the sender of the
    /// message and to nobody else.
    ///
    /// # Errors
    /// Says what would be allowed.
    pub fn permits_receipt(&self, queue: &str) -> Result<(), String> {
        if queue.starts_with(DIRECT) || self.permits(&Target::Queue(queue.to_owned())).is_ok() {
            return Ok(());
        }
        let shown: String = queue.chars().take(255).collect();
        Err(format!(
            "`reply_to`: no receipt may go to the queue `{shown}`; take direct reply-to (`amq.rabbitmq.reply-to`), a queue \
             that `reply.allow` lists, or leave `reply_to` out"
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn amqp_5_engine_names_are_never_written_to() {
        let list = AllowList {
            prefix: "pagurus".into(),
            default_exchange: "pagurus.notifications".into(),
            patterns: vec![Pattern {
                exchange: Some("*".into()),
                queue: Some("*".into()),
                ..Pattern::default()
            }],
        };
        let permits = |url: &str| list.permits(&Target::parse(url).unwrap()).is_ok();
        assert!(
            permits("amqp://?key=x") && permits("amqp://?exchange=brt&key=x") && permits("amqp://?queue=q")
        );
        for bad in [
            "amqp://?queue=pagurus.orders.in",
            "amqp://?queue=amq.gen-x",
            "amqp://?exchange=amq.topic&key=x",
            "amqp://?exchange=pagurus.callbacks&key=x",
            "amqp://?queue=pagurus.refused",
        ] {
            assert!(!permits(bad), "{bad}");
        }
    }

    #[test]
    fn amqp_5_receipts_go_to_their_sender_and_to_queues_that_are_listed() {
        let queue = |pattern: &str| Pattern { queue: Some(pattern.into()), ..Pattern::default() };
        let list = AllowList {
            prefix: "shop".into(),
            default_exchange: String::new(),
            patterns: vec![queue("shop.reply.*"), queue("inbox"), queue("amq.*"), queue("shop.orders.*")],
        };
        for (name, expected) in [
            ("shop.reply.a", true),
            ("inbox", true),
            ("amq.rabbitmq.reply-to.g1h2.b3==", true),
            ("amq.gen-Xyz", false),
            ("shop.orders.in", false),
            ("elsewhere", false),
        ] {
            let permitted = list.permits_receipt(name);
            assert_eq!(permitted.is_ok(), expected, "{name}: {permitted:?}");
        }
        let refused = list.permits_receipt("elsewhere").unwrap_err();
        assert!(refused.contains("`elsewhere`") && refused.contains("`reply.allow`"), "{refused}");
    }

    #[test]
    fn ord_18_a_webhook_is_signed_with_the_secret_of_the_entry_that_names_it() {
        let webhook = |url: &str, secret: &str| Pattern {
            webhook: Some(WebhookPattern::parse(url, secret).unwrap()),
            ..Pattern::default()
        };
        let list = AllowList {
            prefix: "pagurus".into(),
            default_exchange: "pagurus.notifications".into(),
            patterns: vec![
                Pattern { exchange: Some("*".into()), queue: Some("*".into()), ..Pattern::default() },
                webhook("https://hooks.example/a/*", "first"),
                webhook("https://hooks.example", "second"),
            ],
        };
        let secret =
            |url: &str| list.webhook(&WebhookUrl::parse(url).unwrap()).map(|pattern| pattern.secret.clone());
        assert_eq!(secret("https://hooks.example/a/b"), Ok("first".to_owned()));
        assert_eq!(secret("https://hooks.example/b"), Ok("second".to_owned()));
        let refused = secret("https://other.example/b?token=t").unwrap_err();
        assert!(refused.contains("notify.allow") && !refused.contains("token"), "{refused}");
        assert!(list.permits(&Target::parse("https://other.example/").unwrap()).is_err());
        assert!(list.permits(&Target::parse("https://hooks.example/").unwrap()).is_ok());
        let shown = WebhookPattern::parse("https://bank.example", "s").unwrap().showing("bank").unwrap();
        assert_eq!(shown.certificate.as_deref(), Some("bank"));
        let plain = WebhookPattern::parse("http://bank.example", "s").unwrap().showing("bank").unwrap_err();
        assert!(plain.contains("only over TLS"), "{plain}");
    }
}
