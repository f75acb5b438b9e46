//! Reads `cancel`: the call by which the request of an action is given up.

use super::super::reader::{Fields, ScenarioReader};
use super::keys::{CANCEL, CANCELING};
use super::read_parts;
use crate::HttpAction;

/// Reads `cancel: {http: …}`.
pub(in super::super) fn read(
    reader: &mut ScenarioReader<'_>,
    fields: &Fields<'_>,
) -> Option<Box<HttpAction>> {
    let (mark, spot) = fields.entry("cancel")?;
    if fields.get("request").is_none() {
        let fault = mark.fault("`cancel` says nothing without `request`");
        reader.push(fault.hint("add `request: NAME`, or remove it"));
    }
    let inner = reader.fields(spot, &CANCEL)?;
    let call = reader.required(spot, &inner, "http", "http: {method: DELETE, url: …}")?;
    read_parts(reader, call, &CANCELING).0.map(Box::new)
}
