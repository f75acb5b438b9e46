//! Compares the outcome of a test with what was expected. Must never stop at the first difference.

use pagurus_domain::document::{Fault, Position};
use pagurus_domain::order::OrderError;
use serde_json::Value;

use super::{Expect, ExpectedAnswer, ExpectedRequest, Made, Played, spelled_duration};

/// Differences of one value that are reported; more of them help nobody.
const MAX_DIFFERENCES: usize = 20;

/// Everything that is not as expected.
pub(super) fn judge(expect: &Expect, played: &Played) -> Vec<Fault> {
    let mut faults = Vec::new();
    if let Some((path, at)) = &expect.path {
        faults.extend(judge_path(path, &played.path).map(|text| placed(*at, "path", text)));
    }
    if let Some((wanted, at)) = &expect.requests {
        judge_requests(wanted, &played.made, *at, &mut faults);
    }
    for (part, at) in &expect.log {
        if !played.log.iter().any(|line| line.contains(part.as_str())) {
            faults.push(placed(*at, "log", format!("no line of the log contains `{part}`")));
        }
    }
    if let Some((wanted, at)) = &expect.answers {
        judge_answers(wanted, played, *at, &mut faults);
    }
    judge_end(expect, played, &mut faults);
    faults.sort_by_key(|fault| fault.at);
    faults
}

/// Notes of what is no fault, but may show that the test tries something else than it says.
pub(super) fn notes(played: &Played) -> Vec<Fault> {
    let unused = played.unused.iter().map(|at| {
        let note = Fault::placed(Some(*at), "/answers", "nothing asked for this answer");
        note.hint("remove it, or look whether it is written as the request is")
    });
    unused.collect()
}

fn judge_end(expect: &Expect, played: &Played, faults: &mut Vec<Fault>) {
    let Some(end) = &played.end else {
        return;
    };
    let mut word = |what: &str, wanted: Option<(&str, Position)>, actual: Option<&str>| {
        if let Some((wanted, at)) = wanted
            && actual != Some(wanted)
        {
            let actual =
                actual.map_or_else(|| "there is none".to_owned(), |actual| format!("it is `{actual}`"));
            faults.push(placed(at, what, format!("expected {what} `{wanted}`, but {actual}")));
        }
    };
    let error = end.error.as_ref();
    let class = error.map(class_of);
    word("status", expect.status.map(|(one, at)| (one.as_str(), at)), Some(end.status.as_str()));
    let scenario_status = expect.scenario_status.map(|(one, at)| (one.as_str(), at));
    word("scenarioStatus", scenario_status, Some(end.scenario_status.as_str()));
    word("step", expect.step.as_ref().map(|(one, at)| (one.as_str(), *at)), Some(&end.step));
    word("message", expect.message.as_ref().map(|(one, at)| (one.as_str(), *at)), end.message.as_deref());
    word("error", expect.error.as_ref().map(|(one, at)| (one.as_str(), *at)), class);
    if let Some((result, at)) = &expect.result {
        judge_value("result", result, end.result.as_ref().unwrap_or(&Value::Null), *at, faults);
    }
    if let Some((vars, at)) = &expect.vars {
        judge_value("vars", vars, &Value::Object(end.vars.clone()), *at, faults);
    }
    if let Some((duration, at)) = expect.duration.filter(|(duration, _)| *duration != end.duration) {
        let (wanted, actual) = (spelled_duration(duration), spelled_duration(end.duration));
        faults.push(placed(at, "duration", format!("expected duration `{wanted}`, but it is `{actual}`")));
    }
}

/// The class as tests name it.
fn class_of(error: &OrderError) -> &str {
    error.class_word()
}

fn judge_path(wanted: &[String], actual: &[String]) -> Option<String> {
    if wanted == actual {
        return None;
    }
    let same = wanted.iter().zip(actual).take_while(|(one, other)| one == other).count();
    let (wanted, actual) = (wanted.get(same), actual.get(same));
    let name = |state: Option<&String>| state.map_or("the end".to_owned(), |state| format!("`{state}`"));
    Some(format!("at place {} of the path, expected {}, but it is {}", same + 1, name(wanted), name(actual)))
}

fn judge_requests(wanted: &[ExpectedRequest], made: &[Made], at: Position, faults: &mut Vec<Fault>) {
    for (number, one) in wanted.iter().enumerate() {
        let Some(request) = made.get(number) else {
            let text = format!("expected request `{}`, but only {} were made", one.line.as_str(), made.len());
            faults.push(placed(one.at, "requests", text));
            return;
        };
        if !one.line.fits_url(&request.line) {
            let text = format!("expected request `{}`, but it is `{}`", one.line.as_str(), request.line);
            faults.push(placed(one.at, "requests", text));
            return;
        }
        for (name, value) in &one.headers {
            let found = request.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            if found.map(|(_, value)| value) != Some(value) {
                let found = found.map_or("there is none", |(_, value)| value);
                let text = format!("expected header `{name}: {value}`, but it is `{found}`");
                faults.push(placed(one.at, "requests", text));
            }
        }
        if let Some(body) = &one.body {
            judge_value("body", body, &request.body, one.at, faults);
        }
    }
    if let Some(next) = made.get(wanted.len()) {
        let text = format!("expected {} requests, but then came `{}`", wanted.len(), next.line);
        faults.push(placed(at, "requests", text));
    }
}

fn judge_answers(wanted: &[ExpectedAnswer], played: &Played, at: Position, faults: &mut Vec<Fault>) {
    let count = played.answers.len();
    if wanted.len() != count {
        let text = format!("expected {} answers to calls, but there were {count} calls", wanted.len());
        faults.push(placed(at, "answers", text));
    }
    for (one, actual) in wanted.iter().zip(&played.answers) {
        match actual {
            None => {
                let text = "the order ended before it answered this call".to_owned();
                faults.push(placed(one.at, "answers", text));
            }
            Some(Ok(actual)) if one.error.is_none() => {
                judge_value("answer", one.answer.as_ref().unwrap_or(&Value::Null), actual, one.at, faults);
            }
            Some(Err(error)) if one.error.as_deref() == Some(class_of(error)) => {}
            Some(actual) => {
                let wanted = one.error.as_deref().unwrap_or("an answer");
                let text = match actual {
                    Ok(answer) => format!("expected `{wanted}`, but the call was answered `{answer}`"),
                    Err(error) => format!("expected `{wanted}`, but the call failed: {}", error.message),
                };
                faults.push(placed(one.at, "answers", text));
            }
        }
    }
}

fn judge_value(what: &str, wanted: &Value, actual: &Value, at: Position, faults: &mut Vec<Fault>) {
    for (pointer, text) in differences(wanted, actual).into_iter().take(MAX_DIFFERENCES) {
        faults.push(placed(at, what, format!("{what}{pointer}: {text}")));
    }
}

/// Returns where `actual` lacks something of `wanted`: of maps only the wanted keys count, lists must have
/// the same length, numbers are equal by value.
pub(super) fn differences(wanted: &Value, actual: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    compare(wanted, actual, "", &mut found);
    found
}

fn compare(wanted: &Value, actual: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
    match (wanted, actual) {
        (Value::Object(wanted), Value::Object(actual)) => {
            for (key, value) in wanted {
                let pointer = pagurus_domain::document::pointer_to(pointer, key);
                compare(value, actual.get(key).unwrap_or(&Value::Null), &pointer, found);
            }
        }
        (Value::Array(wanted), Value::Array(actual)) if wanted.len() == actual.len() => {
            for (at, (wanted, actual)) in wanted.iter().zip(actual).enumerate() {
                compare(wanted, actual, &format!("{pointer}/{at}"), found);
            }
        }
        _ if wanted == actual || same_number(wanted, actual) => {}
        _ => found.push((pointer.to_owned(), format!("expected `{wanted}`, but it is `{actual}`"))),
    }
}

fn same_number(one: &Value, other: &Value) -> bool {
    one.as_f64().is_some() && one.as_f64() == other.as_f64()
}

fn placed(at: Position, pointer: &str, message: String) -> Fault {
    Fault::placed(Some(at), format!("/expect/{pointer}"), message)
}
