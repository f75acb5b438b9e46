//! Settings of notifications and webhooks.

use std::time::Duration;

use pagurus_domain::order::notification::AllowList;

/// `notify`
#[derive(Clone, Debug)]
pub struct NotifySettings {
    /// Where notifications may go, with the default exchange.
    pub allow: AllowList,
    /// Before the first repeat.
    pub retry_initial: Duration,
    /// Before any repeat at most.
    pub retry_max: Duration,
    /// Begin of the source of CloudEvents.
    pub source: String,
    /// Time for which an order may be suspended before its client is told.
    pub parked_after: Duration,
    /// `notify.webhook`
    pub webhook: WebhookSettings,
}

/// `notify.webhook`
#[derive(Clone, Copy, Debug)]
pub struct WebhookSettings {
    /// Limit for a call.
    pub timeout: Duration,
    /// Calls to one receiver at a time.
    pub concurrency: usize,
    /// Bytes of the bodies that are held.
    pub max_held_bytes: usize,
    /// Time for which a notification is tried.
    pub give_up_after: Duration,
}
