//! Attributes by which the orders of a scenario are found.

use pagurus_domain::attributes::{MOST_ATTRIBUTES, SearchAttribute};
use pagurus_domain::document::form::Form;

use super::reader::{IDENTIFIER, ScenarioReader, Spot, quoted};
use crate::mask::Mask;

/// Names for the paths of parameters.
pub(super) const ATTRIBUTES: Form =
    Form::Map { names: IDENTIFIER, of: &Form::Matching(r"^params(\.[^.]+)+$"), least: 0 };

const HINT: &str = "write it like `search: {customer: params.customer.id}`";

/// Reads names with the paths of parameters. What the scenario masks cannot be found by its value.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, mask: &Mask) -> Vec<SearchAttribute> {
    if spot.node.as_map().is_none() {
        reader.push(spot.must_be("a mapping of names to paths").hint(HINT));
        return Vec::new();
    }
    let mut attributes = Vec::new();
    for (mark, member) in spot.entries() {
        let is_name = reader.identifier(&mark, "an attribute", &member.label);
        let Some(text) = reader.text(&member) else { continue };
        let path = text.strip_prefix("params.").filter(|path| path.split('.').all(|part| !part.is_empty()));
        match path {
            None => {
                let message = format!("{} is not a path of a parameter", quoted(text));
                reader.push(member.fault(message).hint(HINT));
            }
            Some(path) if mask.hides_param(path) => {
                let message = format!("{} is masked, so no order can be found by it", quoted(text));
                reader.push(member.fault(message));
            }
            Some(path) if is_name => {
                attributes.push(SearchAttribute { name: member.label.clone(), path: path.to_owned() });
            }
            Some(_) => {}
        }
    }
    if attributes.len() > MOST_ATTRIBUTES {
        reader.push(spot.fault(format!("a scenario has {MOST_ATTRIBUTES} attributes at most")));
    }
    attributes
}
