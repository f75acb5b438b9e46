//! The table of routes: each is declared once, with its handler and a sentence, and from that come both the router and the
//! OpenAPI document. What a route reads and answers is taken from the types of its handler.
//!
//! To add one: write the handler, and a line in `routes` of its module, with the role that it asks for:
//! `.get("/v1/things", list, viewer("Things by name."))`. A query
//! is a [`super::query::Query`] of a struct that derives `JsonSchema`, an answer a `Json` of one. Where a handler reads its
//! body by itself, say so with [`Operation::takes`]; where it builds its answer by itself, with [`Operation::gives`]. Then
//! write `docs/openapi.json` again (`UPDATE_GENERATED=1 ./dev test -E 'binary(architecture)'`): the fuzzer reads its routes
//! there.

mod answers;
mod describe;
mod page;
mod schemas;
mod security;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use pagurus_domain::access::AccessRole;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use self::describe::Described;
pub(super) use self::page::page;
pub(super) use self::schemas::Schemas;
use super::concern::Concern;
use super::identity::{Needs, RouteRule, authorize};
use super::query::refuse_any;
use crate::Intake;

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

/// Routes, and the description of each.
pub(super) struct Table {
    router: Router<Intake>,
    paths: BTreeMap<&'static str, Map<String, Value>>,
    schemas: Schemas,
    rooms: Vec<(&'static str, &'static str)>,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { router: Router::new(), paths: BTreeMap::new(), schemas: Schemas::new(), rooms: Vec::new() }
    }

    /// Starts a group, to which the routes that follow belong.
    pub(super) fn of(mut self, group: &'static str, description: &'static str) -> Self {
        self.rooms.push((group, description));
        self
    }

    pub(super) fn get<H, T>(self, path: &'static str, handler: H, operation: Operation) -> Self
    where
        H: Handler<T, Intake> + Described<T>,
        T: 'static,
    {
        self.add::<H, T>("get", path, get(handler), operation)
    }

    pub(super) fn post<H, T>(self, path: &'static str, handler: H, operation: Operation) -> Self
    where
        H: Handler<T, Intake> + Described<T>,
        T: 'static,
    {
        self.add::<H, T>("post", path, post(handler), operation)
    }

    pub(super) fn put<H, T>(self, path: &'static str, handler: H, operation: Operation) -> Self
    where
        H: Handler<T, Intake> + Described<T>,
        T: 'static,
    {
        self.add::<H, T>("put", path, put(handler), operation)
    }

    pub(super) fn patch<H, T>(self, path: &'static str, handler: H, operation: Operation) -> Self
    where
        H: Handler<T, Intake> + Described<T>,
        T: 'static,
    {
        self.add::<H, T>("patch", path, patch(handler), operation)
    }

    pub(super) fn delete<H, T>(self, path: &'static str, handler: H, operation: Operation) -> Self
    where
        H: Handler<T, Intake> + Described<T>,
        T: 'static,
    {
        self.add::<H, T>("delete", path, delete(handler), operation)
    }

    /// Adds a handler of a path that the document describes under a path with a parameter: there may be a thing whose name is
    /// the last word of this path. It asks for the same role, and concerns the thing of that name.
    pub(super) fn also(
        mut self,
        path: &'static str,
        described_as: &'static str,
        role: AccessRole,
        handler: MethodRouter<Intake>,
    ) -> Self {
        let rule = RouteRule {
            needs: Needs::Role(role),
            concern: Concern::of(described_as, None),
            path: described_as,
            name: path.rsplit('/').next(),
        };
        self.router = self.router.route(path, admitting(rule, handler));
        self
    }

    fn add<H: Described<T>, T>(
        mut self,
        method: &'static str,
        path: &'static str,
        handler: MethodRouter<Intake>,
        mut operation: Operation,
    ) -> Self {
        H::describe(&mut operation, &mut self.schemas);
        let has_query = operation.has_query();
        let handler = if has_query { handler } else { handler.route_layer(from_fn(refuse_any)) };
        operation.concern = Some(Concern::of(path, operation.concern));
        let rule = RouteRule {
            needs: operation.needs,
            concern: operation.concern.unwrap_or_default(),
            path,
            name: None,
        };
        let handler = admitting(rule, handler);
        let described = operation.described(method, path, self.rooms.last(), &mut self.schemas);
        self.paths.entry(path).or_default().insert(method.to_owned(), described);
        self.router = self.router.route(path, handler);
        self
    }

    /// The router, and the document of it.
    pub(super) fn finish(mut self) -> (Router<Intake>, Value) {
        let groups: Vec<Value> =
            self.rooms.iter().map(|(name, text)| json!({"name": name, "description": text})).collect();
        let problems = answers::of_problems(&mut self.schemas);
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Pagurus",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Durable order orchestration: register orders, watch them, and act on them. Lists answer with \
                    `items` and `next`; a client that gives `next` as `cursor` gets the next page. A part of an order is an array, \
                    and the header `Link` names its next page. Whatever is refused is answered with \
                    a problem (RFC 9457), whose `type` has a page of its own under `docs/errors`.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            "tags": groups,
            "paths": self.paths,
            "components": {
                "schemas": self.schemas.finish(), "responses": problems, "securitySchemes": security::schemes(),
            },
        });
        (self.router, document)
    }
}

/// The handler, behind the question whether the sender may.
fn admitting(rule: RouteRule, handler: MethodRouter<Intake>) -> MethodRouter<Intake> {
    handler.route_layer(from_fn(move |request, next| authorize(rule, request, next)))
}

/// Constructor of a schema, called once it is known where its parts go.
type Schema = fn(&mut Schemas) -> Value;

/// Text of a media type, or JSON of a schema.
#[derive(Clone, Copy)]
enum BodyContent {
    Json(Schema),
    Text(&'static str),
}

impl BodyContent {
    fn described(self, schemas: &mut Schemas) -> Value {
        match self {
            Self::Json(schema) => json!({"application/json": {"schema": schema(schemas)}}),
            Self::Text(kind) => json!({kind: {"schema": {"type": "string"}}}),
        }
    }
}

/// Status of an answer, when it comes, and its body.
type DeclaredAnswer = (u16, &'static str, Option<BodyContent>);

/// Description of a route beside its types. It is made with the role that the route asks for, so that none is without.
pub(super) struct Operation {
    needs: Needs,
    /// Set where it does not follow from the path.
    concern: Option<Concern>,
    summary: &'static str,
    more: Option<&'static str>,
    parameters: Vec<Value>,
    /// True if unknown parameters are ignored.
    is_lenient: bool,
    /// True if the answer is a page of a part of an order.
    is_part: bool,
    body: Vec<(BodyContent, bool)>,
    answers: Vec<DeclaredAnswer>,
}

/// Makes the constructors of descriptions: a word for each role.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $needs:expr;)*) => {
        $($(#[$doc])* pub(super) fn $name(summary: &'static str) -> Operation {
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
    pub(super) fn scoped(mut self) -> Self {
        self.concern = Some(Concern::Scoped);
        self
    }

    /// Adds a longer description.
    pub(super) fn more(mut self, more: &'static str) -> Self {
        self.more = Some(more);
        self
    }

    /// Adds a JSON body that the handler reads by itself.
    pub(super) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body.push((BodyContent::Json(Schemas::of_request::<T>), true));
        self
    }

    /// Adds an optional JSON body; no body means an empty object.
    pub(super) fn may_take<T: JsonSchema>(mut self) -> Self {
        self.body.push((BodyContent::Json(Schemas::of_request::<T>), false));
        self
    }

    /// Adds a body of another media type than JSON.
    pub(super) fn takes_text(mut self, kind: &'static str) -> Self {
        self.body.push((BodyContent::Text(kind), true));
        self
    }

    /// Adds an answer that the handler builds by itself.
    pub(super) fn gives<T: JsonSchema>(mut self, status: u16, when: &'static str) -> Self {
        self.answers.push((status, when, Some(BodyContent::Json(Schemas::of_answer::<T>))));
        self
    }

    /// Adds an answer of another media type than JSON.
    pub(super) fn gives_text(mut self, kind: &'static str, when: &'static str) -> Self {
        self.answers.push((200, when, Some(BodyContent::Text(kind))));
        self
    }

    /// Adds an answer that leads elsewhere.
    pub(super) fn leads(mut self, when: &'static str) -> Self {
        self.answers.push((303, when, None));
        self
    }

    /// Adds an answer without a body.
    pub(super) fn gives_nothing(mut self, when: &'static str) -> Self {
        self.answers.push((204, when, None));
        self
    }

    /// Adds a header that the handler reads.
    pub(super) fn header(mut self, name: &'static str, description: &'static str) -> Self {
        self.parameters.push(json!({
            "name": name, "in": "header", "required": false, "description": description, "schema": {"type": "string"},
        }));
        self
    }

    /// Adds the header that makes a repeat of the request harmless.
    pub(super) fn key(self) -> Self {
        self.header(
            "Idempotency-Key",
            "Key of the client: the same request under the same key is carried out once.",
        )
    }

    /// Ignores unknown parameters: the address is called by systems that add their own.
    pub(super) fn lenient(mut self) -> Self {
        self.is_lenient = true;
        self
    }

    /// Adds the fields of a query.
    fn query(&mut self, fields: Vec<Value>) {
        self.parameters.extend(fields);
    }

    fn has_query(&self) -> bool {
        self.is_lenient || self.parameters.iter().any(|parameter| parameter["in"] == "query")
    }

    fn described(
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
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Method and words of the path, as one word: `postOrdersIdCancel`.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.split(['/', '{', '}', '.', '-']).filter(|word| !matches!(*word, "" | "v1"));
    words.fold(method.to_owned(), |id, word| {
        let (first, rest) = word.split_at(1);
        id + &first.to_ascii_uppercase() + rest
    })
}
