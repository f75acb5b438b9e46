//! Reads what a test expects.

use pagurus_domain::document::Position;
use pagurus_domain::order::{ScenarioStatus, Status};

use super::super::{Expect, ExpectedAnswer, ExpectedRequest, TextMask};
use super::keys::{ANSWERED, EXPECT, REQUEST};
use super::reader::{TrialField, TrialReader};
use super::value;

/// Reads the expectations about the order.
pub(super) fn read(reader: &mut TrialReader, spot: &TrialField<'_>) -> Expect {
    let fields = reader.fields(spot, &EXPECT);
    if spot.node.as_map().is_some_and(<[_]>::is_empty) {
        let fault = spot.fault("a test that expects nothing cannot fail");
        reader.push(fault.hint("write `status: success`, at least"));
    }
    let ends = Status::ALL.iter().filter(|status| matches!(status, Status::Success | Status::Fail));
    let statuses: Vec<(&str, Status)> = ends.map(|one| (one.as_str(), *one)).collect();
    let scenario_statuses: Vec<(&str, ScenarioStatus)> =
        [ScenarioStatus::Target, ScenarioStatus::Failed].map(|one| (one.as_str(), one)).to_vec();
    let at = |field: &TrialField<'_>| field.node.at;
    let mut text = |key| {
        let field = fields.get(key)?;
        Some((reader.text(field)?.to_owned(), at(field)))
    };
    let (step, message, error) = (text("step"), text("message"), text("error"));
    let json = |key| fields.get(key).map(|field| (value(field.node), at(field)));
    let status = fields.get("status");
    let scenario_status = fields.get("scenarioStatus");
    Expect {
        status: status.and_then(|field| Some((reader.word(field, &statuses)?, at(field)))),
        scenario_status: scenario_status
            .and_then(|field| Some((reader.word(field, &scenario_statuses)?, at(field)))),
        step,
        result: json("result"),
        message,
        error,
        vars: json("vars"),
        log: fields.get("log").map_or_else(Vec::new, |field| texts(reader, field)),
        path: fields.get("path").map(|field| {
            let path = texts(reader, field).into_iter().map(|(name, _)| name);
            (path.collect(), at(field))
        }),
        requests: fields.get("requests").map(|field| {
            let items = reader.items(field);
            let wanted = items.iter().filter_map(|item| wanted(reader, item));
            (wanted.collect(), at(field))
        }),
        answers: fields.get("answers").map(|field| {
            let items = reader.items(field);
            (items.iter().map(|item| answered(reader, item)).collect(), at(field))
        }),
        duration: fields.get("duration").and_then(|field| Some((reader.duration(field)?, at(field)))),
    }
}

fn texts(reader: &mut TrialReader, field: &TrialField<'_>) -> Vec<(String, Position)> {
    let items = reader.items(field);
    items.iter().filter_map(|item| Some((reader.text(item)?.to_owned(), item.node.at))).collect()
}

/// A line like `POST http://…`, or a mapping with `request` for the line.
fn wanted(reader: &mut TrialReader, item: &TrialField<'_>) -> Option<ExpectedRequest> {
    let at = item.node.at;
    if let Some(line) = item.node.as_str() {
        return Some(ExpectedRequest { at, line: TextMask::new(line), headers: Vec::new(), body: None });
    }
    let fields = reader.fields(item, &REQUEST);
    let line = reader.required(item, &fields, "request", "request: POST http://billing/payments")?;
    let line = TextMask::new(reader.text(line)?);
    let headers = fields.get("headers").map_or_else(Vec::new, |field| reader.texts(field));
    let body = fields.get("body").map(|field| value(field.node));
    Some(ExpectedRequest { at, line, headers, body })
}

/// Reads the answer that the caller of a call gets: `answer: …`, or `error: CLASS`.
fn answered(reader: &mut TrialReader, item: &TrialField<'_>) -> ExpectedAnswer {
    let fields = reader.fields(item, &ANSWERED);
    let error = fields.get("error").and_then(|field| reader.text(field)).map(str::to_owned);
    let answer = fields.get("answer").map(|field| value(field.node));
    if answer.is_some() == error.is_some() && item.node.as_map().is_some() {
        let fault = item.fault("a call is answered or fails");
        reader.push(fault.hint("write one of `answer: …` and `error: CLASS`"));
    }
    ExpectedAnswer { at: item.node.at, answer, error }
}
