//! Notifications: occasions that a client wants to hear of (`wish`), where they may go (`target`, `webhook`, `allow`), what
//! they say (`content`, `notices`, `cloudevent`), which notifier hears of them (`part`), and how receivers that are in trouble
//! are spared (`lane`).

mod allow;
mod cloudevent;
mod content;
mod lane;
mod notices;
mod part;
mod signature;
mod target;
mod webhook;
mod wildcard;
mod wish;

pub use allow::{AllowList, Pattern};
pub use cloudevent::CloudEvent;
pub use content::{Content, Jeopardy, Moved, ParkedReason};
pub use lane::{Lanes, ReceiverBounds, delay};
pub use notices::{EndNotice, MoveNotice, NoticeError, NoticeJeopardy, NoticeMove, NoticeParked};
pub use part::{PARTS, parts_of};
pub use signature::SigningSecrets;
pub use target::Target;
pub(crate) use webhook::whole_url;
pub use webhook::{ReceiverAnswer, WebhookPattern, WebhookUrl, shown_url};
pub use wildcard::matches;
pub use wish::{NotifyFormat, NotifyRequest, Occasion, StoredNotify, apart, shown, with_whole_url};
