//! Reads what concerns the scenario as a whole besides its states: `calls` and `mask`.

use pagurus_domain::document::form::{Form, Keys, key, list};

use super::action::{ACTION, actions_of};
use super::draft::{DraftCall, Named};
use super::reader::{ScenarioReader, Spot, quoted};
use super::state::call_name;
use crate::Mask;

/// Calls by their names.
pub(super) const CALLS: Form =
    Form::Map { names: "^[A-Za-z][A-Za-z0-9_.-]{0,63}$", of: &Form::Fields(&CALL), least: 0 };

/// Paths that are masked.
pub(super) const MASKED: Form =
    Form::List { of: &Form::Matching(r"^(params|body|headers)\."), least: 0, most: None };

static CALL: Keys = Keys::new(&[
    key("actions", list(&Form::Named(&ACTION)), "What runs; it must not suspend the order."),
    key("answer", Form::Something, "What the caller gets."),
]);

/// Reads the calls that are handled in every state (SCN-9).
pub(super) fn read_calls(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<DraftCall> {
    if spot.node.as_map().is_none() {
        let fault = spot.must_be("a mapping of names to what handles them");
        reader.push(fault.hint("write it like `calls: {balance: {actions: […], answer: {…}}}`"));
        return Vec::new();
    }
    let mut calls = Vec::new();
    for (mark, member) in spot.entries() {
        if !call_name(reader, &mark, &member.label) {
            continue;
        }
        let Some(fields) = reader.fields(&member, &CALL) else {
            continue;
        };
        let actions = fields.get("actions").map_or_else(Vec::new, |spot| actions_of(reader, spot));
        let answer = fields.get("answer").and_then(|spot| reader.template(spot));
        calls.push(DraftCall { name: Named { name: member.label.clone(), mark }, actions, answer });
    }
    calls
}

/// Reads the paths that are masked (SCN-15).
pub(super) fn read_mask(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Mask {
    const HINT: &str = "write it like `mask: [params.card.number, body.pin, headers.Authorization]`";
    let mut mask = Mask::default();
    if spot.node.as_list().is_none() {
        reader.push(spot.must_be("a list of paths").hint(HINT));
        return mask;
    }
    for item in spot.items() {
        if let Some(path) = reader.text(&item)
            && !mask.add(path)
        {
            let fault = item.fault(format!("{} is no path that can be masked", quoted(path)));
            reader.push(fault.hint(HINT));
        }
    }
    mask
}
