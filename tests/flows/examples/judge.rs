//! Holds what a play came to on a running engine against what the author of its test expects. Tells
//! all differences.

use serde_json::{Value, json};

use super::play::Play;
use super::table::{contains, fits_url};

/// End of an order, as its API shows it.
#[derive(Debug)]
pub struct Ended {
    /// The order.
    pub order: Value,
    /// The states that it entered, the first included.
    pub path: Vec<String>,
    /// The lines of its log.
    pub log: Vec<String>,
    /// Answers that its calls got.
    pub answers: Vec<Value>,
}

/// Everything that is not as expected.
pub fn judge(play: &Play, ended: &Ended) -> Vec<String> {
    let (expect, order) = (&play.expect, &ended.order);
    let mut faults = play.table.unanswered();
    let mut same = |what: &str, actual: &Value| {
        let wanted = &expect[what];
        if !contains(wanted, actual) {
            faults.push(format!("{what}: expected {wanted}, but it is {actual}"));
        }
    };
    for what in ["status", "scenarioStatus", "step", "result", "message", "vars"] {
        same(what, &order[what]);
    }
    let class = order["error"]["class"].as_str().unwrap_or("unclassified");
    same("error", &class.into());
    same("path", &json!(ended.path));
    for part in expect["log"].as_array().into_iter().flatten() {
        if !ended.log.iter().any(|line| line.contains(part.as_str().unwrap())) {
            faults.push(format!("log: no line contains {part}: {:?}", ended.log));
        }
    }
    judge_answers(&expect["answers"], &ended.answers, &mut faults);
    judge_requests(&wanted_requests(play), &play.table.made(), &mut faults);
    if !faults.is_empty() {
        faults.push(format!("the order is {order}, its path {:?}", ended.path));
    }
    faults
}

fn judge_answers(wanted: &Value, answers: &[Value], faults: &mut Vec<String>) {
    let Some(wanted) = wanted.as_array() else { return };
    if wanted.len() != answers.len() {
        faults.push(format!("answers: expected {}, but there are {answers:?}", wanted.len()));
    }
    for (wanted, actual) in wanted.iter().zip(answers) {
        let fits = contains(&wanted["answer"], &actual["answer"])
            && contains(&wanted["error"], &actual["error"]["class"]);
        if !fits {
            faults.push(format!("answers: expected {wanted}, but it is {actual}"));
        }
    }
}

/// The requests that a test expects and that can be seen: what no queue takes reaches nobody.
pub fn wanted_requests(play: &Play) -> Option<Vec<Value>> {
    let wanted = play.expect["requests"].as_array()?.iter();
    let wanted = wanted.map(|one| if one.is_string() { json!({"request": one}) } else { one.clone() });
    let lost = play.fails("unroutable");
    let reaches = |one: &Value| !(lost && one["request"].as_str().unwrap().starts_with("amqp "));
    Some(wanted.filter(reaches).collect())
}

/// Requests that are made at once come in any order, so only their number and their kinds count.
fn judge_requests(wanted: &Option<Vec<Value>>, made: &[Value], faults: &mut Vec<String>) {
    let Some(wanted) = wanted else { return };
    let mut left = made.to_vec();
    for one in wanted {
        let fits = |made: &Value| {
            fits_url(one["request"].as_str().unwrap(), made["request"].as_str().unwrap())
                && contains(&lower(&one["headers"]), &made["headers"])
                && contains(&one["body"], &made["body"])
        };
        match left.iter().position(fits) {
            Some(at) => drop(left.remove(at)),
            None => faults.push(format!("requests: {one} is not among {made:?}")),
        }
    }
    if !left.is_empty() && wanted.len() < made.len() {
        faults.push(format!("requests: nobody expected {left:?}"));
    }
}

fn lower(headers: &Value) -> Value {
    match headers.as_object() {
        Some(map) => map.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect(),
        None => Value::Null,
    }
}
