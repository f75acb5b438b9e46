//! The table of conditions. The names that a search takes, the way its values are split in a query, and the
//! documentation of bodies and queries all follow from it.

use ConditionKind::{Flag, List, Number, Text, Time, Values};

/// A condition, as clients write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchCondition {
    /// Name in bodies and queries.
    pub name: &'static str,
    /// Form of its value.
    pub kind: ConditionKind,
    /// Meaning, as a sentence.
    pub meaning: &'static str,
}

/// Form of the value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// A text.
    Text,
    /// Texts, apart by commas in a query.
    List,
    /// True or false.
    Flag,
    /// A number of 32 bits.
    Number,
    /// A time, or a duration back from now.
    Time,
    /// Values by names, which stand behind a dot in a query.
    Values,
}

/// All conditions, in the order in which they are listed to clients.
pub const CONDITIONS: &[SearchCondition] = &[
    of("ids", List, "Ids, 10 000 at most."),
    of("idPrefix", Text, "Start of the id."),
    of("transactionId", Text, "Business transaction."),
    of("status", List, "Statuses."),
    of(
        "scenarioStatus",
        List,
        "Scenario statuses: `undefined`, `on_target`, `off_target`, `target`, `failed`.",
    ),
    of("scenario", Text, "Scenario, all its versions unless one is named."),
    of("scenarioVersion", Number, "Version of it."),
    of("state", List, "Present or last states; an empty text for orders that have none."),
    of("class", List, "Classes of errors."),
    of("system", List, "Called systems that the error is about."),
    of("flow", Text, "Flow."),
    of("queue", Text, "Sequential queue."),
    of("node", Text, "Name of the node that runs a stage of the order."),
    of("priority", Text, "Urgency."),
    of("mode", Text, "`parallel` or `sequential`."),
    of(
        "source",
        Text,
        "Source of an event in the history of the order: `api`, `client`, `operation:NO`, \
            or the name of a node.",
    ),
    of(
        "jeopardy",
        Flag,
        "True for orders that will probably be late for what their clients were promised, \
            false for all others.",
    ),
    of(
        "inconsistent",
        Flag,
        "True for orders whose rows contradict each other and need a person, false for all others.",
    ),
    of("text", Text, "Text that the message of the order, or of its error, contains."),
    of("createdSince", Time, "Registered then or later."),
    of("createdUntil", Time, "Registered before."),
    of("finishedSince", Time, "Ended then or later."),
    of("finishedUntil", Time, "Ended before."),
    of("attributes", Values, "Values of attributes that scenarios declare under `search`."),
    of("params", Values, "Values of parameters by their paths, like `customer.id`."),
    of("vars", Values, "Values of variables by their paths."),
];

const fn of(name: &'static str, kind: ConditionKind, meaning: &'static str) -> SearchCondition {
    SearchCondition { name, kind, meaning }
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

    /// Meaning of its parameter in a query, with the form that values have there.
    #[must_use]
    pub fn meaning_in_query(&self) -> String {
        let form = match self.kind {
            List => " Several are written with commas between them.",
            Time => " Written as a time, or as a duration back from now.",
            Text | Flag | Number | Values => "",
        };
        format!("{}{form}", self.meaning)
    }
}
