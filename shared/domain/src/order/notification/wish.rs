//! The notification wish of a client: read at registration, and as it is stored.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::target::{self, MAX_NAME_BYTES, Target};
use super::webhook::{shown_url, whole_url};
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

/// The form of a notification.
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

/// The `notify` part of a registration, well-formed.
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
    pub format: NotifyFormat,
}

impl NotifyRequest {
    /// Reads the `notify` object.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the root of the registration.
    pub fn read(value: &Value) -> Result<Self, Vec<Fault>> {
        let Some(map) = value.as_object() else {
            return Err(vec![fault("/notify", "must be an object")]);
        };
        let known = ["url", "correlationId", "timezone", "on", "format"];
        let message = "is not known here; there are: url, correlationId, timezone, on, format";
        let mut faults = unknown_members(map, &known, "/notify", message);
        let mut text = |key: &str| {
            let value = map.get(key).filter(|value| !value.is_null())?;
            text_at(value, &format!("/notify/{key}"), 1024).map_err(|found| faults.push(found)).ok()
        };
        let (url, correlation_id, timezone) = (text("url"), text("correlationId"), text("timezone"));
        let format = text("format");
        if map.get("url").is_none_or(Value::is_null) {
            faults.push(fault("/notify/url", "is missing"));
        }
        if correlation_id.as_ref().is_some_and(|id| id.len() > MAX_NAME_BYTES) {
            faults.push(fault("/notify/correlationId", format!("is longer than {MAX_NAME_BYTES} bytes")));
        }
        if let Some(name) = &timezone
            && TimeZone::get(name).is_err()
        {
            faults.push(fault("/notify/timezone", "is no time zone; write an IANA name like Europe/Moscow"));
        }
        let target = url.as_deref().map(Target::parse).transpose().unwrap_or_else(|message| {
            faults.push(fault("/notify/url", message));
            None
        });
        let on = occasions(map.get("on"), &mut faults);
        let format = format.map_or(Ok(NotifyFormat::Pagurus), |word| word.parse()).unwrap_or_else(|error| {
            faults.push(fault("/notify/format", error.to_string()));
            NotifyFormat::Pagurus
        });
        match (url, target) {
            (Some(url), Some(target)) if faults.is_empty() => {
                Ok(Self { url, target, correlation_id, timezone, on, format })
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
            format: NotifyFormat::Pagurus,
        }
    }

    /// The form in which it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let on: Vec<&str> = self.on.iter().map(|occasion| occasion.as_str()).collect();
        let mut value = json!({"url": self.url, "correlationId": self.correlation_id, "timezone": self.timezone, "on": on});
        // Named only where it was chosen: what is stored decides if a registration is a repeat.
        if self.format != NotifyFormat::Pagurus {
            value["format"] = json!(self.format.as_str());
        }
        value
    }
}

/// The stored wish as it is shown; null where it cannot be read.
#[must_use]
pub fn shown(stored: &str) -> Value {
    let mut wish: Value = serde_json::from_str(stored).unwrap_or_default();
    if let Some(Value::String(url)) = wish.get_mut("url") {
        *url = shown_url(url).into_owned();
    }
    wish
}

/// The wish of a client who may have read it: a URL that is shown as the stored one stands for that one.
///
/// # Errors
/// The URL stands for none.
pub fn with_whole_url(mut wish: Value, stored: Option<&str>) -> Result<Value, Fault> {
    if let Some(Value::String(url)) = wish.get_mut("url") {
        let kept = stored.and_then(StoredNotify::read);
        let kept = kept.as_ref().map(|kept| &*kept.url);
        *url = whole_url(url, kept).map_err(|message| fault("/notify/url", message))?;
    }
    Ok(wish)
}

/// Tells the wish of a client from the request of a parent: nodes of the version before know no other place
/// for the latter.
#[must_use]
pub fn apart(stored: Option<String>) -> (Option<String>, Option<RequestId>) {
    let request =
        stored.as_deref().filter(|text| text.contains(target::CALLBACK)).and_then(
            |text| match Target::stored(&StoredNotify::read(text)?.url) {
                Ok(Target::Callback(request)) => Some(request),
                _ => None,
            },
        );
    if request.is_some() { (None, request) } else { (stored, None) }
}

/// The `notify` part of an order as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredNotify {
    /// The URL as given.
    pub url: String,
    /// The client's own mark.
    pub correlation_id: Option<String>,
    /// IANA name of the zone in which times are written.
    pub timezone: Option<String>,
    /// The form.
    pub format: NotifyFormat,
    on: Option<Vec<String>>,
}

impl StoredNotify {
    /// Reads what was stored; none where it names no URL.
    #[must_use]
    pub fn read(stored: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(stored).ok()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let on = value.get("on").and_then(Value::as_array);
        let on = on.map(|on| on.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Some(Self {
            url: text("url")?,
            correlation_id: text("correlationId"),
            timezone: text("timezone"),
            format: text("format").and_then(|word| word.parse().ok()).unwrap_or_default(),
            on,
        })
    }

    /// A wish for the end of each life, in universal time.
    #[must_use]
    pub const fn to(url: String) -> Self {
        Self { url, correlation_id: None, timezone: None, format: NotifyFormat::Pagurus, on: None }
    }

    /// Reads the wish of an order that may want a notification of this occasion: a look at the text spares the
    /// reading of most.
    #[must_use]
    pub fn wanting(stored: Option<&str>, occasion: Occasion) -> Option<Self> {
        let stored = stored.filter(|text| occasion == Occasion::Final || text.contains(occasion.as_str()))?;
        Self::read(stored).filter(|wish| wish.wants(occasion))
    }

    /// True if this occasion is to be notified; without a list, that is the end of each life.
    #[must_use]
    pub fn wants(&self, occasion: Occasion) -> bool {
        self.on.as_ref().map_or(occasion == Occasion::Final, |on| on.iter().any(|on| on == occasion.as_str()))
    }
}

fn occasions(value: Option<&Value>, faults: &mut Vec<Fault>) -> Vec<Occasion> {
    let list = match value {
        None | Some(Value::Null) => return vec![Occasion::Final],
        Some(Value::Array(list)) => list,
        Some(_) => {
            faults.push(fault("/notify/on", "must be a list"));
            return Vec::new();
        }
    };
    if list.is_empty() {
        faults.push(fault("/notify/on", "names no occasion: leave it out for the end of each life"));
    }
    let mut occasions = Vec::new();
    for (index, item) in list.iter().enumerate() {
        match item.as_str().map(str::parse::<Occasion>) {
            Some(Ok(occasion)) => occasions.push(occasion),
            Some(Err(error)) => faults.push(fault(&format!("/notify/on/{index}"), error.to_string())),
            None => faults.push(fault(&format!("/notify/on/{index}"), "must be text")),
        }
    }
    occasions
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn ord_18_all_faults_of_a_wish_are_reported_and_one_that_wants_nothing_is_none() {
        let pointers = |notify: Value| -> Vec<String> {
            NotifyRequest::read(&notify).unwrap_err().into_iter().map(|found| found.pointer).collect()
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
        let read = NotifyRequest::read(&wish).unwrap();
        assert_eq!((read.on.len(), read.format), (2, NotifyFormat::CloudEvents));
        let stored = StoredNotify::read(&read.to_value().to_string()).unwrap();
        assert_eq!(stored.format, NotifyFormat::CloudEvents);
        assert!(stored.wants(Occasion::Parked) && !stored.wants(Occasion::Final));
        assert_eq!(pointers(json!({"url": url, "format": "xml"})), ["/notify/format"]);
        for on in [json!(null), json!(["final"])] {
            assert_eq!(NotifyRequest::read(&json!({"url": url, "on": on})).unwrap().on, [Occasion::Final]);
        }
    }

    #[test]
    fn ord_2_a_form_that_nobody_chose_is_not_stored() {
        let stored = |wish: Value| NotifyRequest::read(&wish).unwrap().to_value();
        let plain = stored(json!({"url": "amqp://?key=k"}));
        assert_eq!(plain.get("format"), None, "a repeat of an older registration stays one");
        assert_eq!(stored(json!({"url": "amqp://?key=k", "format": "pagurus"})), plain);
    }

    #[test]
    fn ord_18_a_wish_is_read_only_where_its_occasion_may_be_wanted() {
        let wish = |on: Value| json!({"url": "amqp://?key=transitions", "on": on}).to_string();
        let wants = |stored: &str, occasion| StoredNotify::wanting(Some(stored), occasion).is_some();
        assert!(wants(&wish(json!(["transitions"])), Occasion::Transitions));
        assert!(!wants(&wish(json!(["final"])), Occasion::Transitions), "a word elsewhere is no wish");
        assert!(wants(&wish(Value::Null), Occasion::Final) && !wants(&wish(Value::Null), Occasion::Parked));
        assert!(StoredNotify::wanting(None, Occasion::Final).is_none());
    }
}
