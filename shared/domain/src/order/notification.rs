//! Notifications: where they may go, and what they say.

mod target;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Value, json};

use self::target::MAX_NAME_BYTES;
pub use self::target::Target;
use super::registration::{fault, text_at, unknown_members};
use super::{OrderError, OrderHead, ScenarioStatus, Status};
use crate::document::Fault;
use crate::id::{RequestId, spelled};

/// Of what a client wants to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The end of each life.
    Final,
    /// Every transition.
    Transitions,
    /// Retries exhausted, suspended past a bound, marked inconsistent.
    Parked,
}

spelled!(Occasion { Final => "final", Transitions => "transitions", Parked => "parked" });

/// The `notify` part of a registration, well-formed.
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyRequest {
    /// The URL as given.
    pub url: String,
    /// What the URL says.
    pub target: Target,
    /// The client's own mark, copied into every notification.
    pub correlation_id: Option<String>,
    /// IANA name of the zone in which times are written.
    pub timezone: Option<String>,
    /// The occasions.
    pub on: Vec<Occasion>,
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
        let known = ["url", "correlationId", "timezone", "on"];
        let told = "is not known here; there are: url, correlationId, timezone, on";
        let mut faults = unknown_members(map, &known, "/notify", told);
        let mut text = |key: &str| {
            let value = map.get(key).filter(|value| !value.is_null())?;
            text_at(value, &format!("/notify/{key}"), 1024).map_err(|found| faults.push(found)).ok()
        };
        let (url, correlation_id, timezone) = (text("url"), text("correlationId"), text("timezone"));
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
        match (url, target) {
            (Some(url), Some(target)) if faults.is_empty() => {
                Ok(Self { url, target, correlation_id, timezone, on })
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
        }
    }

    /// The form in which it is stored.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let on: Vec<&str> = self.on.iter().map(|occasion| occasion.as_str()).collect();
        json!({"url": self.url, "correlationId": self.correlation_id, "timezone": self.timezone, "on": on})
    }
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
            on,
        })
    }

    /// A wish for the end of each life, in universal time.
    #[must_use]
    pub const fn to(url: String) -> Self {
        Self { url, correlation_id: None, timezone: None, on: None }
    }

    /// True where somebody is to be told of this occasion; without a list it is the end of each life.
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
            Some(Ok(Occasion::Final)) => occasions.push(Occasion::Final),
            Some(Ok(occasion)) => faults.push(fault(
                &format!("/notify/on/{index}"),
                format!("`{occasion}` is not available in this version"),
            )),
            Some(Err(error)) => faults.push(fault(&format!("/notify/on/{index}"), error.to_string())),
            None => faults.push(fault(&format!("/notify/on/{index}"), "must be text")),
        }
    }
    occasions
}

/// One entry of an allow list; `*` stands for any run of characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// Pattern of the exchange.
    pub exchange: Option<String>,
    /// Pattern of the routing key.
    pub key: Option<String>,
    /// Pattern of the queue.
    pub queue: Option<String>,
}

/// Where messages to clients may go (AMQP-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList {
    /// Prefix of the engine's own names.
    pub prefix: String,
    /// The exchange that is meant where none is named.
    pub default_exchange: String,
    /// What is allowed.
    pub patterns: Vec<Pattern>,
}

impl AllowList {
    /// True if a message may go there. The engine's own names and `amq.*` never may.
    ///
    /// # Errors
    /// Says what is forbidden and which setting would allow it.
    pub fn permits(&self, target: &Target) -> Result<(), String> {
        let refused = || Err(format!("{target} is not allowed here; `notify.allow` lists what is"));
        match target {
            Target::Callback(_) => Ok(()),
            Target::Queue(queue) => {
                let own = format!("{}.", self.prefix);
                if queue.starts_with("amq.")
                    || (queue.starts_with(&own) && !queue.starts_with(&format!("{own}reply.")))
                {
                    return Err(format!("{target} belongs to the engine or the broker"));
                }
                let allowed = |pattern: &Pattern| pattern.queue.as_deref().is_some_and(|p| matches(p, queue));
                if self.patterns.iter().any(allowed) { Ok(()) } else { refused() }
            }
            Target::Exchange { exchange, key } => {
                let exchange = exchange.as_ref().unwrap_or(&self.default_exchange);
                let notifications = format!("{}.notifications", self.prefix);
                let own = exchange.starts_with(&format!("{}.", self.prefix)) && *exchange != notifications;
                if own || exchange.starts_with("amq.") {
                    return Err(format!("{target} belongs to the engine or the broker"));
                }
                let allowed = |pattern: &Pattern| {
                    pattern.exchange.as_deref().is_some_and(|p| matches(p, exchange))
                        && pattern.key.as_deref().is_none_or(|p| matches(p, key))
                };
                if self.patterns.iter().any(allowed) { Ok(()) } else { refused() }
            }
        }
    }
}

/// True if the text matches the pattern; `*` stands for any run of characters.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// What a notification says of the end of a life, besides what its client asked for (ORD-20).
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// The order.
    pub order: &'a OrderHead,
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Its version.
    pub scenario_version: i32,
    /// How the order ended.
    pub status: Status,
    /// How it stands to the scenario's target.
    pub scenario_status: ScenarioStatus,
    /// The last state.
    pub step: Option<&'a str>,
    /// Set by the scenario.
    pub result: Option<&'a Value>,
    /// Set by the scenario.
    pub message: Option<&'a str>,
    /// Why it failed.
    pub error: Option<&'a OrderError>,
    /// First stage of this life begun at.
    pub started_at: Option<Timestamp>,
    /// Ended at.
    pub finished_at: Timestamp,
    /// Stages of this life that ran, this last one counted in.
    pub stages: i32,
    /// Those among them that were repeats after a classified error.
    pub retries: i32,
}

impl Content<'_> {
    /// The JSON body, with the mark of the client, and times in this zone (IANA name; none is UTC).
    #[must_use]
    pub fn render(&self, correlation_id: Option<&str>, timezone: Option<&str>) -> String {
        let order = self.order;
        let zone = timezone.and_then(|name| TimeZone::get(name).ok());
        let time = |time: Timestamp| match &zone {
            Some(zone) => time.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            None => format!("{time:.3}").replace('Z', "+00:00"),
        };
        let duration_ms =
            |begin: Timestamp| (self.finished_at.as_millisecond() - begin.as_millisecond()).max(0);
        let body = Body {
            id: &order.id,
            correlation_id,
            transaction_id: order.transaction_id.as_deref(),
            scenario: self.scenario,
            scenario_version: self.scenario_version,
            status: self.status.as_str(),
            scenario_status: self.scenario_status.as_str(),
            step: self.step,
            result: self.result,
            message: self.message,
            error: self
                .error
                .map(|error| BodyError { class: error.class.as_deref(), message: &error.message }),
            created_at: time(order.created_at),
            started_at: self.started_at.map(time),
            finished_at: time(self.finished_at),
            duration_ms: self.started_at.map(duration_ms),
            life: order.life.0,
            stages: self.stages,
            retries: self.retries,
        };
        // Plain data always serializes.
        serde_json::to_string(&body).unwrap_or_default()
    }
}

/// Fields of the body of a notification.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    id: &'a str,
    correlation_id: Option<&'a str>,
    transaction_id: Option<&'a str>,
    scenario: &'a str,
    scenario_version: i32,
    status: &'static str,
    scenario_status: &'static str,
    step: Option<&'a str>,
    result: Option<&'a Value>,
    message: Option<&'a str>,
    error: Option<BodyError<'a>>,
    created_at: String,
    started_at: Option<String>,
    finished_at: String,
    duration_ms: Option<i64>,
    life: i32,
    stages: i32,
    retries: i32,
}

/// Error in the body of a notification.
#[derive(Serialize)]
struct BodyError<'a> {
    class: Option<&'a str>,
    message: &'a str,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::id::{Life, OrderNo, ScenarioNo};
    use crate::order::Mode;

    #[test]
    fn ord_18_all_faults_of_a_wish_are_told_and_one_that_wants_nothing_is_none() {
        let told = |notify: Value| -> Vec<String> {
            NotifyRequest::read(&notify).unwrap_err().into_iter().map(|found| found.pointer).collect()
        };
        let url = "amqp://?key=k";
        assert_eq!(told(json!({"url": url, "on": []})), ["/notify/on"]);
        assert_eq!(
            told(json!({"url": url, "on": ["transitions", "final", "end", 5]})),
            ["/notify/on/0", "/notify/on/2", "/notify/on/3"]
        );
        assert_eq!(
            told(json!({"timezon": "UTC", "timezone": "Moon/Base", "on": []})),
            ["/notify/timezon", "/notify/url", "/notify/timezone", "/notify/on"]
        );
        for on in [json!(null), json!(["final"])] {
            assert_eq!(NotifyRequest::read(&json!({"url": url, "on": on})).unwrap().on, [Occasion::Final]);
        }
    }

    #[test]
    fn ord_18_a_url_names_a_queue_or_a_key_or_an_exchange_with_a_key() {
        let exchange = |exchange: Option<&str>, key: &str| Target::Exchange {
            exchange: exchange.map(str::to_owned),
            key: key.to_owned(),
        };
        assert_eq!(Target::parse("amqp://?queue=a%2Fb"), Ok(Target::Queue("a/b".into())));
        assert_eq!(Target::parse("amqp://?key=k"), Ok(exchange(None, "k")));
        assert_eq!(
            Target::parse("amqp://?exchange=brt&key=ps.status"),
            Ok(exchange(Some("brt"), "ps.status"))
        );
        for bad in [
            "http://x",
            "amqp://host/?key=k",
            "amqp://?",
            "amqp://?queue=a&key=b",
            "amqp://?exchange=a",
            "amqp://?key=%4",
            "amqp://?key=a&key=b",
            "amqp://?key=%0a",
            "amqp://?x=1",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
        assert!(Target::parse(&format!("amqp://?key={}", "k".repeat(256))).is_err());
    }

    #[test]
    fn amqp_5_engine_names_are_never_written_to() {
        let list = AllowList {
            prefix: "pagurus".into(),
            default_exchange: "pagurus.notifications".into(),
            patterns: vec![Pattern { exchange: Some("*".into()), key: None, queue: Some("*".into()) }],
        };
        let permits = |url: &str| list.permits(&Target::parse(url).unwrap()).is_ok();
        assert!(
            permits("amqp://?key=x") && permits("amqp://?exchange=brt&key=x") && permits("amqp://?queue=q")
        );
        for bad in [
            "amqp://?queue=pagurus.orders.in",
            "amqp://?queue=amq.gen-x",
            "amqp://?exchange=amq.topic&key=x",
            "amqp://?exchange=pagurus.callbacks&key=x",
            "amqp://?queue=pagurus.refused",
        ] {
            assert!(!permits(bad), "{bad}");
        }
    }

    #[test]
    fn amqp_5_patterns_match_runs_of_characters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*", "abc", true),
            ("a*c", "abbc", true),
            ("a*c", "ab", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("*.x.*", "a.x.b", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn ord_20_times_are_written_in_the_zone_of_the_client_and_the_duration_is_that_of_this_life() {
        let order = OrderHead {
            no: OrderNo(1),
            id: "a".into(),
            scenario: ScenarioNo(1),
            mode: Mode::Parallel,
            transaction_id: None,
            notify: None,
            answers: None,
            trace: None,
            life: Life(2),
            created_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            started_at: None,
            stages: 0,
            retries: 0,
        };
        let content = Content {
            order: &order,
            scenario: "s",
            scenario_version: 2,
            status: Status::Success,
            scenario_status: ScenarioStatus::Target,
            step: Some("done"),
            result: None,
            message: None,
            error: None,
            started_at: Some("2026-01-01T00:00:01Z".parse().unwrap()),
            finished_at: "2026-01-01T00:00:01.5Z".parse().unwrap(),
            stages: 3,
            retries: 1,
        };
        let body = content.render(Some("c"), Some("Europe/Moscow"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["correlationId"], "c");
        assert_eq!(body["finishedAt"], "2026-01-01T03:00:01.500+03:00");
        assert_eq!(body["durationMs"], 500, "from the begin of this life, not from the registration");
        assert_eq!([&body["life"], &body["stages"], &body["retries"]], [2, 3, 1]);
        assert!(body.get("attempt").is_none(), "{body}");
        assert_eq!(body.as_object().unwrap().len(), 18);
        let content = Content { started_at: None, ..content };
        let body: Value = serde_json::from_str(&content.render(None, None)).unwrap();
        assert_eq!((&body["startedAt"], &body["durationMs"]), (&Value::Null, &Value::Null));
    }
}
