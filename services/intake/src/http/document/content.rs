//! Contents of bodies and answers, as an operation declares them.

use serde_json::{Value, json};

use super::schemas::Schemas;

/// Constructor of a schema, called once it is known where its parts go.
pub(super) type Schema = fn(&mut Schemas) -> Value;

/// Text of a media type, or JSON of a schema.
#[derive(Clone, Copy)]
pub(super) enum BodyContent {
    Json(Schema),
    Text(&'static str),
}

impl BodyContent {
    pub fn described(self, schemas: &mut Schemas) -> Value {
        match self {
            Self::Json(schema) => json!({"application/json": {"schema": schema(schemas)}}),
            Self::Text(kind) => json!({kind: {"schema": {"type": "string"}}}),
        }
    }
}

/// Status of an answer, when it comes, and its body.
pub(super) type DeclaredAnswer = (u16, &'static str, Option<BodyContent>);
