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
mod content;
mod describe;
mod operation;
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
use serde_json::{Map, Value, json};

use self::describe::Described;
pub(super) use self::operation::{Operation, admin, anyone, client, operator, system, viewer};
pub(super) use self::page::page;
pub(super) use self::schemas::Schemas;
use super::concern::Concern;
use super::identity::{Needs, RouteRule, authorize};
use super::query::refuse_any;
use crate::Intake;

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
