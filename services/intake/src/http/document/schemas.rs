//! Schemas of what is asked and of what is answered, by name. A body that is read may leave out what has a default; a body
//! that is written has it all.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, ReplaceBoolSchemas, Transform as _};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// All schemas that the document names.
pub(in crate::http) struct Schemas {
    asked: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Schemas {
    pub(in crate::http) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings.transforms.push(Box::new(any_as_object()));
            settings.transforms.push(Box::new(RecursiveTransform(forget_unsigned)));
            settings.transforms.push(Box::new(RecursiveTransform(words_as_enum)));
        });
        let mut asked = settings.clone().for_deserialize();
        asked.transforms.push(Box::new(RecursiveTransform(forget_object)));
        let mut answered = settings.for_serialize();
        answered.transforms.push(Box::new(RecursiveTransform(forget_default)));
        Self { asked: asked.into_generator(), answered: answered.into_generator() }
    }

    /// Returns the schema of a body that clients send.
    pub(in crate::http) fn of_request<T: JsonSchema>(&mut self) -> Value {
        readable(self.asked.subschema_for::<T>())
    }

    /// Returns the schema of an answer.
    pub(in crate::http) fn of_answer<T: JsonSchema>(&mut self) -> Value {
        readable(self.answered.subschema_for::<T>())
    }

    /// Returns the fields of a query, as parameters.
    pub(super) fn of_query<T: JsonSchema>(&mut self) -> Vec<Value> {
        let mut schema = T::json_schema(&mut self.asked);
        RecursiveTransform(forget_unsigned).transform(&mut schema);
        let schema = schema.to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let fields = schema["properties"].as_object().cloned().unwrap_or_default();
        fields
            .into_iter()
            .map(|(name, mut schema)| {
                let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
                written(&mut schema);
                serde_json::json!({
                    "name": name, "in": "query", "required": required.contains(&name.as_str().into()),
                    "description": description.unwrap_or_default(), "schema": schema,
                })
            })
            .collect()
    }

    /// Returns all definitions.
    pub(in crate::http) fn finish(mut self) -> Map<String, Value> {
        let mut all = self.answered.take_definitions(true);
        all.extend(self.asked.take_definitions(true));
        all
    }
}

/// Writes the schema of any value as `{}` and not as `true`, which some generators of clients cannot read.
fn any_as_object() -> ReplaceBoolSchemas {
    let mut transform = ReplaceBoolSchemas::default();
    transform.skip_additional_properties = true;
    transform
}

/// Writes words that have a description each as one `enum`, of which every generator of clients makes a type, and their descriptions beside
/// it, where generators look for them.
fn words_as_enum(schema: &mut Schema) {
    let Some(each) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let word = |one: &Value| Some((one.get("const")?.as_str()?.into(), one.get("description")?.clone()));
    let Some((words, descriptions)) = each.iter().map(word).collect::<Option<(Vec<Value>, Vec<Value>)>>()
    else {
        return;
    };
    schema.remove("oneOf");
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), words.into());
    schema.insert("x-enum-descriptions".into(), descriptions.into());
}

/// Removes a default that is an object: generators of clients write it as text of their language, and not well.
fn forget_object(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_object) {
        schema.remove("default");
    }
}

/// Removes the default of a field of an answer, which is always there.
fn forget_default(schema: &mut Schema) {
    schema.remove("default");
}

/// Removes the format of an unsigned number, which generators of clients do not know; its bounds stay.
fn forget_unsigned(schema: &mut Schema) {
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
        schema.remove("format");
    }
}

fn readable(mut schema: Schema) -> Value {
    any_as_object().transform(&mut schema);
    RecursiveTransform(forget_unsigned).transform(&mut schema);
    schema.ensure_object();
    schema.to_value()
}

/// Removes defaults and nulls from the schema of a query field: a field that is left out is absent, not null.
fn written(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("default");
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            map.insert("type".into(), one);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}
