//! What one receiver of an order is to hear: occasions, form, and the place to write to, as its client asks for them.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::form::{NotifyForm, NotifyFormat};
use super::group::NotifyGroup;
use super::target::{MAX_NAME_BYTES, Target};
use crate::document::Fault;
use crate::id::{RequestId, spelled};
use crate::order::registration::{fault, text_at, unknown_members};

/// Occasion of which a client wants to be notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The end of each life.
    Final,
    /// Every transition.
    Transitions,
    /// The order needs a person: see [`super::ParkedReason`].
    Parked,
    /// The order will probably be late (ORD-31).
    Jeopardy,
}

spelled!(Occasion {
    Final => "final",
    Transitions => "transitions",
    Parked => "parked",
    Jeopardy => "jeopardy",
});

/// A receiver of a registration, well-formed.
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyRequest {
    /// The URL as given.
    pub url: String,
    /// Target of the URL.
    pub target: Target,
    /// The client's own mark, copied into every notification.
    pub correlation_id: Option<String>,
    /// IANA name of the zone in which times are written.
    pub timezone: Option<String>,
    /// The occasions.
    pub on: Vec<Occasion>,
    /// The form.
    pub form: NotifyForm,
}

impl NotifyRequest {
    /// Reads the object at this pointer.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the root of the registration.
    pub(super) fn read(value: &Value, at: &str) -> Result<Self, Vec<Fault>> {
        let Some(map) = value.as_object() else {
            return Err(vec![fault(at, "must be an object")]);
        };
        let place = |field: &str| format!("{at}/{field}");
        let known = ["url", "correlationId", "timezone", "on", "format", "group"];
        let message = format!("is not known here; there are: {}", known.join(", "));
        let mut faults = unknown_members(map, &known, at, &message);
        let mut text = |key: &str| {
            let value = map.get(key).filter(|value| !value.is_null())?;
            text_at(value, &place(key), 1024).map_err(|found| faults.push(found)).ok()
        };
        let (url, correlation_id, timezone) = (text("url"), text("correlationId"), text("timezone"));
        let format = text("format");
        if map.get("url").is_none_or(Value::is_null) {
            faults.push(fault(&place("url"), "is missing"));
        }
        if correlation_id.as_ref().is_some_and(|id| id.len() > MAX_NAME_BYTES) {
            faults.push(fault(&place("correlationId"), format!("is longer than {MAX_NAME_BYTES} bytes")));
        }
        if let Some(name) = &timezone
            && TimeZone::get(name).is_err()
        {
            faults.push(fault(
                &place("timezone"),
                "is not a time zone; write an IANA name such as Europe/Moscow",
            ));
        }
        let target = url.as_deref().map(Target::parse).transpose().unwrap_or_else(|message| {
            faults.push(fault(&place("url"), message));
            None
        });
        let on = occasions(map.get("on"), &place("on"), &mut faults);
        let format = format.map_or(Ok(NotifyFormat::Pagurus), |word| word.parse()).unwrap_or_else(|error| {
            faults.push(fault(&place("format"), error.to_string()));
            NotifyFormat::Pagurus
        });
        let group = map.get("group").filter(|group| !group.is_null());
        let group = group.and_then(|group| NotifyGroup::read(group, &place("group"), &mut faults));
        let form = NotifyForm { format, group };
        let refused = target.as_ref().and_then(|target| form.refused(target));
        faults.extend(refused.map(|message| fault(&place("group"), message)));
        match (url, target) {
            (Some(url), Some(target)) if faults.is_empty() => {
                Ok(Self { url, target, correlation_id, timezone, on, form })
            }
            _ => Err(faults),
        }
    }

    /// The wish that brings the end of a child back to the request of its parent.
    #[must_use]
    pub fn of_parent(request: RequestId) -> Self {
        Self {
            url: Target::callback_url(request),
            target: Target::Callback(request),
            correlation_id: Some(request.to_string()),
            timezone: None,
            on: vec![Occasion::Final],
            form: NotifyForm::default(),
        }
    }

    /// The form in which it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let on: Vec<&str> = self.on.iter().map(|occasion| occasion.as_str()).collect();
        let mut value = json!({"url": self.url, "correlationId": self.correlation_id, "timezone": self.timezone, "on": on});
        self.form.write(&mut value);
        value
    }
}

pub(super) fn occasions(value: Option<&Value>, at: &str, faults: &mut Vec<Fault>) -> Vec<Occasion> {
    let list = match value {
        None | Some(Value::Null) => return vec![Occasion::Final],
        Some(Value::Array(list)) => list,
        Some(_) => {
            faults.push(fault(at, "must be a list"));
            return Vec::new();
        }
    };
    if list.is_empty() {
        faults.push(fault(at, "names no occasion: remove it to be notified of the end of each life"));
    }
    let mut occasions = Vec::new();
    for (index, item) in list.iter().enumerate() {
        match item.as_str().map(str::parse::<Occasion>) {
            Some(Ok(occasion)) => occasions.push(occasion),
            Some(Err(error)) => faults.push(fault(&format!("{at}/{index}"), error.to_string())),
            None => faults.push(fault(&format!("{at}/{index}"), "must be text")),
        }
    }
    occasions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn read(notify: &Value) -> Result<NotifyRequest, Vec<Fault>> {
        NotifyRequest::read(notify, "/notify")
    }

    #[test]
    fn ord_18_all_faults_of_a_wish_are_reported_and_one_that_wants_nothing_is_none() {
        let pointers = |notify: Value| -> Vec<String> {
            read(&notify).unwrap_err().into_iter().map(|found| found.pointer).collect()
        };
        let url = "amqp://?key=k";
        assert_eq!(pointers(json!({"url": url, "on": []})), ["/notify/on"]);
        assert_eq!(
            pointers(json!({"url": url, "on": ["transitions", "final", "end", 5]})),
            ["/notify/on/2", "/notify/on/3"]
        );
        assert_eq!(
            pointers(json!({"timezon": "UTC", "timezone": "Moon/Base", "on": []})),
            ["/notify/timezon", "/notify/url", "/notify/timezone", "/notify/on"]
        );
        let wish = json!({"url": "amqp://?key=k", "on": ["transitions", "parked"], "format": "cloudevents"});
        let wish = read(&wish).unwrap();
        assert_eq!((wish.on.len(), wish.form.format), (2, NotifyFormat::CloudEvents));
        assert_eq!(pointers(json!({"url": url, "format": "xml"})), ["/notify/format"]);
        for on in [json!(null), json!(["final"])] {
            assert_eq!(read(&json!({"url": url, "on": on})).unwrap().on, [Occasion::Final]);
        }
    }
}
