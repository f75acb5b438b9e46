//! Notifications: occasions that a client wants to hear of (`wish`), the receivers of an order (`receivers`, `stored`), where they may go (`target`, `webhook`, `allow`), what
//! they say (`content`, `notices`, `cloudevent`), which notifier hears of them (`part`), in which form they go (`form`, `group`), and how receivers that are in trouble
//! are spared (`lane`).

mod allow;
mod cloudevent;
mod content;
mod form;
mod group;
mod lane;
mod notices;
mod part;
mod receivers;
mod signature;
mod stored;
mod target;
mod webhook;
mod wildcard;
mod wish;

pub use allow::{AllowList, Pattern};
pub use cloudevent::CloudEvent;
pub use content::{Content, Jeopardy, Moved, ParkedReason};
pub use form::{NotifyForm, NotifyFormat};
pub use group::NotifyGroup;
pub use lane::{Lanes, ReceiverBounds, delay};
pub use notices::{EndNotice, MoveNotice, NoticeError, NoticeJeopardy, NoticeMove, NoticeParked};
pub use part::{PARTS, parts_of};
pub use receivers::{MOST_RECEIVERS, Receivers};
pub use signature::{SigningSecrets, UnusableSecret};
pub use stored::{Recipient, StoredNotify, apart, as_given, hide_queries, shown, with_whole_url};
pub use target::Target;
pub use webhook::{ReceiverAnswer, WebhookPattern, WebhookUrl, shown_url, whole_url};
pub use wildcard::matches;
pub use wish::{NotifyRequest, Occasion};
