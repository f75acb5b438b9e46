//! Receivers of an order as they are stored, and as they are shown.
//!
//! The first one is the object that earlier versions know; others stand in it under [`OTHERS`]. A node of an earlier version
//! notifies the first one.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::form::NotifyForm;
use super::target::{self, Target};
use super::webhook::{shown_url, whole_url};
use super::wish::{NotifyRequest, Occasion};
use crate::document::Fault;
use crate::id::RequestId;
use crate::order::registration::fault;

/// Key of the receivers behind the first one.
const OTHERS: &str = "others";

/// Who is notified. Part of the key of a notification, and of what the id of its message is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// A receiver that the order names, by its place in the list.
    Receiver(usize),
    /// A subscription, by its number.
    Subscription(i64),
}

impl Recipient {
    /// The kind of a notification for this recipient. The first receiver has it as it is: earlier versions know no other.
    #[must_use]
    pub fn kind(self, kind: Cow<'static, str>) -> Cow<'static, str> {
        match self {
            Self::Receiver(0) => kind,
            Self::Receiver(place) => format!("{kind}-r{}", place + 1).into(),
            Self::Subscription(no) => format!("{kind}-s{no}").into(),
        }
    }

    /// The number of the subscription, if it is one.
    #[must_use]
    pub const fn subscription(self) -> Option<i64> {
        match self {
            Self::Receiver(_) => None,
            Self::Subscription(no) => Some(no),
        }
    }
}

/// A receiver as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredNotify {
    /// The URL as given.
    pub url: String,
    /// The client's own mark.
    pub correlation_id: Option<String>,
    /// IANA name of the zone in which times are written.
    pub timezone: Option<String>,
    /// The form.
    pub form: NotifyForm,
    /// Who it is.
    pub recipient: Recipient,
    on: Option<Vec<String>>,
}

impl StoredNotify {
    /// Reads all receivers of an order, in the order of its client; none of those that name no URL.
    #[must_use]
    pub fn read_all(stored: &str) -> Vec<Self> {
        let Ok(value) = serde_json::from_str::<Value>(stored) else { return Vec::new() };
        let others = value.get(OTHERS).and_then(Value::as_array);
        let all = std::iter::once(&value).chain(others.into_iter().flatten());
        all.enumerate().filter_map(|(place, one)| Self::read(one, Recipient::Receiver(place))).collect()
    }

    fn read(value: &Value, recipient: Recipient) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let on = value.get("on").and_then(Value::as_array);
        let on = on.map(|on| on.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        Some(Self {
            url: text("url")?,
            correlation_id: text("correlationId"),
            timezone: text("timezone"),
            form: NotifyForm::of_stored(value),
            recipient,
            on,
        })
    }

    /// A wish for the end of each life, in universal time.
    #[must_use]
    pub fn to(url: String) -> Self {
        let (form, recipient) = (NotifyForm::default(), Recipient::Receiver(0));
        Self { url, correlation_id: None, timezone: None, form, recipient, on: None }
    }

    /// The receivers of an order that want a notification of this occasion: a look at the text spares the reading of
    /// most.
    #[must_use]
    pub fn wanting(stored: Option<&str>, occasion: Occasion) -> Vec<Self> {
        let may = |text: &&str| occasion == Occasion::Final || text.contains(occasion.as_str());
        let mut wishes = stored.filter(may).map(Self::read_all).unwrap_or_default();
        wishes.retain(|wish| wish.wants(occasion));
        wishes
    }

    /// True if any receiver of an order wants a notification of this occasion.
    #[must_use]
    pub fn is_wanted(stored: Option<&str>, occasion: Occasion) -> bool {
        !Self::wanting(stored, occasion).is_empty()
    }

    /// True if this occasion is to be notified; without a list, that is the end of each life.
    #[must_use]
    pub fn wants(&self, occasion: Occasion) -> bool {
        self.on.as_ref().map_or(occasion == Occasion::Final, |on| on.iter().any(|on| on == occasion.as_str()))
    }
}

/// Receivers in the form in which they are stored.
pub(super) fn to_stored<'r>(mut receivers: impl Iterator<Item = &'r NotifyRequest>) -> Value {
    let mut first = receivers.next().map(NotifyRequest::to_value).unwrap_or_default();
    let others: Vec<Value> = receivers.map(NotifyRequest::to_value).collect();
    if !others.is_empty() {
        first[OTHERS] = others.into();
    }
    first
}

/// Stored receivers as a client gives them: one object, or a list of several; null where they cannot be read.
#[must_use]
pub fn as_given(stored: &str) -> Value {
    let mut first: Value = serde_json::from_str(stored).unwrap_or_default();
    match first.as_object_mut().and_then(|first| first.remove(OTHERS)) {
        Some(Value::Array(mut others)) => {
            others.insert(0, first);
            Value::Array(others)
        }
        _ => first,
    }
}

/// The same as people see it.
#[must_use]
pub fn shown(stored: &str) -> Value {
    let mut wish = as_given(stored);
    hide_queries(&mut wish);
    wish
}

/// Hides the queries of webhooks in one receiver, or in a list of several.
pub fn hide_queries(wish: &mut Value) {
    for (_, one) in each(wish) {
        if let Some(Value::String(url)) = one.get_mut("url") {
            *url = shown_url(url).into_owned();
        }
    }
}

/// The receivers of a client who may have read them: a URL that is shown as a stored one stands for that one. Of several
/// that are shown so it is the one at the same place.
///
/// # Errors
/// A URL stands for none.
pub fn with_whole_url(mut wish: Value, stored: Option<&str>) -> Result<Value, Fault> {
    let kept = stored.map(StoredNotify::read_all).unwrap_or_default();
    let is_list = wish.is_array();
    for (place, one) in each(&mut wish) {
        if let Some(Value::String(url)) = one.get_mut("url") {
            let at = if is_list { format!("/notify/{place}/url") } else { "/notify/url".to_owned() };
            *url = whole(url, place, &kept).map_err(|message| fault(&at, message))?;
        }
    }
    Ok(wish)
}

/// The whole URL for the one at this place, as [`with_whole_url`] finds it.
pub(super) fn whole(url: &str, place: usize, kept: &[StoredNotify]) -> Result<String, String> {
    let is_shown_so = |kept: &&str| shown_url(kept) == url;
    let here = kept.get(place).map(|kept| &*kept.url).filter(is_shown_so);
    let mut alike = kept.iter().map(|kept| &*kept.url).filter(is_shown_so);
    let first = alike.next();
    let only = first.filter(|first| alike.all(|other| other == *first));
    whole_url(url, here.or(only))
}

/// The objects of one receiver, or of a list of several, with their places.
fn each(wish: &mut Value) -> impl Iterator<Item = (usize, &mut Map<String, Value>)> {
    let all: &mut [Value] = match wish {
        Value::Array(list) => list,
        one => std::slice::from_mut(one),
    };
    all.iter_mut().enumerate().filter_map(|(place, one)| Some((place, one.as_object_mut()?)))
}

/// Tells the wish of a client from the request of a parent: nodes of the version before know no other place
/// for the latter.
#[must_use]
pub fn apart(stored: Option<String>) -> (Option<String>, Option<RequestId>) {
    let request =
        stored.as_deref().filter(|text| text.contains(target::CALLBACK)).and_then(
            |text| match Target::stored(&StoredNotify::read_all(text).first()?.url) {
                Ok(Target::Callback(request)) => Some(request),
                _ => None,
            },
        );
    if request.is_some() { (None, request) } else { (stored, None) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use serde_json::json;

    use super::*;

    fn stored(wish: &Value) -> String {
        let one = |wish: &Value| NotifyRequest::read(wish, "/notify").unwrap();
        let list = wish.as_array().map_or_else(|| vec![one(wish)], |list| list.iter().map(one).collect());
        to_stored(list.iter()).to_string()
    }

    #[test]
    fn ord_18_a_wish_is_read_only_where_its_occasion_may_be_wanted() {
        let wish = |on: Value| json!({"url": "amqp://?key=transitions", "on": on}).to_string();
        let wants = |stored: &str, occasion| StoredNotify::is_wanted(Some(stored), occasion);
        assert!(wants(&wish(json!(["transitions"])), Occasion::Transitions));
        assert!(!wants(&wish(json!(["final"])), Occasion::Transitions), "a word elsewhere is no wish");
        assert!(wants(&wish(Value::Null), Occasion::Final) && !wants(&wish(Value::Null), Occasion::Parked));
        assert!(!StoredNotify::is_wanted(None, Occasion::Final));
    }

    #[test]
    fn ord_38_one_receiver_is_stored_as_before_and_the_first_of_several_as_that_one() {
        let first = json!({"url": "amqp://?key=a", "correlationId": "c", "on": ["final"]});
        let second =
            json!({"url": "https://h/b?token=t", "on": ["final", "parked"], "format": "cloudevents"});
        let alone: Value = serde_json::from_str(&stored(&first)).unwrap();
        assert_eq!(
            alone,
            json!({"url": "amqp://?key=a", "correlationId": "c", "timezone": null, "on": ["final"]})
        );
        let both = stored(&json!([first, second]));
        let seen: Value = serde_json::from_str(&both).unwrap();
        for (key, value) in alone.as_object().unwrap() {
            assert_eq!(&seen[key], value, "what an earlier version reads of it");
        }
        let read = StoredNotify::read_all(&both);
        assert_eq!(
            read.iter().map(|one| &*one.url).collect::<Vec<_>>(),
            ["amqp://?key=a", "https://h/b?token=t"]
        );
        assert_eq!(read[1].recipient, Recipient::Receiver(1));
        let wanting = |occasion| StoredNotify::wanting(Some(&both), occasion).len();
        assert_eq!(
            (wanting(Occasion::Final), wanting(Occasion::Parked), wanting(Occasion::Jeopardy)),
            (2, 1, 0)
        );
        assert_eq!(shown(&both)[1]["url"], "https://h/b?***");
        assert_eq!(as_given(&both)[1]["url"], "https://h/b?token=t");
        assert!(shown(&stored(&first)).is_object());
        assert_eq!(shown("7"), json!(7), "whatever stands there");
    }

    #[test]
    fn ord_38_each_recipient_has_a_kind_of_its_own_and_the_first_one_that_of_before() {
        let kind = |recipient: Recipient, kind: &'static str| recipient.kind(kind.into()).into_owned();
        assert_eq!(kind(Recipient::Receiver(0), "final"), "final");
        assert_eq!(kind(Recipient::Receiver(1), "final-2"), "final-2-r2");
        assert_eq!(kind(Recipient::Subscription(2), "final"), "final-s2");
        assert_eq!(Recipient::Subscription(2).subscription(), Some(2));
    }

    #[test]
    fn ord_38_a_hidden_query_stands_for_the_stored_one_at_its_place_or_the_only_one_like_it() {
        let list =
            json!([{"url": "https://h/a?t=1"}, {"url": "https://h/a?t=2"}, {"url": "https://h/b?t=3"}]);
        let kept = stored(&list);
        let urls = |wish: Value| -> Result<Vec<String>, String> {
            let whole = with_whole_url(wish, Some(&kept)).map_err(|fault| fault.pointer)?;
            let whole = whole.as_array().cloned().unwrap_or_else(|| vec![whole]);
            Ok(whole.iter().map(|one| one["url"].as_str().unwrap_or_default().to_owned()).collect())
        };
        let shown = |path: &str| json!({"url": format!("https://h/{path}?***")});
        assert_eq!(urls(json!([shown("a"), shown("a")])).unwrap(), ["https://h/a?t=1", "https://h/a?t=2"]);
        assert_eq!(urls(json!([shown("b")])).unwrap(), ["https://h/b?t=3"]);
        assert_eq!(urls(json!([shown("b"), shown("b"), shown("a")])).unwrap_err(), "/notify/2/url");
        assert_eq!(urls(shown("c")).unwrap_err(), "/notify/url");
        assert_eq!(urls(json!(5)).unwrap(), [""], "what is no object is refused elsewhere");
    }
}
