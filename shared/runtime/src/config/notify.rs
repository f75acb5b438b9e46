//! Settings of notifications, webhooks and receipts.

use std::time::Duration;

use pagurus_domain::order::notification::AllowList;

use super::builder::SettingsBuilder;
use super::kind::Kind::*;
use super::section::section;

section! {
    /// `notify`
    #[derive(Clone, Debug)]
    pub struct NotifySettings;

    ("notify.exchange", OptionalText, "~", Live, "Exchange for notifications that name only a key; default: `<broker.prefix>.notifications`.");
    ("notify.allow", Tree("a list of `vhost`, `exchange`, `key`, `queue` patterns, and of `url` with `secret` and `certificate`"), "~", Live, "Where notifications may go, with `*` in names; default: `<broker.prefix>.notifications` with any key. An entry for a webhook has `url` (`https://HOST[:PORT][/PATH]`, with `*` in host and path) and `secret`: the name of the secret that signs what goes there (`whsec_` and base64, or text of at least 24 bytes; during a change, several, separated by spaces); it may have `certificate`, the name of a certificate in `worker.http.certificates` that is shown to the receiver. `worker.http.allow` and `worker.http.deny` apply to webhooks, too.");
    retry_initial: Duration = ("notify.retry.initial", Duration, "1s", Live, "Wait before a notification is sent again for the first time; it doubles each time.");
    retry_max: Duration = ("notify.retry.max", Duration, "5m", Live, "Longest wait before a notification is sent again.");
    ("notify.source", OptionalText, "~", Live, "Prefix of the `source` of CloudEvents, which names the installation; default: `/pagurus/<broker.prefix>`.");
    parked_after: Duration = ("notify.parked_after", Duration, "6h", Live, "How long an order may be in `wait`, `polling` or `retry` before a client that asked for `parked` is notified.");

    max_undelivered: usize = ("notify.subscriptions.max_undelivered", Count { least: 100, most: 10_000_000 }, "100000", Live, "Most notifications that may wait for the receiver of one subscription. Beyond it, the subscription is paused; `pagurus subscriptions resume NAME --replay --reason WHY` sends what it missed.");

    /// Targets that notifications may have, with the default exchange.
    with allow: AllowList = SettingsBuilder::notify_allow;
    /// First part of the source of CloudEvents.
    with source: String = SettingsBuilder::source;
    /// `notify.webhook`
    with webhook: WebhookSettings = WebhookSettings::read;
}

section! {
    /// `notify.webhook`
    #[derive(Clone, Copy, Debug)]
    pub struct WebhookSettings;

    timeout: Duration = ("notify.webhook.timeout", Duration, "15s", Live, "How long a receiver of webhooks may take to answer.");
    concurrency: usize = ("notify.webhook.concurrency", Count { least: 1, most: 1000 }, "8", Live, "Notifications that one notifier sends to one webhook receiver at a time; a receiver in trouble gets one, after a pause.");
    max_held_bytes: usize = ("notify.webhook.max_held_bytes", Bytes, "32MiB", Live, "Bytes of webhook bodies that one notifier holds at a time; beyond it, it takes no more.");
    give_up_after: Duration = ("notify.webhook.give_up_after", Duration, "3d", Live, "How long a webhook is retried before it is parked as `given_up`; a person may then send it again.");
}
