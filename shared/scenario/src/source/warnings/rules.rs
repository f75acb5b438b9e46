//! Warnings of rules that a scenario brings along, and that hardly mean what they say. Rules of the deployment and scripts
//! give classes, too, so that only names are warned of that are nearly spelled as a known one.

use pagurus_domain::document::Fault;
use pagurus_domain::retry::UnknownName;

use super::super::noted::Noted;
use super::super::reader::quoted;
use super::super::template::literal_parts;
use crate::value::Template;
use crate::{Action, Scenario};

impl Noted {
    /// The warnings of classes and paths in the rules of a scenario.
    pub(super) fn of_rules(&self, scenario: &Scenario) -> Vec<Fault> {
        let Some(mark) = &self.errors else { return Vec::new() };
        let classes =
            scenario.errors.unknown_classes().filter_map(|UnknownName { within, name, nearest }| {
                let (policy, class) = (quoted(within), quoted(name));
                let warning =
                    mark.fault(format!("the policy {policy} is for class {class}, which no rule here gives"));
                Some(warning.hint(format!("did you mean `{}`?", nearest?)))
            });
        let called: Option<Vec<Vec<String>>> = scenario.urls().map(parts_of_path).collect();
        // A path that only an order knows may have any part.
        let called = called.unwrap_or_default().concat();
        let paths =
            scenario.errors.unknown_paths(&called).filter_map(|UnknownName { within, name, nearest }| {
                let (rule, part) = (quoted(within), quoted(name));
                let warning =
                    mark.fault(format!("the rule {rule} is for paths with {part}, which no action calls"));
                Some(warning.hint(format!("did you mean `{}`?", nearest?)))
            });
        classes.chain(paths).collect()
    }
}

impl Scenario {
    fn urls(&self) -> impl Iterator<Item = &Template> {
        self.actions().flat_map(|action| match action {
            Action::Http(http) => vec![&http.url],
            Action::Parallel(steps) => steps.iter().map(|step| &step.url).collect(),
            _ => Vec::new(),
        })
    }
}

/// The parts of the path of a URL that are known before it is called; `None` if none is.
fn parts_of_path(url: &Template) -> Option<Vec<String>> {
    let parts = literal_parts(url);
    let text: String = parts.iter().map(|part| part.unwrap_or("*")).collect();
    let path = match text.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map(|(_, path)| path.to_owned()),
        None => Some(text),
    };
    let path = path.unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let known = path.split('/').filter(|part| !part.is_empty() && !part.contains('*'));
    let known: Vec<String> = known.map(str::to_owned).collect();
    (!known.is_empty()).then_some(known)
}
