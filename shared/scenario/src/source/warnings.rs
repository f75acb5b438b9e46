//! Warnings: what a scenario may say, and hardly means. A warning refuses nothing: the same scenario runs.
//!
//! While a file is read, its reader notes the names that expressions and scripts use, with their places, and what gives
//! values to them. At the end the two are held against each other.

mod answers;
mod rules;

use pagurus_domain::document::{Fault, nearest};
use serde_json::Value;

use super::draft::{Mark, Named};
use super::noted::Noted;
use super::reader::{Fields, ScenarioReader, Spot, quoted, with_nearest};
use crate::script::ScriptNames;
use crate::value::{Expression, Template};
use crate::{Action, Scenario, ScenarioKind};

/// Warnings of one file that are reported.
const MAX_WARNINGS: usize = 100;

/// Keywords of JSON Schema 2020-12, and those of older drafts that still have a meaning.
const KEYWORDS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];

/// Keywords beside which the named properties are not all that there may be.
const OPEN: &[&str] = &[
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
    "unevaluatedProperties",
];

impl Noted {
    /// All warnings about a scenario, in the order of the file. One that releases its queue may hold it no more where it
    /// matters.
    pub(super) fn into_warnings(mut self, scenario: &Scenario) -> Vec<Fault> {
        let (schema, releases) = (scenario.params_schema.as_ref(), scenario.releases());
        let mut found = self.of_rules(scenario);
        found.extend(self.of_answers(scenario));
        found.extend(self.of_children(scenario));
        let mentions = std::mem::take(&mut self.mentions);
        let unknown = mentions.iter().filter_map(|(path, mark)| self.unknown(path, mark, schema));
        found.extend(unknown.take(MAX_WARNINGS));
        let mut warnings = self.warnings;
        warnings.extend(found);
        warnings.extend(self.held.into_iter().filter(|_| !releases));
        warnings.sort_by_key(|warning| warning.at);
        warnings.dedup();
        warnings.truncate(MAX_WARNINGS);
        warnings
    }

    /// The warnings of children that an `each` starts to be awaited, in a workflow that awaits nothing.
    fn of_children(&self, scenario: &Scenario) -> Vec<Fault> {
        let waits = scenario.actions().any(|action| matches!(action, Action::Wait { .. }));
        if waits || scenario.kind == ScenarioKind::Operation {
            return Vec::new();
        }
        let warning = |mark: &Mark| {
            let warning = mark
                .fault("`wait: true` has no effect: an order inside `each` is awaited by a `wait` behind it");
            warning.hint("add `- wait` behind the `each`, or leave `wait` out")
        };
        self.awaited_children.iter().map(warning).collect()
    }

    /// The warning that nothing gives a value to a path.
    fn unknown(&self, path: &[String], mark: &Mark, schema: Option<&Value>) -> Option<Fault> {
        let name = path.get(1)?;
        let (message, known) = match path[0].as_str() {
            "callbacks" => (format!("no request is called {}", quoted(name)), &self.requests),
            "responses" => (format!("no call is called {}", quoted(name)), &self.answers),
            "vars" if !self.any_variable => {
                (format!("nothing sets the variable {}", quoted(name)), &self.variables)
            }
            "params" => return missing_parameter(path, mark, schema?),
            _ => return None,
        };
        let fault = || with_nearest(mark.fault(message), name, known.iter().map(String::as_str));
        (!known.contains(name)).then(fault)
    }
}

fn missing_parameter(path: &[String], mark: &Mark, schema: &Value) -> Option<Fault> {
    let mut schema = schema.as_object()?;
    for name in &path[1..] {
        let properties = schema.get("properties")?.as_object()?;
        let others = schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
        if others || OPEN.iter().any(|keyword| schema.contains_key(*keyword)) {
            return None;
        }
        let Some(found) = properties.get(name) else {
            // Who requires a parameter knows it, whether or not it is described.
            let required = schema.get("required").and_then(Value::as_array);
            if required.is_some_and(|required| required.iter().any(|one| one == name)) {
                return None;
            }
            let fault = mark.fault(format!("the schema of the parameters has no {}", quoted(name)));
            let near = nearest(name, properties.keys().map(String::as_str));
            return Some(match near {
                Some(near) => fault.hint(format!("did you mean `{near}`?")),
                None => fault.hint("add it under `properties`, or take what is there"),
            });
        };
        schema = found.as_object()?;
    }
    None
}

impl ScenarioReader<'_> {
    /// Notes what the expressions of a template name.
    pub(super) fn note_template(&mut self, spot: &Spot<'_>, text: &str, template: &Template) {
        let Some(noted) = self.noted.as_mut() else { return };
        if text.find("{{").is_some_and(|at| text[at..].contains("}}")) {
            let warning = spot.fault("`{{…}}` has no meaning here and stays as it is");
            noted.warnings.push(warning.hint("write `${…}` for a value"));
        }
        template.each_expression(&mut |expression| match expression {
            Expression::Path(path) => self.note_path(spot, text, path.clone()),
            Expression::Code(code) => self.note_names(spot, text, code.names()),
            Expression::Secret(_) => {}
        });
    }

    /// Notes what a script names and sets.
    pub(super) fn note_names(&mut self, spot: &Spot<'_>, text: &str, names: ScriptNames) {
        let Some(noted) = self.noted.as_mut() else { return };
        noted.variables.extend(names.sets);
        noted.any_variable |= names.sets_any;
        names.paths.into_iter().for_each(|path| self.note_path(spot, text, path));
    }

    fn note_path(&mut self, spot: &Spot<'_>, text: &str, path: Vec<String>) {
        let wanted = path.join(".");
        let at = text.find(&wanted).unwrap_or(0);
        let line = text[..at].matches('\n').count();
        let column = text[..at].rsplit('\n').next().unwrap_or_default().chars().count();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        let mark = Mark {
            at: self.place(spot, text, number(line), number(column)),
            pointer: spot.mark.pointer.clone(),
        };
        if let Some(noted) = self.noted.as_mut() {
            noted.mentions.push((path, mark));
        }
    }

    /// Notes what an action does to the last answer.
    pub(super) fn note_action(&mut self, spot: &Spot<'_>, word: &str) {
        if let Some(noted) = self.noted.as_mut() {
            noted.action(word, &spot.mark.pointer);
        }
    }

    /// Notes a warning.
    pub(super) fn warn(&mut self, warning: Fault) {
        if let Some(noted) = self.noted.as_mut() {
            noted.warnings.push(warning);
        }
    }

    /// Warns of a request whose answer nobody can give, because what is sent does not tell where to.
    pub(super) fn warn_unanswered_request(&mut self, request: &Named) {
        let Some(noted) = self.noted.as_mut() else { return };
        let warning = request.mark.fault(format!(
            "nothing that is sent says where to answer the request {}",
            quoted(&request.name)
        ));
        noted.warnings.push(
            warning.hint("send `${request.url}`, or `${request.id}` to a system that answers over AMQP"),
        );
    }

    /// Warns of keywords of a schema that JSON Schema does not have, and that would check nothing.
    pub(super) fn warn_keyword(&mut self, mark: &Mark, keyword: &str) {
        let Some(noted) = self.noted.as_mut() else { return };
        if KEYWORDS.contains(&keyword) || keyword.starts_with("x-") {
            return;
        }
        let warning =
            mark.fault(format!("JSON Schema has no keyword {}: it checks nothing", quoted(keyword)));
        let near = nearest(keyword, KEYWORDS.iter().copied());
        noted.warnings.push(match near {
            Some(near) => warning.hint(format!("did you mean `{near}`?")),
            None => warning.hint("remove it, or start its name with `x-` if it is a note of your own"),
        });
    }

    /// Warns of what makes a child wait for the order that awaits it: the engine refuses such a child.
    pub(super) fn warn_of_waits_for_itself(&mut self, fields: &Fields<'_>, set: &[(String, Template)]) {
        let Some(noted) = self.noted.as_mut() else { return };
        let template = |name: &str| set.iter().find(|(field, _)| field == name).map(|(_, template)| template);
        let is = |template: &Template, fact: &str| {
            template.plain_path().is_some_and(|path| *path == ["order", fact])
        };
        if let (Some(spot), Some(queue)) = (fields.get("queue"), template("queue"))
            && is(queue, "queue")
        {
            let warning = spot.fault(
                "the child would wait in the queue behind this order, which waits for the child: it will be refused",
            );
            noted.held_queue(
                warning.hint("start it `parallel`, `release` the queue first, or do not wait for it"),
            );
        }
        let after = template("lifecycle").and_then(|lifecycle| lifecycle.member("after"));
        if let (Some(spot), Some(Template::List(after))) = (fields.get("lifecycle"), after)
            && after.iter().filter_map(|one| one.member("order")).any(|order| is(order, "id"))
        {
            let warning =
                spot.fault("the child and this order would wait for each other: the child will be refused");
            self.warn(warning.hint("remove the order from `after`, or do not wait for the child"));
        }
    }
}

#[cfg(test)]
mod tests;
