//! Subscriptions: standing receivers of what happens to orders, by scenario, label and outcome (ORD-38).

use serde_json::{Map, Value};

use crate::document::{Fault, pointer_to};
use crate::id::spelled;
use crate::order::Status;
use crate::order::labels::Labels;
use crate::order::notification::{
    AllowList, NotifyFormat, Occasion, Recipient, StoredNotify, Target, matches, whole_url,
};
use crate::order::registration::fault;

/// Most subscriptions of an installation: each end of an order is held against all of them.
pub const MOST_SUBSCRIPTIONS: usize = 64;
/// Most masks of scenarios, and most labels, of one.
const MOST_CONDITIONS: usize = 16;
/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Longest URL, mask, label and name of a secret, in bytes.
const MAX_TEXT_BYTES: usize = 1024;

/// Why a subscription is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PauseReason {
    /// Somebody asked for it.
    ByHand,
    /// More waits for its receiver than may.
    Backlog,
    /// The receiver answered that it wants no more.
    Gone,
}

spelled!(PauseReason { ByHand => "by_hand", Backlog => "backlog", Gone => "gone" });

/// Orders that a subscription is for: those that fulfil each of these conditions. An empty list is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Masks of names of scenarios, one of which takes that of the order; `*` stands for any run of characters.
    pub scenarios: Vec<String>,
    /// Labels that the order has, each with this value.
    pub labels: Labels,
    /// Final statuses, one of which the order has when it ends.
    pub outcomes: Vec<Status>,
}

impl Selection {
    /// True if an order of this scenario, with these labels and this status, fulfils the conditions. A status that is not final
    /// is no outcome: then the scenario and the labels decide.
    #[must_use]
    pub fn takes(&self, scenario: &str, labels: &Labels, status: Status) -> bool {
        let by_scenario =
            self.scenarios.is_empty() || self.scenarios.iter().any(|mask| matches(mask, scenario));
        let by_labels = self.labels.iter().all(|wanted| labels.iter().any(|label| label == wanted));
        let by_outcome = self.outcomes.is_empty() || !status.is_final() || self.outcomes.contains(&status);
        by_scenario && by_labels && by_outcome
    }
}

/// A subscription as somebody wants it.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionRule {
    /// Place to write to.
    pub url: String,
    /// Format of the notifications.
    pub format: NotifyFormat,
    /// Name of the secret with which webhooks are signed; none is that of `notify.allow`.
    pub secret: Option<String>,
    /// Occasions.
    pub on: Vec<Occasion>,
    /// Conditions.
    pub selection: Selection,
}

/// Keys of a subscription in a request.
const KEYS: [&str; 8] = ["url", "format", "secret", "on", "scenarios", "labels", "outcomes", "dryRun"];

/// Reader of a request, with the faults that it has found.
struct RuleReader<'m> {
    map: &'m Map<String, Value>,
    faults: Vec<Fault>,
}

impl SubscriptionRule {
    /// Reads the body of a request; a URL that is shown as the one of `stored` stands for that one.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with a JSON pointer.
    pub fn read(body: &Value, stored: Option<&str>) -> Result<Self, Vec<Fault>> {
        let Some(map) = body.as_object() else {
            return Err(vec![fault("", "a subscription must be a JSON object with `url`")]);
        };
        let mut reader = RuleReader { map, faults: Vec::new() };
        for key in map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let known = KEYS.join(", ");
            reader.fault(&pointer_to("", key), format!("is not known here; there are: {known}"));
        }
        if map.get("dryRun").is_some_and(|flag| !flag.is_boolean() && !flag.is_null()) {
            reader.fault("/dryRun", "must be true or false");
        }
        let url = reader.url(stored);
        let format = reader.text("format").map(|word| word.parse::<NotifyFormat>());
        let format = format.transpose().unwrap_or_else(|unknown| {
            reader.fault("/format", unknown.to_string());
            None
        });
        let secret = reader.text("secret");
        if secret.is_some() && url.as_deref().is_some_and(|url| !url.starts_with("http")) {
            reader.fault("/secret", "is only for webhooks: messages are not signed");
        }
        let on = reader.on();
        let selection = Selection {
            scenarios: reader.list("scenarios", |text| Ok(text.to_owned())),
            labels: reader.labels(),
            outcomes: reader.list("outcomes", outcome),
        };
        match url {
            Some(url) if reader.faults.is_empty() => {
                Ok(Self { url, format: format.unwrap_or_default(), secret, on, selection })
            }
            _ => Err(reader.faults),
        }
    }

    /// The fault of its URL by the rules of the deployment.
    #[must_use]
    pub fn refused(&self, allow: &AllowList) -> Option<Fault> {
        let permitted = Target::parse(&self.url).and_then(|target| allow.permits(&target));
        permitted.err().map(|message| fault("/url", message))
    }

    /// The receiver that it stands for.
    #[must_use]
    pub fn receiver(&self, no: i64) -> StoredNotify {
        let mut receiver = StoredNotify::to(self.url.clone());
        (receiver.form.format, receiver.recipient) = (self.format, Recipient::Subscription(no));
        receiver
    }
}

fn outcome(word: &str) -> Result<Status, String> {
    match word.parse::<Status>() {
        Ok(status) if status.is_final() => Ok(status),
        _ => Err("is not a final status; there are: success, fail, canceled, interrupted".to_owned()),
    }
}

impl RuleReader<'_> {
    fn fault(&mut self, pointer: &str, message: impl Into<String>) {
        self.faults.push(fault(pointer, message));
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?.clone();
        self.text_of(&value, &format!("/{key}"))
    }

    fn text_of(&mut self, value: &Value, at: &str) -> Option<String> {
        let message = match value.as_str() {
            None => "must be text".to_owned(),
            Some("") => "must not be empty".to_owned(),
            Some(text) if text.len() > MAX_TEXT_BYTES => format!("is longer than {MAX_TEXT_BYTES} bytes"),
            Some(text) if text.chars().any(char::is_control) => {
                "must not contain control characters".to_owned()
            }
            Some(text) => return Some(text.to_owned()),
        };
        self.fault(at, message);
        None
    }

    fn url(&mut self, stored: Option<&str>) -> Option<String> {
        if self.get("url").is_none() {
            self.fault("/url", "is missing");
        }
        let url = self.text("url")?;
        let whole = whole_url(&url, stored).and_then(|url| Target::parse(&url).map(|_| url));
        whole.map_err(|message| self.fault("/url", message)).ok()
    }

    fn on(&mut self) -> Vec<Occasion> {
        let on = self.list("on", |word| match word.parse::<Occasion>() {
            Ok(Occasion::Transitions) => {
                Err("is only for the receivers of an order; `/v1/stream` has the transitions of all orders"
                    .to_owned())
            }
            Ok(occasion) => Ok(occasion),
            Err(_) => Err("is not an occasion; there are: final, parked, jeopardy".to_owned()),
        });
        if on.is_empty() { vec![Occasion::Final] } else { on }
    }

    fn list<T>(&mut self, key: &str, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let items = match self.get(key).cloned() {
            None => return Vec::new(),
            Some(Value::Array(items)) if items.len() <= MOST_CONDITIONS => items,
            Some(_) => {
                self.fault(&format!("/{key}"), format!("must be a list of at most {MOST_CONDITIONS} texts"));
                return Vec::new();
            }
        };
        let mut list = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let at = format!("/{key}/{place}");
            let Some(text) = self.text_of(item, &at) else { continue };
            match read(&text) {
                Ok(one) => list.push(one),
                Err(message) => self.fault(&at, message),
            }
        }
        list
    }

    fn labels(&mut self) -> Labels {
        let read = match self.get("labels").cloned() {
            None => return Labels::default(),
            Some(Value::Object(map)) => Labels::read(map, "/labels"),
            Some(_) => Err(vec![fault("/labels", "must be an object of texts")]),
        };
        read.map_err(|mut found| self.faults.append(&mut found)).unwrap_or_default()
    }
}

/// The name of a subscription, as a path has it.
///
/// # Errors
/// Says how to write one.
pub fn checked_name(name: &str) -> Result<(), Fault> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
        let message =
            format!("must have 1 to {MAX_NAME_BYTES} of the characters a-z, A-Z, 0-9, `-`, `_` and `.`");
        return Err(fault("/name", message));
    }
    Ok(())
}

/// A subscription that is not paused.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveSubscription {
    /// Number of the subscription.
    pub no: i64,
    /// The rule.
    pub rule: SubscriptionRule,
}

/// All subscriptions that are not paused, as they are at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActiveSubscriptions(pub Vec<ActiveSubscription>);

impl ActiveSubscriptions {
    /// The receivers among them that want a notification of this occasion, of an order of this scenario, with these labels and
    /// this status.
    pub fn wanting<'s>(
        &'s self,
        occasion: Occasion,
        scenario: &'s str,
        labels: &'s Labels,
        status: Status,
    ) -> impl Iterator<Item = StoredNotify> + 's {
        let takes = move |one: &&ActiveSubscription| {
            one.rule.on.contains(&occasion) && one.rule.selection.takes(scenario, labels, status)
        };
        self.0.iter().filter(takes).map(|one| one.rule.receiver(one.no))
    }
}

#[cfg(test)]
mod tests;
