//! Notifications that their client wants in groups: which go into one message, and what it says.

use std::collections::HashMap;

use pagurus_domain::order::notification::{NotifyFormat, NotifyGroup};
use pagurus_domain::trace::TraceContext;
use pagurus_store::hot::outbox::sending::Notification;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::form::{EncodedNotification, type_of};

/// Bytes of content in one message, but for a longer notification, which goes alone.
pub(crate) const MOST_BYTES: usize = 1024 * 1024;
/// Type of a message that holds a group.
pub(crate) const TYPE: &str = "order.group";
const JSON: &str = "application/json";
const EVENTS: &str = "application/cloudevents-batch+json; charset=utf-8";

/// The notifications that go into one message together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    target: String,
    format: NotifyFormat,
    /// Terms of the client.
    pub terms: NotifyGroup,
}

impl GroupKey {
    /// Returns the group of a notification; none where it has a message of its own.
    pub fn of(notification: &Notification) -> Option<Self> {
        let terms = notification.form.group?;
        Some(Self { target: notification.target.clone(), format: notification.form.format, terms })
    }
}

/// Returns the notifications of each message: one, or those of a group, in their order.
pub(crate) fn by_message(notifications: &[Notification]) -> Vec<Vec<&Notification>> {
    let mut messages: Vec<Vec<&Notification>> = Vec::with_capacity(notifications.len());
    // The message of each group that is not full yet, with its bytes.
    let mut open: HashMap<GroupKey, (usize, usize)> = HashMap::new();
    for notification in notifications {
        let bytes = notification.body.len();
        let key = GroupKey::of(notification);
        if let Some(key) = &key
            && let Some((place, size)) = open.get_mut(key)
            && messages[*place].len() < usize::from(key.terms.max)
            && *size + bytes <= MOST_BYTES
        {
            messages[*place].push(notification);
            *size += bytes;
            continue;
        }
        if let Some(key) = key {
            open.insert(key, (messages.len(), bytes));
        }
        messages.push(vec![notification]);
    }
    messages
}

/// A notification of a group: the properties that a message of its own would have, and its content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Member<'a> {
    message_id: String,
    #[serde(rename = "type")]
    type_: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    body: &'a RawValue,
}

/// Content of the message of a group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EncodedGroup {
    pub content_type: &'static str,
    pub body: String,
    /// The same for the same notifications.
    pub message_id: Uuid,
}

impl EncodedGroup {
    /// Returns the content for these notifications, each with its place in a trace.
    ///
    /// # Errors
    /// A stored notification is not JSON.
    pub fn of(
        members: &[(&Notification, Option<&TraceContext>)],
        source: &str,
    ) -> Result<Self, serde_json::Error> {
        let mut body = String::from("[");
        let mut ids = Vec::with_capacity(members.len() * 16);
        let mut content_type = JSON;
        for (notification, trace) in members {
            if body.len() > 1 {
                body.push(',');
            }
            ids.extend_from_slice(notification.message_id.as_bytes());
            if notification.form.format == NotifyFormat::Pagurus {
                let member = Member {
                    message_id: notification.message_id.to_string(),
                    type_: type_of(notification),
                    sequence: notification.number,
                    traceparent: trace.map(TraceContext::parent),
                    body: serde_json::from_str(&notification.body)?,
                };
                body.push_str(&serde_json::to_string(&member)?);
            } else {
                content_type = EVENTS;
                body.push_str(&EncodedNotification::of(notification, source, *trace).body);
            }
        }
        body.push(']');
        Ok(Self { content_type, body, message_id: Uuid::new_v5(&Uuid::NAMESPACE_OID, &ids) })
    }
}

#[cfg(test)]
mod tests;
