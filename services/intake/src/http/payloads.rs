//! Payloads in answers, for those from whom they are hidden. The types of `wire` mark the fields that hold payloads
//! (`x-payload`); what is hidden of an answer follows from its schema, so that the document and the answer agree.

use std::collections::BTreeMap;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse as _;
use pagurus_domain::MASKED;
use pagurus_wire::problem::{Problem, Type};
use serde_json::{Map, Value};

use crate::http::ProblemResponse;

/// Mark of a field that holds a payload.
const MARK: &str = "x-payload";
/// Longest answer that is read again to hide its payloads, in bytes. A longer one is refused: nothing goes out unread.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Schemas of all answers that may hold payloads.
pub(in crate::http) struct Payloads {
    /// By method and path; of each the schemas of its answers.
    answers: BTreeMap<(String, String), Vec<Value>>,
    schemas: Map<String, Value>,
}

impl Payloads {
    /// The answers of a document.
    pub(in crate::http) fn of(document: &Value) -> Self {
        let schemas = document["components"]["schemas"].as_object().cloned().unwrap_or_default();
        let mut payloads = Self { answers: BTreeMap::new(), schemas };
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                let answers = operation["responses"].as_object().into_iter().flatten();
                let schemas = answers.filter(|(status, _)| *status != "default");
                let schemas = schemas.map(|(_, answer)| &answer["content"]["application/json"]["schema"]);
                let with: Vec<Value> =
                    schemas.filter(|schema| payloads.has_mark(schema, &mut Vec::new())).cloned().collect();
                if !with.is_empty() {
                    payloads.answers.insert((method.clone(), path.clone()), with);
                }
            }
        }
        payloads
    }

    /// Hides the payloads of an answer of this route.
    pub(in crate::http) async fn hide(
        &self,
        method: &Method,
        path: &str,
        answer: Response<Body>,
    ) -> Response<Body> {
        // A response to HEAD has the schema of that to GET.
        let method = if method == Method::HEAD { Method::GET } else { method.clone() };
        let key = (method.as_str().to_ascii_lowercase(), path.to_owned());
        let Some(schemas) = self.answers.get(&key).filter(|_| answer.status().is_success()) else {
            return answer;
        };
        let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/json");
        if !answer.headers().get(header::CONTENT_TYPE).is_some_and(is_json) {
            if answer.status() == StatusCode::NO_CONTENT {
                return answer;
            }
            let detail =
                "your role does not see payloads (`access.payloads`); only JSON is available without them";
            return ProblemResponse(Problem::new(Type::Forbidden, detail)).into_response();
        }
        let (mut parts, body) = answer.into_parts();
        let read = to_bytes(body, MOST_BYTES).await.ok();
        let Some(mut value) = read.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) else {
            let detail = "the payloads of this answer could not be hidden; ask for a shorter page";
            return ProblemResponse(Problem::new(Type::Internal, detail)).into_response();
        };
        for schema in schemas {
            self.mask(&mut value, schema);
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(parts, Body::from(value.to_string()))
    }

    /// True if something that the schema describes holds a payload.
    fn has_mark(&self, schema: &Value, seen: &mut Vec<String>) -> bool {
        if schema[MARK] == true {
            return true;
        }
        if let Some(name) = schema["$ref"].as_str() {
            if seen.iter().any(|one| one == name) {
                return false;
            }
            seen.push(name.to_owned());
        }
        let mut parts: Vec<&Value> = self.parts(schema).collect();
        parts.extend(schema["properties"].as_object().into_iter().flat_map(Map::values));
        parts.extend([&schema["items"], &schema["additionalProperties"]]);
        parts.into_iter().any(|part| part.is_object() && self.has_mark(part, seen))
    }

    /// Schemas that describe the same value.
    fn parts<'s>(&'s self, schema: &'s Value) -> impl Iterator<Item = &'s Value> {
        let named = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        let named = named.and_then(|name| self.schemas.get(name));
        let lists = ["allOf", "anyOf", "oneOf"].into_iter();
        named.into_iter().chain(lists.flat_map(|list| schema[list].as_array().into_iter().flatten()))
    }

    /// Puts `***` in place of each payload of a value.
    fn mask(&self, value: &mut Value, schema: &Value) {
        if value.is_null() {
            return;
        }
        if schema[MARK] == true {
            *value = MASKED.into();
            return;
        }
        for part in self.parts(schema) {
            self.mask(value, part);
        }
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask(item, &schema["items"])),
            Value::Object(fields) => {
                for (name, field) in fields {
                    let known = &schema["properties"][name.as_str()];
                    self.mask(field, if known.is_null() { &schema["additionalProperties"] } else { known });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scn_15_payloads_are_hidden_wherever_their_schema_has_them() {
        let document = json!({
            "paths": {"/a": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {
                "type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/components/schemas/One"}}},
            }}}}}}, "post": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "string"}}}}}}}},
            "components": {"schemas": {
                "One": {"allOf": [{"$ref": "#/components/schemas/Base"}], "properties": {
                    "error": {"anyOf": [{"$ref": "#/components/schemas/Error"}, {"type": "null"}]},
                    "more": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Base"}},
                    "next": {"$ref": "#/components/schemas/One"},
                }},
                "Base": {"properties": {"id": {"type": "string"}, "params": {"x-payload": true}}},
                "Error": {"properties": {"message": {"type": "string", "x-payload": true}, "class": {"type": "string"}}},
            }},
        });
        let payloads = Payloads::of(&document);
        assert_eq!(payloads.answers.len(), 1, "the other answer has none");
        let schema = &payloads.answers[&("get".to_owned(), "/a".to_owned())][0];
        let one = json!({"id": "a", "params": {"b": [1]}, "error": {"class": "c", "message": "m"}});
        let mut value = json!({"items": [one, {"id": "d", "params": null, "more": {"x": one}, "next": one}], "next": "7"});
        payloads.mask(&mut value, schema);
        let hidden = json!({"id": "a", "params": "***", "error": {"class": "c", "message": "***"}});
        let of_base = json!({"id": "a", "params": "***", "error": {"class": "c", "message": "m"}});
        let expected = json!({"items": [hidden, {"id": "d", "params": null, "more": {"x": of_base}, "next": hidden}], "next": "7"});
        assert_eq!(value, expected);
    }
}
