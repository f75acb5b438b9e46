//! The receivers that an order names: one object, or a list of up to [`MOST_RECEIVERS`] (ORD-38).

use serde_json::Value;

use super::allow::AllowList;
use super::stored::{StoredNotify, to_stored, whole};
use super::target::Target;
use super::webhook::is_hidden;
use super::wish::NotifyRequest;
use crate::document::Fault;
use crate::order::registration::fault;

/// Most receivers of one order: each has a row of its own for each event.
pub const MOST_RECEIVERS: usize = 8;

/// The `notify` part of a registration, well-formed.
#[derive(Clone, Debug, PartialEq)]
pub struct Receivers {
    list: Vec<NotifyRequest>,
    /// True where they were given as a list, which shows in the pointers of faults.
    is_list: bool,
}

impl Receivers {
    /// Reads `notify`: an object, or a list of them.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the root of the registration.
    pub fn read(value: &Value) -> Result<Self, Vec<Fault>> {
        let items = match value {
            Value::Array(items) => items,
            Value::Object(_) => {
                let one = NotifyRequest::read(value, "/notify")?;
                return Ok(Self { list: vec![one], is_list: false });
            }
            _ => {
                return Err(vec![fault(
                    "/notify",
                    format!("must be an object, or a list of 1 to {MOST_RECEIVERS}"),
                )]);
            }
        };
        let mut faults = Vec::new();
        match items.len() {
            0 => faults.push(fault("/notify", "names no receiver: remove it")),
            count if count > MOST_RECEIVERS => {
                // The rest is not read: it can be as long as a message.
                let message = format!("names {count} receivers; at most {MOST_RECEIVERS} are allowed");
                let hint = "let a subscription, or an exchange that several read, notify the others";
                faults.push(fault("/notify", message).hint(hint));
            }
            _ => {}
        }
        let mut list = Vec::new();
        for (place, item) in items.iter().take(MOST_RECEIVERS).enumerate() {
            match NotifyRequest::read(item, &format!("/notify/{place}")) {
                Ok(one) => list.push(one),
                Err(mut found) => faults.append(&mut found),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Self { list, is_list: true }.without_doubles()
    }

    /// The same for a client who may have read these stored ones: a URL that is shown as one of them stands for it.
    ///
    /// # Errors
    /// A URL stands for none.
    pub fn completed(&self, stored: Option<&str>) -> Result<Self, Vec<Fault>> {
        let kept = stored.map(StoredNotify::read_all).unwrap_or_default();
        let mut completed = self.clone();
        for (place, one) in completed.list.iter_mut().enumerate() {
            let at_url = |message| vec![fault(&self.at(place, "/url"), message)];
            let url = whole(&one.url, place, &kept).map_err(at_url)?;
            if url != one.url {
                one.target = Target::parse(&url).map_err(at_url)?;
                one.url = url;
            }
        }
        completed.without_doubles()
    }

    /// Faults by the rules of the deployment, each with a JSON pointer.
    #[must_use]
    pub fn refused(&self, allow: &AllowList) -> Vec<Fault> {
        let all = self.list.iter().enumerate();
        all.filter_map(|(place, one)| Some(fault(&self.at(place, "/url"), allow.permits(&one.target).err()?)))
            .collect()
    }

    /// The receivers.
    pub fn iter(&self) -> impl Iterator<Item = &NotifyRequest> {
        self.list.iter()
    }

    /// The form in which they are stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        to_stored(self.list.iter())
    }

    fn at(&self, place: usize, field: &str) -> String {
        if self.is_list { format!("/notify/{place}{field}") } else { format!("/notify{field}") }
    }

    /// Nobody wants the same twice: two receivers at one URL with one mark and one form have no occasion in common. A
    /// hidden query may stand for different ones.
    fn without_doubles(self) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        for (place, one) in self.list.iter().enumerate().filter(|(_, one)| !is_hidden(&one.url)) {
            let key = |one: &NotifyRequest| (one.url.clone(), one.correlation_id.clone(), one.form.format);
            let is_double = |other: &&NotifyRequest| {
                key(other) == key(one) && other.on.iter().any(|occasion| one.on.contains(occasion))
            };
            let Some(first) = self.list[..place].iter().position(|other| is_double(&other)) else { continue };
            let message =
                format!("repeats the receiver at {} with one of the same occasions", self.at(first, ""));
            let hint =
                "name each occasion once for a `url`, or give them different values of `correlationId`";
            faults.push(fault(&self.at(place, ""), message).hint(hint));
        }
        if faults.is_empty() { Ok(self) } else { Err(faults) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::super::allow::Pattern;
    use super::*;

    fn pointers(notify: &Value) -> Vec<String> {
        Receivers::read(notify).err().into_iter().flatten().map(|found| found.pointer).collect()
    }

    #[test]
    fn ord_38_notify_is_one_receiver_or_a_list_of_up_to_eight_each_with_faults_of_its_own() {
        let key = |n: usize| json!({"url": format!("amqp://?key=k{n}")});
        let list = |count: usize| Value::Array((0..count).map(key).collect());
        assert_eq!(Receivers::read(&key(0)).unwrap().iter().count(), 1);
        for count in [1, 8] {
            assert_eq!(Receivers::read(&list(count)).unwrap().iter().count(), count);
        }
        assert_eq!(
            Receivers::read(&list(1)).unwrap().to_value(),
            Receivers::read(&key(0)).unwrap().to_value()
        );
        assert_eq!(pointers(&list(0)), ["/notify"]);
        assert_eq!(pointers(&list(9)), ["/notify"]);
        assert_eq!(pointers(&json!("amqp://?key=k")), ["/notify"]);
        assert_eq!(
            pointers(
                &json!([key(0), {"url": "ftp://x"}, 7, {"url": "amqp://?key=k", "on": ["end"], "to": 1}])
            ),
            ["/notify/1/url", "/notify/2", "/notify/3/to", "/notify/3/on/0"]
        );
        assert_eq!(pointers(&json!({"on": []})), ["/notify/url", "/notify/on"]);
    }

    #[test]
    fn ord_38_the_same_receiver_is_named_once_for_an_occasion() {
        let url = "amqp://?key=k";
        let taken = [
            json!([{"url": url}, {"url": url, "correlationId": "c"}]),
            json!([{"url": url}, {"url": url, "on": ["parked", "jeopardy"]}]),
            json!([{"url": url}, {"url": url, "format": "cloudevents"}]),
            json!([{"url": "https://h/a?***"}, {"url": "https://h/a?***"}]),
        ];
        for notify in taken {
            assert_eq!(pointers(&notify), [""; 0], "{notify}");
        }
        assert_eq!(pointers(&json!([{"url": url}, {"url": url}])), ["/notify/1"]);
        assert_eq!(
            pointers(
                &json!([{"url": url}, {"url": "amqp://?key=l"}, {"url": url, "timezone": "Asia/Tokyo", "on": ["parked", "final"]}])
            ),
            ["/notify/2"]
        );
    }

    #[test]
    fn ord_38_hidden_queries_are_filled_in_and_doubles_among_them_are_found_then() {
        let stored = json!([{"url": "https://h/a?t=1"}, {"url": "https://h/a?t=2"}]);
        let stored = Receivers::read(&stored).unwrap().to_value().to_string();
        let asked =
            Receivers::read(&json!([{"url": "https://h/a?***"}, {"url": "https://h/a?***"}])).unwrap();
        let urls: Vec<String> =
            asked.completed(Some(&stored)).unwrap().iter().map(|one| one.url.clone()).collect();
        assert_eq!(urls, ["https://h/a?t=1", "https://h/a?t=2"]);
        let alike = json!([{"url": "https://h/a?t=1"}, {"url": "https://h/a?t=1", "correlationId": "c"}]);
        let alike = Receivers::read(&alike).unwrap().to_value().to_string();
        assert_eq!(asked.completed(Some(&alike)).unwrap_err()[0].pointer, "/notify/1");
        assert_eq!(asked.completed(None).unwrap_err()[0].pointer, "/notify/0/url");
    }

    #[test]
    fn ord_38_each_receiver_must_be_allowed() {
        let allow = AllowList {
            prefix: "pagurus".into(),
            default_exchange: "pagurus.notifications".into(),
            patterns: vec![Pattern { queue: Some("a".into()), ..Pattern::default() }],
        };
        let refused = |notify: Value| -> Vec<String> {
            let refused = Receivers::read(&notify).unwrap().refused(&allow);
            refused.into_iter().map(|found| found.pointer).collect()
        };
        assert_eq!(
            refused(json!([{"url": "amqp://?queue=b"}, {"url": "amqp://?queue=a"}, {"url": "https://h"}])),
            ["/notify/0/url", "/notify/2/url"]
        );
        assert_eq!(refused(json!({"url": "amqp://?queue=b"})), ["/notify/url"]);
    }
}
