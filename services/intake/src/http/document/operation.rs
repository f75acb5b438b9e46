//! Description of a route beside its types: the role that it asks for, and what its handler reads and answers by itself.

use pagurus_domain::access::AccessRole;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::super::concern::Concern;
use super::super::identity::Needs;
use super::content::{BodyContent, DeclaredAnswer};
use super::schemas::Schemas;
use super::{answers, security};

/// Descriptions of path parameters, by name.
const IN_PATHS: &[(&str, &str)] = &[
    ("flow", "Name of the flow."),
    ("id", "Id of the order."),
    ("key", "Key of the caller."),
    ("message", "Id of the message."),
    ("name", "Name."),
    ("no", "Number."),
    ("role", "Role of the node."),
    ("request", "Id of the request, or name of it below an order."),
];

/// Description of a route beside its types. It is made with the role that the route asks for, so that none is without.
pub(in crate::http) struct Operation {
    pub(super) needs: Needs,
    /// Set where it does not follow from the path.
    pub(super) concern: Option<Concern>,
    summary: &'static str,
    more: Option<&'static str>,
    parameters: Vec<Value>,
    /// True if unknown parameters are ignored.
    is_lenient: bool,
    /// True if the answer is a page of a part of an order.
    pub(super) is_part: bool,
    pub(super) body: Vec<(BodyContent, bool)>,
    pub(super) answers: Vec<DeclaredAnswer>,
}

/// Makes the constructors of descriptions: a word for each role.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $needs:expr;)*) => {
        $($(#[$doc])* pub(in crate::http) fn $name(summary: &'static str) -> Operation {
            Operation::new($needs, summary)
        })*
    };
}

operations! {
    /// An operation for everybody.
    anyone = Needs::Nothing;
    /// An operation for people who see everything.
    viewer = Needs::Role(AccessRole::Viewer);
    /// An operation for people who act on orders, flows, systems and nodes.
    operator = Needs::Role(AccessRole::Operator);
    /// An operation for people who change scenarios and give access.
    admin = Needs::Role(AccessRole::Admin);
    /// An operation for senders of orders.
    client = Needs::Role(AccessRole::Client);
    /// An operation for called systems and actors.
    system = Needs::Role(AccessRole::System);
}

impl Operation {
    fn new(needs: Needs, summary: &'static str) -> Self {
        let (parameters, body, answers) = (Vec::new(), Vec::new(), Vec::new());
        let concern = None;
        Self {
            needs,
            concern,
            summary,
            more: None,
            parameters,
            is_lenient: false,
            is_part: false,
            body,
            answers,
        }
    }

    /// Declares that the handler shows everybody what is theirs, or has nothing that could be somebody's.
    pub(in crate::http) fn scoped(mut self) -> Self {
        self.concern = Some(Concern::Scoped);
        self
    }

    /// Adds a longer description.
    pub(in crate::http) fn more(mut self, more: &'static str) -> Self {
        self.more = Some(more);
        self
    }

    /// Adds a JSON body that the handler reads by itself.
    pub(in crate::http) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body.push((BodyContent::Json(Schemas::of_request::<T>), true));
        self
    }

    /// Adds an optional JSON body; no body means an empty object.
    pub(in crate::http) fn may_take<T: JsonSchema>(mut self) -> Self {
        self.body.push((BodyContent::Json(Schemas::of_request::<T>), false));
        self
    }

    /// Adds a body of another media type than JSON.
    pub(in crate::http) fn takes_text(mut self, kind: &'static str) -> Self {
        self.body.push((BodyContent::Text(kind), true));
        self
    }

    /// Adds an answer that the handler builds by itself.
    pub(in crate::http) fn gives<T: JsonSchema>(mut self, status: u16, when: &'static str) -> Self {
        self.answers.push((status, when, Some(BodyContent::Json(Schemas::of_answer::<T>))));
        self
    }

    /// Adds an answer of another media type than JSON.
    pub(in crate::http) fn gives_text(mut self, kind: &'static str, when: &'static str) -> Self {
        self.answers.push((200, when, Some(BodyContent::Text(kind))));
        self
    }

    /// Adds an answer that leads elsewhere.
    pub(in crate::http) fn leads(mut self, when: &'static str) -> Self {
        self.answers.push((303, when, None));
        self
    }

    /// Adds an answer without a body.
    pub(in crate::http) fn gives_nothing(mut self, when: &'static str) -> Self {
        self.answers.push((204, when, None));
        self
    }

    /// Adds a header that the handler reads.
    pub(in crate::http) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.parameters.push(json!({
            "name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"},
        }));
        self
    }

    /// Adds the header that makes a repeat of the request harmless.
    pub(in crate::http) fn key(self) -> Self {
        self.header(
            "Idempotency-Key",
            "Key of the client: the same request under the same key is carried out once.",
        )
    }

    /// Ignores unknown parameters: the address is called by systems that add their own.
    pub(in crate::http) fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Adds the fields of a query.
    pub(super) fn query(&mut self, fields: Vec<Value>) {
        self.parameters.extend(fields);
    }

    pub(super) fn has_query(&self) -> bool {
        self.is_lenient || self.parameters.iter().any(|parameter| parameter["in"] == "query")
    }

    pub(super) fn described(
        mut self,
        method: &str,
        path: &'static str,
        room: Option<&(&'static str, &'static str)>,
        schemas: &mut Schemas,
    ) -> Value {
        let mut parameters: Vec<Value> = names_in(path)
            .map(|name| {
                let text = IN_PATHS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
                json!({"name": name, "in": "path", "required": true, "description": text.unwrap_or(name),
                    "schema": {"type": "string"}})
            })
            .collect();
        parameters.append(&mut self.parameters);
        let problems = answers::UsualProblems {
            needs_role: self.needs != Needs::Nothing,
            names_thing: names_in(path).next().is_some(),
            reads_input: !self.body.is_empty() || parameters.iter().any(|one| one["in"] == "query"),
        };
        let mut described = json!({
            "operationId": operation_id(method, path),
            "summary": self.summary,
            "x-role": self.needs.as_str(),
            "x-scope": self.concern.unwrap_or_default().as_str(),
            "tags": room.map(|(name, _)| *name).into_iter().collect::<Vec<_>>(),
            "security": security::of(self.needs, method),
            "parameters": parameters,
            "responses": answers::described(&self.answers, &problems, schemas),
        });
        if self.is_part {
            described["responses"]["200"]["headers"]["Link"] = json!({
                "description": "Address of the next page, relative to that of this one, with `rel=\"next\"` (RFC 8288); \
                    absent on the last page.",
                "schema": {"type": "string"},
            });
        }
        if let Some(more) = self.more {
            described["description"] = more.into();
        }
        if !self.body.is_empty() {
            let mut contents = Map::new();
            for (content, _) in &self.body {
                if let Value::Object(content) = content.described(schemas) {
                    contents.extend(content);
                }
            }
            let required = self.body.iter().any(|(_, required)| *required);
            described["requestBody"] = json!({"required": required, "content": contents});
        }
        described
    }
}

/// Names of the parameters of a path.
pub(super) fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Method and words of the path, as one word: `postOrdersIdCancel`.
pub(super) fn operation_id(method: &str, path: &str) -> String {
    let words = path.split(['/', '{', '}', '.', '-']).filter(|word| !matches!(*word, "" | "v1"));
    words.fold(method.to_owned(), |id, word| {
        let (first, rest) = word.split_at(1);
        id + &first.to_ascii_uppercase() + rest
    })
}
