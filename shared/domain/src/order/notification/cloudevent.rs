//! Notifications as CloudEvents 1.0: the attributes of an event, made from the content and the row of a notification.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A notification to be sent as an event.
#[derive(Clone, Copy, Debug)]
pub struct CloudEvent<'a> {
    /// The id of the message.
    pub id: &'a str,
    /// Kind of the event: `ended`, `transition`, `parked` or `jeopardy`.
    pub tells: &'a str,
    /// The beginning of the source, which names the installation.
    pub source: &'a str,
    /// Grows with each notification of an order.
    pub number: i64,
    /// W3C trace context.
    pub trace: Option<&'a str>,
    /// The content.
    pub body: &'a str,
}

/// An event in structured mode.
#[derive(Serialize)]
struct Structured<'a> {
    #[serde(flatten)]
    attributes: serde_json::Map<String, Value>,
    data: &'a RawValue,
}

impl CloudEvent<'_> {
    /// The attributes by name, without the one for the type of the content.
    #[must_use]
    pub fn attributes(&self) -> Vec<(&'static str, String)> {
        let content: Value = serde_json::from_str(self.body).unwrap_or_default();
        let text = |pointer: &str| content.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let scenario = text("/scenario").unwrap_or_default();
        let time = text("/transition/at").or_else(|| text("/parked/since"));
        let time = time.or_else(|| text("/jeopardy/since")).or_else(|| text("/finishedAt"));
        let attributes = [
            ("specversion", Some("1.0".to_owned())),
            ("id", Some(self.id.to_owned())),
            ("source", Some(format!("{}/scenarios/{scenario}", self.source))),
            ("type", Some(format!("io.pagurus.order.{}.v1", self.tells))),
            ("subject", text("/id")),
            ("time", time),
            ("correlationid", text("/correlationId").or_else(|| text("/transactionId"))),
            // A text that is compared as such.
            ("sequence", Some(format!("{:020}", self.number))),
            ("traceparent", self.trace.map(str::to_owned)),
        ];
        attributes.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The event in structured mode, with the content as its `data`.
    #[must_use]
    pub fn structured(&self) -> String {
        let mut attributes: serde_json::Map<String, Value> =
            self.attributes().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        attributes.insert("datacontenttype".to_owned(), "application/json".into());
        let event = serde_json::from_str(self.body)
            .and_then(|data| serde_json::to_string(&Structured { attributes, data }));
        // The content was written as JSON by this engine.
        event.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::*;

    #[test]
    fn ord_18_an_event_has_the_attributes_of_its_notification() {
        let body = json!({"id": "o-1", "scenario": "s", "transactionId": "t-1", "finishedAt": "2026-01-01T00:00:00.000Z"});
        let body = body.to_string();
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let event = CloudEvent {
            id: "m-1",
            tells: "ended",
            source: "/pagurus/test",
            number: 42,
            trace: Some(trace),
            body: &body,
        };
        let written: Value = serde_json::from_str(&event.structured()).unwrap();
        assert_eq!(
            written,
            json!({
                "specversion": "1.0", "id": "m-1", "source": "/pagurus/test/scenarios/s",
                "type": "io.pagurus.order.ended.v1", "subject": "o-1", "time": "2026-01-01T00:00:00.000Z",
                "correlationid": "t-1", "sequence": "00000000000000000042", "traceparent": trace,
                "datacontenttype": "application/json", "data": serde_json::from_str::<Value>(&body).unwrap(),
            })
        );
    }

    #[test]
    fn ord_18_the_correlation_id_of_an_event_is_that_of_the_receiver_else_the_transaction_of_the_order() {
        let correlation = |body: Value| {
            let body = body.to_string();
            let event =
                CloudEvent { id: "m", tells: "ended", source: "/p", number: 1, trace: None, body: &body };
            event.attributes().into_iter().find(|(name, _)| *name == "correlationid").map(|(_, value)| value)
        };
        assert_eq!(correlation(json!({"correlationId": "c", "transactionId": "t"})).as_deref(), Some("c"));
        assert_eq!(correlation(json!({"correlationId": null, "transactionId": "t"})).as_deref(), Some("t"));
        assert_eq!(correlation(json!({"correlationId": null, "transactionId": null})), None);
    }

    #[test]
    fn ord_18_the_time_of_an_event_is_that_of_what_it_tells_and_what_is_missing_is_left_out() {
        let time = |body: Value| {
            let body = body.to_string();
            let event =
                CloudEvent { id: "m", tells: "parked", source: "/p", number: 1, trace: None, body: &body };
            event.attributes().into_iter().find(|(name, _)| *name == "time").map(|(_, value)| value)
        };
        assert_eq!(time(json!({"transition": {"at": "T"}})).as_deref(), Some("T"));
        assert_eq!(time(json!({"parked": {"since": "P"}, "finishedAt": null})).as_deref(), Some("P"));
        assert_eq!(time(json!({"finishedAt": null})), None);
    }
}
