//! `sequential`: reads the queue that a scenario gives its orders (SCN-21).

use super::reader::{ScenarioReader, Spot, quoted};
use crate::mask::Mask;
use crate::sequential::{QueuePiece, QueueTemplate};
use crate::value::{Expression, Piece, Template};

const HINT: &str = "write it like `sequential: \"${params.msisdn}\"`, or `\"sim-${params.sim.no}\"`";

/// Reads a text with paths of parameters in it. What the scenario masks names no queue, because queues are shown.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, mask: &Mask) -> Option<QueueTemplate> {
    let template = reader.text_template(spot)?;
    let Some(pieces) = pieces(&template) else {
        let message = format!("{} uses more than parameters", quoted(reader.text(spot)?));
        reader.push(spot.fault(message).hint(HINT));
        return None;
    };
    let queue = QueueTemplate::new(pieces);
    if let Some(path) = queue.params().find(|path| mask.hides_param(path)) {
        let message = format!("`params.{path}` is masked, but the names of queues are visible to everybody");
        reader.push(spot.fault(message).hint("name the queue by another parameter"));
        return None;
    }
    Some(queue)
}

/// The pieces of a template that reads parameters only, by plain paths; none of any other.
fn pieces(template: &Template) -> Option<Vec<QueuePiece>> {
    match template {
        Template::Constant(value) => {
            value.as_str().filter(|text| !text.is_empty()).map(|text| vec![QueuePiece::Text(text.to_owned())])
        }
        Template::Expression(placed) => param(&placed.expression).map(|piece| vec![piece]),
        Template::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(QueuePiece::Text(text.clone())),
                Piece::Expression(placed) => param(&placed.expression),
            })
            .collect(),
        Template::List(_) | Template::Map(_) => None,
    }
}

fn param(expression: &Expression) -> Option<QueuePiece> {
    match expression {
        Expression::Path(path) => match path.split_first() {
            Some((root, rest)) if root == "params" && !rest.is_empty() => {
                Some(QueuePiece::Param(rest.to_vec()))
            }
            _ => None,
        },
        Expression::Secret(_) | Expression::Code(_) => None,
    }
}
