//! The table of conditions. What a search holds, how it is read and kept, the names that clients write, the way values
//! are split in a query, the flags of the command line, and the documentation of all of them follow from it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::value::{self, ConditionKind, ConditionValue};
use super::{MOST_IDS, read::SearchReader};
use crate::id::UnknownWord;
use crate::order::{Mode, Priority, ScenarioStatus, Status};

/// Values that a list has at most, where its line says nothing else.
const MOST_LISTED: usize = 100;

/// A condition, as clients write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchCondition {
    /// Name in bodies and queries.
    pub name: &'static str,
    /// Form of its value.
    pub kind: ConditionKind,
    /// The words that it takes; empty where it takes any text.
    pub words: &'static [&'static str],
    /// Wanted orders, as a sentence.
    pub meaning: &'static str,
}

/// Declares the search and its table. A line has the meaning, the field with its type, and the name that clients write.
macro_rules! conditions {
    ($($(#[doc = $meaning:literal])+ $field:ident: $of:ty = $name:literal $(, $most:expr)?;)+) => {
        /// Conditions that wanted orders fulfil, all of them. Kept under the names that clients write. An empty list,
        /// map or text is no condition; an empty word in `classes`, `states` and `systems` stands for orders that have
        /// none.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Search {
            $(
                $(#[doc = $meaning])+
                #[serde(rename = $name, skip_serializing_if = "value::is_absent", with = "value")]
                pub $field: $of,
            )+
        }

        /// All conditions, in the order in which they are listed to clients.
        pub const CONDITIONS: &[SearchCondition] = &[$(SearchCondition {
            name: $name,
            kind: <$of as ConditionValue>::KIND,
            words: <$of as ConditionValue>::WORDS,
            meaning: concat!($($meaning),+).trim_ascii_start(),
        }),+];

        impl Search {
            /// Reads each condition by itself.
            pub(super) fn taken(reader: &mut SearchReader<'_>) -> Self {
                Self { $($field: reader.value($name, [$($most,)? MOST_LISTED][0])),+ }
            }
        }
    };
}

conditions! {
    /// Orders with these ids, 10 000 at most.
    ids: Vec<String> = "ids", MOST_IDS;
    /// Orders whose id starts with this text.
    id_prefix: Option<String> = "idPrefix";
    /// Orders of this business transaction.
    transaction_id: Option<String> = "transactionId";
    /// Orders in one of these statuses.
    statuses: Vec<Status> = "status";
    /// Orders with one of these scenario statuses.
    scenario_statuses: Vec<ScenarioStatus> = "scenarioStatus";
    /// Orders of this scenario, all its versions unless one is named.
    scenario: Option<String> = "scenario";
    /// Orders of this version of the scenario.
    scenario_version: Option<i32> = "scenarioVersion";
    /// Orders in one of these states, or that ended in it; an empty text stands for those that have none.
    states: Vec<String> = "state";
    /// Orders that failed, or have an error, whose error occurred in one of these states.
    error_states: Vec<String> = "errorState";
    /// Orders with one of these classes of error; an empty text stands for those without an error.
    classes: Vec<String> = "class";
    /// Orders whose error concerns one of these called systems; an empty text stands for errors that concern none.
    systems: Vec<String> = "system";
    /// Orders of this flow.
    flow: Option<String> = "flow";
    /// Orders of this sequential queue.
    queue: Option<String> = "queue";
    /// Orders with a stage that runs on the node of this name.
    node: Option<String> = "node";
    /// Orders of this priority.
    priority: Option<Priority> = "priority";
    /// Orders of this mode.
    mode: Option<Mode> = "mode";
    /// Orders with an event of this source in their history: `api`, `client`, `operation:NO`, or the name of a node.
    source: Option<String> = "source";
    /// Orders that will probably miss their promise.
    jeopardy: Option<bool> = "jeopardy";
    /// Orders that are marked as inconsistent: their stored rows contradict each other, and a person has to check them.
    inconsistent: Option<bool> = "inconsistent";
    /// Orders with a stage that was taken over from a lost node.
    failed_over: Option<bool> = "failedOver";
    /// Orders whose message, or error, contains this text, in upper or lower case.
    text: Option<String> = "text";
    /// Orders registered then or later.
    created_since: Option<Timestamp> = "createdSince";
    /// Orders registered before.
    created_until: Option<Timestamp> = "createdUntil";
    /// Orders that ended then or later.
    finished_since: Option<Timestamp> = "finishedSince";
    /// Orders that ended before.
    finished_until: Option<Timestamp> = "finishedUntil";
    /// Orders with these values of attributes that their scenarios declare under `search`, like `customer`.
    attributes: BTreeMap<String, String> = "attributes";
    /// Orders with these labels, like `region`.
    labels: BTreeMap<String, String> = "labels";
    /// Orders with these values of parameters, by their paths, like `customer.id`.
    params: BTreeMap<String, Value> = "params";
    /// Orders with these values of variables, by their paths.
    vars: BTreeMap<String, Value> = "vars";
}

impl SearchCondition {
    /// The condition of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CONDITIONS.iter().find(|condition| condition.name == name)
    }

    /// Names of all conditions.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        CONDITIONS.iter().map(|condition| condition.name)
    }

    /// This text, if it is a word that the condition takes.
    ///
    /// # Errors
    /// The words that would do.
    pub fn word(&self, text: &str) -> Result<String, UnknownWord> {
        match self.words.is_empty() || self.words.contains(&text) {
            true => Ok(text.to_owned()),
            false => Err(UnknownWord::new(text, self.words)),
        }
    }

    /// Meaning with the words that it takes, each between two of these marks, and no full stop.
    #[must_use]
    pub fn described(&self, mark: &str) -> String {
        let meaning = self.meaning.trim_end_matches('.');
        let words: Vec<String> = self.words.iter().map(|word| format!("{mark}{word}{mark}")).collect();
        match words.split_last() {
            Some((last, most)) => format!("{meaning}: {} or {last}", most.join(", ")),
            None => meaning.to_owned(),
        }
    }

    /// Meaning of its field in a body.
    #[must_use]
    pub fn meaning_in_body(&self) -> String {
        let form = if self.kind == ConditionKind::Flag { " `false` stands for all others." } else { "" };
        format!("{}.{form}", self.described("`"))
    }

    /// Meaning of its parameter in a query, with the form that values have there.
    #[must_use]
    pub fn meaning_in_query(&self) -> String {
        let form = match self.kind {
            ConditionKind::List => " Several values are separated by commas.",
            ConditionKind::Time => " A time, or a duration back from now.",
            _ => "",
        };
        format!("{}{form}", self.meaning_in_body())
    }
}
