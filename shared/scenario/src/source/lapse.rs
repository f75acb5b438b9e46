//! Reads durations that may be expressions.

use std::time::Duration;

use pagurus_domain::document::parse_duration;

use super::reader::{ScenarioReader, Spot};
use super::template::literal_parts;
use crate::Lapse;
use crate::value::Template;

impl ScenarioReader<'_> {
    /// A duration above zero and at most `longest`, or an expression that says it when the order comes there.
    pub(super) fn lapse(&mut self, spot: &Spot<'_>, longest: Duration) -> Option<Lapse> {
        self.computed(spot).unwrap_or_else(|| self.duration(spot, longest).map(Lapse::Known))
    }

    /// The same; zero counts.
    pub(super) fn lapse_or_zero(&mut self, spot: &Spot<'_>, longest: Duration) -> Option<Lapse> {
        self.computed(spot).unwrap_or_else(|| self.duration_or_zero(spot, longest).map(Lapse::Known))
    }

    /// Reads a duration that is an expression; `None` if it is none.
    fn computed(&mut self, spot: &Spot<'_>) -> Option<Option<Lapse>> {
        spot.node.as_str().filter(|text| text.contains("${"))?;
        Some(duration_template(self, spot).map(Lapse::Computed))
    }
}

/// A text that may become a duration when its expressions have their values.
pub(super) fn duration_template(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = reader.text_template(spot)?;
    if let Template::Text(_) = &template
        && literal_is_no_duration(&template)
    {
        let fault = spot.fault("this is not a duration, whatever the expression yields");
        reader.push(fault.hint("write it like `${params.days}d`"));
        return None;
    }
    Some(template)
}

/// True if the text is no duration even where a number stands for each expression.
fn literal_is_no_duration(template: &Template) -> bool {
    let parts = literal_parts(template);
    let numbers: String = parts.iter().map(|part| part.unwrap_or("1")).collect();
    let durations: String = parts.iter().map(|part| part.unwrap_or("1s")).collect();
    parse_duration(&numbers).is_err() && parse_duration(&durations).is_err()
}
