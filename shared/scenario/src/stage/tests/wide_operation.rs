//! Operations in small: calls that tell what the order has, variables, savepoints, sleeps, waits, child orders, a queue.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::wide::{OF_CHILD, World};

/// Step of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Counts in a variable.
    Add,
    /// Calls with the variables and the last answer, and may set a variable by the answer.
    Http {
        saves: bool,
    },
    /// A call that is answered later.
    Ask,
    /// An asynchronous call, and a wait.
    Wait,
    Sleep,
    Child,
    Release,
    Savepoint,
}

pub fn operations() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => Just(Step::Add),
        3 => any::<bool>().prop_map(|saves| Step::Http { saves }),
        1 => Just(Step::Ask),
        3 => Just(Step::Wait),
        2 => Just(Step::Sleep),
        3 => Just(Step::Child),
        1 => Just(Step::Release),
        3 => Just(Step::Savepoint),
    ];
    // A savepoint alone is no operation.
    prop::collection::vec(step, 1..12)
        .prop_filter("does nothing", |steps| steps.iter().any(|step| *step != Step::Savepoint))
}

/// Variables of an order: one that the operation sets, one that calls from outside set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vars {
    pub own: i64,
    pub called: i64,
}

impl Vars {
    pub fn map(self) -> Map<String, Value> {
        json!({"n": self.own, "m": self.called}).as_object().unwrap().clone()
    }

    /// Number that a call sends of them and of the answer before it.
    pub fn sent(self, answer: Option<i64>) -> i64 {
        self.own + self.called * 1_000_000 + answer.unwrap_or(0) * 1_000_000_000
    }
}

/// A life of an operation, as it is played and as it is walked.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    pub steps: &'a [Step],
    pub world: &'a World,
    /// The part at which a restart lets it begin.
    pub begin: Option<usize>,
    /// The variables with which it begins.
    pub vars: Vars,
    /// The rest in which an operator repairs the order, the part from which it goes on, and with which variables.
    pub repair: Option<(usize, usize, Vars)>,
    /// Seconds for which a sequential order may hold its queue in retries; `None` for a parallel order.
    pub longest: Option<i64>,
}

impl<'a> Course<'a> {
    /// The life of a parallel order from the start.
    pub fn of(steps: &'a [Step], world: &'a World) -> Self {
        Self { steps, world, begin: None, vars: Vars::default(), repair: None, longest: None }
    }
}

/// Steps that run between savepoints and rests.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: String,
    pub steps: Vec<(usize, Step)>,
}

impl Part {
    pub fn has(&self, step: Step) -> bool {
        self.steps.iter().any(|(_, other)| *other == step)
    }
}

/// The parts of an operation, with their names.
pub fn parts(steps: &[Step]) -> Vec<Part> {
    let mut parts = vec![Part { name: "start".into(), steps: Vec::new() }];
    for (index, step) in steps.iter().enumerate() {
        if *step == Step::Savepoint {
            parts.truncate(if index == 0 { 0 } else { parts.len() });
            parts.push(Part { name: format!("p{index}"), steps: Vec::new() });
            continue;
        }
        let number = parts.len();
        let part = parts.last_mut().unwrap();
        part.steps.push((index, *step));
        if matches!(step, Step::Wait | Step::Sleep) && index + 1 < steps.len() {
            let base = part.name.split('.').next().unwrap();
            let name = format!("{base}.{number}");
            parts.push(Part { name, steps: Vec::new() });
        }
    }
    let is_named = |part: &Part| !part.name.contains('.');
    parts.retain(|part| is_named(part) || !part.steps.is_empty());
    parts
}

/// The operation as a file.
pub fn text(steps: &[Step]) -> String {
    let mut out = String::from("scenario: s\nkind: operation\nactions:\n");
    for ((at, step), is_answered) in steps.iter().enumerate().zip(behind_answers(steps)) {
        let answer = if is_answered { " + response.body.n * 1000000000" } else { "" };
        let body = format!("'${{vars.n + vars.m * 1000000{answer}}}'");
        let ask = format!("  - http: {{url: 'http://h/{at}', body: {body}, request: q{at}_0}}\n");
        out.push_str(&match step {
            Step::Add => "  - script: 'vars.n += 1'\n".into(),
            Step::Http { saves } => {
                let save = if *saves { ", save: {n: '${vars.n + 100}'}" } else { "" };
                format!("  - http: {{url: 'http://h/{at}', body: {body}{save}}}\n")
            }
            Step::Ask => ask,
            Step::Wait => format!("{ask}  - wait: {{timeout: 5m}}\n"),
            Step::Sleep => "  - sleep: {for: 1h}\n".into(),
            Step::Child => format!(
                "  - order: {{scenario: c, params: {{n: {body}, number: {at}}}, wait: true, request: c{at}_{OF_CHILD}, timeout: 1h}}\n"
            ),
            Step::Release => "  - release\n".into(),
            Step::Savepoint => format!("  - savepoint: p{at}\n"),
        });
    }
    out.push_str(
        "calls: {ping: {actions: [{http: {url: 'http://h/call/${event.body}'}}, {script: 'vars.m += 1'}], answer: '${response.body.n}'}}\n",
    );
    out
}

/// Returns for each step if there is an answer before it. A rest of its own leaves none.
pub fn behind_answers(steps: &[Step]) -> Vec<bool> {
    let mut is_answered = false;
    let mut behind = |step: &Step| {
        let before = is_answered;
        is_answered = match step {
            Step::Http { .. } | Step::Ask => true,
            Step::Wait | Step::Sleep => false,
            Step::Add | Step::Child | Step::Release | Step::Savepoint => before,
        };
        before
    };
    steps.iter().map(&mut behind).collect()
}
