//! The attributes of spans that are ours. Those of everybody have the names of OpenTelemetry's conventions.

/// The client's id of the order.
pub const ORDER_ID: &str = "pagurus.order.id";
/// Number of the life.
pub const LIFE: &str = "pagurus.order.life";
/// Number of the stage, over all lives.
pub const STAGE: &str = "pagurus.order.stage";
/// Why the stage runs.
pub const WAKE: &str = "pagurus.order.wake";
/// Time for which the stage was ready before it was claimed.
pub const WAITED_SECONDS: &str = "pagurus.order.waited_seconds";
/// The flow.
pub const FLOW: &str = "pagurus.order.flow";
/// The queue that a sequential order owns.
pub const QUEUE: &str = "pagurus.order.queue";
/// The status that the stage left behind.
pub const STATUS: &str = "pagurus.order.status";
/// The state that the stage left the order in.
pub const STEP: &str = "pagurus.order.step";
/// The business transaction.
pub const TRANSACTION_ID: &str = "pagurus.transaction.id";
/// The scenario.
pub const SCENARIO_NAME: &str = "pagurus.scenario.name";
/// Version of the scenario.
pub const SCENARIO_VERSION: &str = "pagurus.scenario.version";
/// The called system.
pub const SYSTEM: &str = "pagurus.system";
/// Outcome of a registration.
pub const REGISTRATION: &str = "pagurus.registration";
/// Outcome of a callback.
pub const CALLBACK: &str = "pagurus.callback";
/// Occasion of a notification.
pub const NOTIFICATION_TYPE: &str = "pagurus.notification.type";
/// Number of times that the notification was tried, this time included.
pub const NOTIFICATION_ATTEMPT: &str = "pagurus.notification.attempt";
/// The virtual host, where another one than the engine's own.
pub const VHOST: &str = "pagurus.messaging.vhost";
/// Relation of the span at the other end of a link to this one.
pub const LINK: &str = "pagurus.link";
