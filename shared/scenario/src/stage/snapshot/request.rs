//! Requests whose callbacks have not been handled yet, and where they went.

use jiff::Timestamp;
use pagurus_domain::id::RequestId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Digest;
use super::stored::{is_default, text};

/// Destination of a request, for the rules that judge its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// An HTTP request.
    Http {
        /// The method.
        method: String,
        /// The host, with the port if the URL has one.
        host: String,
        /// The path, without the query.
        path: String,
    },
    /// A message.
    Amqp {
        /// The virtual host, by its name.
        vhost: String,
        /// The exchange.
        exchange: String,
        /// The routing key.
        key: String,
    },
}

impl Destination {
    /// The system that was asked, as [`OrderError::system`](pagurus_domain::order::OrderError::system) names it.
    #[must_use]
    pub fn system(&self) -> String {
        match self {
            Self::Http { host, .. } => host.to_ascii_lowercase(),
            Self::Amqp { vhost, exchange, key } => {
                // The default exchange hands on to the queue that the key names.
                let place = if exchange.is_empty() { key } else { exchange };
                if vhost == "/" { format!("amqp:{place}") } else { format!("amqp:{vhost}/{place}") }
            }
        }
    }
}

/// A request that was registered and whose callback has not been handled yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest {
    /// Name that the scenario gave it.
    pub name: String,
    /// The state that registered it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: String,
    /// Unguessable id.
    #[serde(with = "text")]
    pub id: RequestId,
    /// Destination; `None` for a child order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Destination>,
    /// Time at which it was sent; `None` if not noted, or not sent yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// Digest of its content; `None` if no answer is ever kept, and in positions that were stored before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// True if a retry does not send it again once it has a good answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub keep_answer: bool,
    /// True if it was registered before the order slept, or before a call moved it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub earlier: bool,
    /// The call by which it is given up, where that followed from the answer to what was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Value>,
    /// True if nobody awaits its answer any more: it stays until it is stored how it is given up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub over: bool,
}

impl OpenRequest {
    /// The request as one that nobody awaits any more; `None` if there is nothing to be stored of that.
    pub(in super::super) fn into_over(self) -> Option<Self> {
        self.cancel.is_some().then_some(Self { over: true, ..self })
    }
}

/// The requests that a wait is for: the ones of its own stage; without any, earlier ones that
/// are still open.
pub(in super::super) fn awaited(requests: &[OpenRequest]) -> impl Iterator<Item = &OpenRequest> {
    let open = requests.iter().filter(|request| !request.over);
    let all_earlier = open.clone().all(|request| request.earlier);
    open.filter(move |request| all_earlier || !request.earlier)
}
