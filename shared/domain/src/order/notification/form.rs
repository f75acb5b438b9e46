//! The form in which a receiver gets its notifications: how each is written, and whether several go in one message.

use serde_json::{Value, json};

use super::group::NotifyGroup;
use super::target::Target;
use crate::id::spelled;

/// The format of a notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NotifyFormat {
    /// The content alone.
    #[default]
    Pagurus,
    /// CloudEvents in structured mode: the content is the `data` of an event.
    CloudEvents,
    /// CloudEvents in binary mode: the content alone, the attributes of the event in headers.
    CloudEventsBinary,
}

spelled!(NotifyFormat {
    Pagurus => "pagurus",
    CloudEvents => "cloudevents",
    CloudEventsBinary => "cloudevents-binary",
});

/// The form of the notifications of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NotifyForm {
    /// The format of each.
    pub format: NotifyFormat,
    /// Terms on which several are gathered into one message; none where each has its own.
    pub group: Option<NotifyGroup>,
}

impl NotifyForm {
    /// Returns why a receiver cannot get groups, if it wants them.
    pub(super) fn refused(self, target: &Target) -> Option<&'static str> {
        self.group?;
        match (target, self.format) {
            (Target::Webhook(_), _) => {
                Some("is for receivers over AMQP; a webhook gets each notification alone")
            }
            (_, NotifyFormat::CloudEventsBinary) => Some(
                "is not for `cloudevents-binary`, whose attributes are headers of one event; use `cloudevents`",
            ),
            _ => None,
        }
    }

    /// Writes it into a stored receiver. Named only where it was chosen: what is stored decides if a registration is a repeat.
    pub(super) fn write(self, receiver: &mut Value) {
        if self.format != NotifyFormat::Pagurus {
            receiver["format"] = json!(self.format.as_str());
        }
        if let Some(group) = self.group {
            receiver["group"] = group.to_value();
        }
    }

    /// The form of a stored receiver; the usual one where it cannot be read.
    pub(super) fn of_stored(receiver: &Value) -> Self {
        let format = receiver.get("format").and_then(Value::as_str);
        Self {
            format: format.and_then(|word| word.parse().ok()).unwrap_or_default(),
            group: receiver.get("group").and_then(NotifyGroup::of_stored),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use crate::order::notification::{NotifyRequest, StoredNotify};

    use super::*;

    #[test]
    fn ord_18_a_group_goes_over_amqp_in_a_format_that_has_all_in_its_body() {
        let faults = |url: &str, format: &str| -> Vec<String> {
            let wish = json!({"url": url, "format": format, "group": {}});
            let read = NotifyRequest::read(&wish, "/notify");
            read.err().into_iter().flatten().map(|found| found.pointer).collect()
        };
        assert_eq!(faults("amqp://?queue=q", "cloudevents"), [""; 0]);
        assert_eq!(faults("amqp://?queue=q", "cloudevents-binary"), ["/notify/group"]);
        assert_eq!(faults("https://h/a", "pagurus"), ["/notify/group"]);
    }

    #[test]
    fn ord_2_a_form_that_nobody_chose_is_not_stored() {
        let stored = |wish: Value| NotifyRequest::read(&wish, "/notify").unwrap().to_value();
        let plain = stored(json!({"url": "amqp://?key=k"}));
        assert_eq!(
            (plain.get("format"), plain.get("group")),
            (None, None),
            "a repeat of an older registration stays one"
        );
        assert_eq!(stored(json!({"url": "amqp://?key=k", "format": "pagurus", "group": null})), plain);
        let grouped = stored(json!({"url": "amqp://?key=k", "format": "cloudevents", "group": {"max": 7}}));
        assert_eq!(grouped["group"], json!({"max": 7, "within": "50ms"}));
        let form = StoredNotify::read_all(&grouped.to_string())[0].form;
        assert_eq!(form.format, NotifyFormat::CloudEvents);
        assert_eq!(form.group, Some(NotifyGroup { max: 7, within_ms: 50 }));
    }
}
