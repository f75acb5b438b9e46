//! Values of the file as templates: every `${…}` is compiled, and its faults get their place in
//! the file. Must never evaluate anything.

use pagurus_domain::document::Value;

use super::draft::Mark;
use super::reader::{ScenarioReader, Spot, quoted};
use crate::value::{Expression, Piece, Template};

impl ScenarioReader<'_> {
    /// Reads any value, with `${…}` in its texts.
    ///
    /// Recursion is bounded by the depth that the document reader allows.
    pub(super) fn template(&mut self, spot: &Spot<'_>) -> Option<Template> {
        match &spot.node.value {
            Value::String(text) => self.text_of_template(spot, text),
            Value::List(_) => {
                // Collected in two steps, so that the faults of every item are found.
                let read: Vec<_> = spot.items().map(|item| self.template(&item)).collect();
                let items: Vec<Template> = read.into_iter().collect::<Option<_>>()?;
                Some(if items.iter().all(is_constant) {
                    Template::Constant(items.into_iter().map(json).collect())
                } else {
                    Template::List(items)
                })
            }
            Value::Map(_) => self.map_template(spot),
            _ => Some(Template::Constant(spot.node.to_json())),
        }
    }

    fn map_template(&mut self, spot: &Spot<'_>) -> Option<Template> {
        let mut read = Vec::new();
        for (mark, member) in spot.entries() {
            self.plain_key(&mark, &member.label);
            let value = self.template(&member);
            read.push(value.map(|value| (member.label, value)));
        }
        let members: Vec<(String, Template)> = read.into_iter().collect::<Option<_>>()?;
        Some(if members.iter().all(|(_, value)| is_constant(value)) {
            let values = members.into_iter().map(|(name, value)| (name, json(value)));
            Template::Constant(serde_json::Value::Object(values.collect()))
        } else {
            Template::Map(members)
        })
    }

    /// Reads a text, a number, or `true` and `false`.
    pub(super) fn scalar_template(&mut self, spot: &Spot<'_>) -> Option<Template> {
        if matches!(spot.node.value, Value::List(_) | Value::Map(_) | Value::Null) {
            self.push(spot.must_be("a text or a number"));
            return None;
        }
        self.template(spot)
    }

    /// Reads a text.
    pub(super) fn text_template(&mut self, spot: &Spot<'_>) -> Option<Template> {
        let text = self.text(spot)?;
        self.text_of_template(spot, text)
    }

    /// Reads a mapping of names to texts and numbers, such as header fields.
    pub(super) fn named_templates(&mut self, spot: &Spot<'_>) -> Option<Vec<NamedTemplate>> {
        if spot.node.as_map().is_none() {
            self.push(spot.must_be("a mapping"));
            return None;
        }
        let mut read = Vec::new();
        for (mark, member) in spot.entries() {
            self.plain_key(&mark, &member.label);
            if let Some(template) = self.scalar_template(&member) {
                read.push((mark, member.label, template));
            }
        }
        Some(read)
    }

    fn plain_key(&mut self, mark: &Mark, key: &str) {
        if key.contains("${") {
            let fault = mark.fault(format!("the key {} is not evaluated", quoted(key)));
            self.push(fault.hint("build the mapping in a `script`, and write `${vars.NAME}`"));
        }
    }

    fn text_of_template(&mut self, spot: &Spot<'_>, text: &str) -> Option<Template> {
        let secret = names_a_secret(text);
        if secret && !self.is_sent {
            let fault = spot.fault("a secret is not allowed here");
            self.push(fault.hint("name it only in what an `http` or `amqp` action sends"));
            return None;
        }
        match Template::compile_with(text, self.scripting, &self.locals) {
            Ok(mut template) => {
                if !is_constant(&template) {
                    template.place(&self.places_of(spot, text).into(), 0);
                }
                self.note_template(spot, text, &template);
                Some(template)
            }
            Err(_) if secret => {
                let fault = spot.fault("a secret must stand alone between the braces");
                self.push(
                    fault.hint("write `${secret.NAME}`, with letters, digits, `_` and `-` in its name"),
                );
                None
            }
            Err(errors) => {
                self.code_faults(spot, text, errors);
                None
            }
        }
    }
}

/// An entry of a mapping of templates: the place of its key, the key, the value.
pub(super) type NamedTemplate = (Mark, String, Template);

/// Removes the places, which the model does not keep.
pub(super) fn without_marks(templates: Vec<NamedTemplate>) -> Vec<(String, Template)> {
    let templates = templates.into_iter();
    templates.map(|(_, name, value)| (name, value)).collect()
}

/// True if the template has a plain path into `request`, such as `${request.url}`.
pub(super) fn names_request(template: &Template) -> bool {
    let mut found = false;
    template.each_expression(&mut |expression| {
        found |= matches!(expression, Expression::Path(path) if path[0] == "request");
    });
    found
}

/// The parts of a text that stand as they are; `None` stands for an expression.
pub(super) fn literal_parts(template: &Template) -> Vec<Option<&str>> {
    match template {
        Template::Constant(serde_json::Value::String(text)) => vec![Some(text)],
        Template::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                Piece::Expression(_) => None,
            })
            .collect(),
        _ => vec![None],
    }
}

/// True if the value is known before the scenario runs.
pub(super) fn is_constant(template: &Template) -> bool {
    matches!(template, Template::Constant(_))
}

/// The value of a constant; null for anything else.
fn json(template: Template) -> serde_json::Value {
    match template {
        Template::Constant(value) => value,
        _ => serde_json::Value::Null,
    }
}

fn names_a_secret(text: &str) -> bool {
    text.match_indices("${").any(|(at, _)| {
        let inside = text[at + 2..].trim_start();
        !text[..at].ends_with('$')
            && inside
                .strip_prefix("secret")
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}
