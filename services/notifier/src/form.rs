//! Form of a notification on its way: body and fields, as its client chose, for the broker and for receivers over HTTP.

use pagurus_broker::HeaderValue;
use pagurus_domain::order::notification::{CloudEvent, NotifyFormat};
use pagurus_domain::trace::TraceContext;
use pagurus_store::hot::outbox::sending::Notification;
use pagurus_store::hot::outbox::tells;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

const JSON: &str = "application/json";
const STRUCTURED: &str = "application/cloudevents+json; charset=utf-8";
/// Characters that the value of a field over HTTP must not hold as they are, by the binding of CloudEvents for HTTP.
const CODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// A notification as it is sent.
pub(crate) struct EncodedNotification {
    pub content_type: &'static str,
    pub body: String,
    /// Attributes of a CloudEvent in binary mode.
    attributes: Vec<(&'static str, String)>,
}

/// Type of a notification, as messages and requests carry it.
pub(crate) fn type_of(notification: &Notification) -> &'static str {
    match tells(&notification.kind) {
        "transition" => "order.transition",
        "parked" => "order.parked",
        "jeopardy" => "order.jeopardy",
        _ => "order.final",
    }
}

impl EncodedNotification {
    /// Returns the form of a notification; `source` names the installation.
    pub fn of(notification: &Notification, source: &str, trace: Option<&TraceContext>) -> Self {
        let id = notification.message_id.to_string();
        let trace =
            trace.filter(|_| notification.form.format != NotifyFormat::Pagurus).map(TraceContext::parent);
        let event = CloudEvent {
            id: &id,
            tells: tells(&notification.kind),
            source,
            number: notification.number.unwrap_or_default(),
            trace: trace.as_deref(),
            body: &notification.body,
        };
        let plain = |attributes| Self { content_type: JSON, body: notification.body.clone(), attributes };
        match notification.form.format {
            NotifyFormat::Pagurus => plain(Vec::new()),
            NotifyFormat::CloudEventsBinary => plain(event.attributes()),
            NotifyFormat::CloudEvents => {
                Self { content_type: STRUCTURED, body: event.structured(), attributes: Vec::new() }
            }
        }
    }

    /// The attributes as headers of a message, by the binding of CloudEvents for AMQP.
    pub fn headers(&self) -> impl Iterator<Item = (String, HeaderValue)> {
        let attributes = self.attributes.iter();
        attributes.map(|(name, value)| (format!("cloudEvents_{name}"), HeaderValue::Text(value.clone())))
    }

    /// The attributes as fields of a request, by the binding for HTTP.
    pub fn fields(&self) -> impl Iterator<Item = (String, String)> {
        let attributes = self.attributes.iter();
        attributes.map(|(name, value)| (format!("ce-{name}"), utf8_percent_encode(value, CODED).to_string()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use pagurus_domain::id::{Life, OrderNo};
    use pagurus_domain::order::notification::NotifyForm;
    use serde_json::Value;

    use super::*;

    /// A notification of a transition.
    pub(crate) fn notification(format: NotifyFormat) -> Notification {
        Notification {
            no: OrderNo(1),
            life: Life(1),
            kind: "transition-x".into(),
            message_id: "0192b6a0-0000-7000-8000-000000000001".parse().unwrap(),
            target: "https://hooks.example/a".into(),
            correlation_id: None,
            transaction_id: None,
            trace: None,
            body: r#"{"id": "заказ 1", "scenario": "s"}"#.into(),
            form: NotifyForm { format, group: None },
            number: Some(7),
            receiver: Some("https://hooks.example:443".into()),
            secret: None,
            attempts: 0,
        }
    }

    #[test]
    fn ord_18_the_usual_form_is_the_content_alone() {
        let form = EncodedNotification::of(&notification(NotifyFormat::Pagurus), "/p", None);
        assert_eq!((form.content_type, form.fields().count(), form.headers().count()), (JSON, 0, 0));
        assert_eq!(form.body, notification(NotifyFormat::Pagurus).body);
    }

    #[test]
    fn ord_18_a_structured_event_has_all_in_its_body() {
        let form = EncodedNotification::of(&notification(NotifyFormat::CloudEvents), "/p", None);
        assert_eq!((form.content_type, form.fields().count()), (STRUCTURED, 0));
        let body: Value = serde_json::from_str(&form.body).unwrap();
        assert_eq!(body["type"], "io.pagurus.order.transition.v1");
        assert_eq!(body["data"]["id"], "заказ 1");
    }

    #[test]
    fn ord_18_a_binary_event_has_its_attributes_beside_the_content() {
        let form = EncodedNotification::of(&notification(NotifyFormat::CloudEventsBinary), "/p", None);
        assert_eq!((form.content_type, &*form.body), (JSON, r#"{"id": "заказ 1", "scenario": "s"}"#));
        let fields: Vec<(String, String)> = form.fields().collect();
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| &**value);
        assert_eq!(field("ce-specversion"), Some("1.0"));
        assert_eq!(field("ce-sequence"), Some("00000000000000000007"));
        assert_eq!(field("ce-subject"), Some("%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7%201"), "a field has ASCII only");
        let headers: Vec<(String, HeaderValue)> = form.headers().collect();
        assert!(headers.contains(&("cloudEvents_subject".into(), HeaderValue::Text("заказ 1".into()))));
    }
}
