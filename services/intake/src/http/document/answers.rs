//! Answers of an operation by status: those that it declares, and the problems that follow from what it asks.

use serde_json::{Map, Value, json};

use super::content::DeclaredAnswer;
use super::schemas::Schemas;

/// Facts about an operation from which its usual problems follow.
pub(super) struct UsualProblems {
    /// True if it needs a role.
    pub needs_role: bool,
    /// True if its path names a thing.
    pub names_thing: bool,
    /// True if it reads a body or a query.
    pub reads_input: bool,
}

impl UsualProblems {
    /// Statuses of the problems, each with the name of its description; `default` stands for all others.
    fn names(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [
            (self.needs_role, "401", "Unauthenticated"),
            (self.needs_role, "403", "Forbidden"),
            (self.names_thing, "404", "NotFound"),
            (self.reads_input, "422", "Invalid"),
            (true, "429", "Busy"),
            (true, "503", "Unavailable"),
            (true, "default", "Problem"),
        ]
        .into_iter()
        .filter_map(|(is_usual, status, name)| is_usual.then_some((status, name)))
    }
}

/// Describes the usual problems, by the names under which operations refer to them.
pub(super) fn of_problems(schemas: &mut Schemas) -> Value {
    let content = json!({"application/problem+json": {
        "schema": Schemas::of_answer::<pagurus_wire::Problem>(schemas),
    }});
    let of = |description: &str| json!({"description": description, "content": content});
    let later = |description: &str| {
        let mut answer = of(description);
        answer["headers"]["Retry-After"] = json!({
            "description": "Seconds to wait before the next try.", "schema": {"type": "integer", "minimum": 1},
        });
        answer
    };
    json!({
        "Unauthenticated": of("The request carries no valid credential."),
        "Forbidden": of("The role or the tenants of the sender do not permit it."),
        "NotFound": of("There is no such thing, or the sender does not see it."),
        "Invalid": of("The body or the query is not valid; `errors` lists the faults."),
        "Busy": later("Too much at once: try again after `Retry-After`."),
        "Unavailable": later("The database or the broker is not available: try again after `Retry-After`."),
        "Problem": of("Problem: what is wrong, and where."),
    })
}

/// Describes answers by status; one status may come in several media types.
pub(super) fn described(
    answers: &[DeclaredAnswer],
    problems: &UsualProblems,
    schemas: &mut Schemas,
) -> Value {
    let mut described = json!({});
    for (status, name) in problems.names() {
        described[status] = json!({"$ref": format!("#/components/responses/{name}")});
    }
    for (status, when, content) in answers {
        let answer = &mut described[status.to_string()];
        if answer.is_null() {
            *answer = json!({"description": when});
        }
        if let Some(Value::Object(content)) = content.map(|content| content.described(schemas)) {
            if answer["content"].is_null() {
                answer["content"] = Map::new().into();
            }
            if let Value::Object(contents) = &mut answer["content"] {
                contents.extend(content);
            }
        }
    }
    described
}
