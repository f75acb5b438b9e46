//! Writes forms as JSON Schema. The dialect is draft 7, which every editor understands.

use serde_json::{Map, Value, json};

use super::{Form, KeyRule, Keys, NamedForm};

const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// A duration, `1h30m`, of which something is longer than nothing.
const DURATION: &str = r"^(?=.*[1-9])(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$";
/// A duration, also of nothing.
const DURATION_OR_ZERO: &str = r"^(?=.)(0|(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?)$";
/// A text with an expression.
const EXPRESSION: &str = r"\$\{";

/// The schema of a file.
#[must_use]
pub fn editor_schema(title: &str, description: &str, form: &Form) -> Value {
    let mut definitions = Map::new();
    let file = schema(form, &mut definitions);
    file_schema(title, description, file, definitions)
}

/// The schema of a file whose parts are written already.
#[must_use]
pub fn file_schema(title: &str, description: &str, file: Value, definitions: Map<String, Value>) -> Value {
    let mut whole = json!({"$schema": DIALECT, "title": title, "description": description});
    if let (Some(whole), Value::Object(file)) = (whole.as_object_mut(), file) {
        whole.extend(file);
        if !definitions.is_empty() {
            whole.insert("definitions".to_owned(), Value::Object(definitions));
        }
    }
    whole
}

/// The schema of one value. The forms with names that it holds go into the definitions.
pub fn schema(form: &Form, definitions: &mut Map<String, Value>) -> Value {
    match form {
        Form::Anything => json!({}),
        Form::Something => json!({"type": ["string", "number", "boolean", "array", "object"]}),
        Form::Text => json!({"type": "string"}),
        Form::Matching(pattern) => json!({"type": "string", "pattern": pattern}),
        Form::AsWritten => json!({"type": ["string", "number", "boolean"]}),
        Form::NotEmpty => json!({"type": ["string", "number", "boolean"], "minLength": 1}),
        Form::Written(pattern) => json!({"type": ["string", "number", "boolean"], "pattern": pattern}),
        Form::Word(words) => json!({"enum": words}),
        Form::WordList(words) => {
            let numbers = words.iter().filter_map(|word| word.parse::<u64>().ok().map(Value::from));
            let words: Vec<Value> = words.iter().map(|word| Value::from(*word)).chain(numbers).collect();
            list(json!({"enum": words}), 0, None)
        }
        Form::Words(words) => json!({"enum": words()}),
        Form::Flag => json!({"type": "boolean"}),
        Form::Bare => json!({"enum": [true, null]}),
        Form::Whole { least, most: u64::MAX } => json!({"type": "integer", "minimum": least}),
        Form::Whole { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Form::Number { least, most } => json!({"type": "number", "minimum": least, "maximum": most}),
        Form::Duration => json!({"type": "string", "pattern": DURATION}),
        Form::DurationOrZero => {
            json!({"anyOf": [{"const": 0}, {"type": "string", "pattern": DURATION_OR_ZERO}]})
        }
        Form::Lapse => json!({"type": "string", "pattern": format!("{EXPRESSION}|{DURATION}")}),
        Form::LapseOrZero => json!({"anyOf": [
            {"const": 0},
            {"type": "string", "pattern": format!("{EXPRESSION}|{DURATION_OR_ZERO}")},
        ]}),
        Form::Schema => json!({"type": "object"}),
        Form::List { of, least, most } => list(schema(of, definitions), *least, *most),
        Form::Map { names, of, least } => json!({
            "type": "object",
            "propertyNames": {"pattern": names},
            "additionalProperties": schema(of, definitions),
            "minProperties": least,
        }),
        Form::Fields(keys) => fields(keys, definitions),
        Form::Open { keys, names, of } => {
            let mut open = fields(keys, definitions);
            open["patternProperties"] = json!({*names: schema(of, definitions)});
            open
        }
        Form::ByWord { key, word, then, otherwise } => json!({
            "type": "object",
            "if": {"properties": {*key: {"const": word}}, "required": [key]},
            "then": fields(then, definitions),
            "else": fields(otherwise, definitions),
        }),
        Form::Named(form) => named(form, definitions),
        Form::Narrowed { form, needs, refuses } => {
            let mut narrowed = constrained(needs, refuses);
            narrowed["allOf"] = json!([named(form, definitions)]);
            narrowed
        }
        Form::Either(forms) => {
            let forms: Vec<Value> = forms.iter().map(|form| schema(form, definitions)).collect();
            json!({"anyOf": forms})
        }
    }
}

fn list(items: Value, least: usize, most: Option<usize>) -> Value {
    let mut list = json!({"type": "array", "items": items, "minItems": least});
    if let Some(most) = most {
        list["maxItems"] = json!(most);
    }
    list
}

fn named(form: &'static NamedForm, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(form.name) {
        // The name is there before the form, which may hold itself.
        definitions.insert(form.name.to_owned(), Value::Null);
        let written = schema(&form.form, definitions);
        definitions.insert(form.name.to_owned(), written);
    }
    json!({"$ref": format!("#/definitions/{}", form.name)})
}

fn fields(keys: &Keys, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in keys.known {
        let mut value = schema(&key.form, definitions);
        // Beside a reference nothing else counts.
        if value.get("$ref").is_some() {
            value = json!({"allOf": [value]});
        }
        value["description"] = json!(key.meaning);
        properties.insert(key.name.to_owned(), value);
    }
    let mut fields = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let required: Vec<&str> = keys.names().filter(|name| keys.requires(name)).collect();
    if !required.is_empty() {
        fields["required"] = json!(required);
    }
    let mut rules = Vec::new();
    for rule in keys.rules {
        match rule {
            KeyRule::AtLeastOne => fields["minProperties"] = json!(1),
            KeyRule::AnyOf(keys) => {
                let each: Vec<_> = keys.iter().map(|key| json!({"required": [key]})).collect();
                rules.push(json!({"anyOf": each}));
            }
            KeyRule::ExactlyOne => {
                fields["minProperties"] = json!(1);
                fields["maxProperties"] = json!(1);
            }
            KeyRule::OneOf(lists) => rules.push(one_of(lists)),
            KeyRule::Needs(one, other) => rules.push(json!({
                "if": {"required": [one]},
                "then": {"required": [other], "properties": {*other: {"const": true}}},
            })),
            KeyRule::Where { key, word, is_default, needs, refuses } => {
                let mut asked = json!({"properties": {*key: {"const": word}}});
                if !is_default {
                    asked["required"] = json!([key]);
                }
                rules.push(json!({"if": asked, "then": constrained(needs, refuses)}));
            }
        }
    }
    if !rules.is_empty() {
        fields["allOf"] = json!(rules);
    }
    fields
}

/// Each list with none of the keys of the others.
fn one_of(lists: &[&[&str]]) -> Value {
    let alternatives = lists.iter().map(|list| {
        let others: Vec<&str> = lists.iter().flat_map(|other| other.iter().copied()).collect();
        let others: Vec<&str> = others.into_iter().filter(|other| !list.contains(other)).collect();
        constrained(list, &others)
    });
    json!({"oneOf": alternatives.collect::<Vec<Value>>()})
}

/// Keys that must be there, and keys that must not.
fn constrained(needs: &[&str], refuses: &[&str]) -> Value {
    let mut constrained = json!({});
    if !needs.is_empty() {
        constrained["required"] = json!(needs);
    }
    if !refuses.is_empty() {
        // A flag that is not set is as good as none.
        let refused = refuses
            .iter()
            .map(|name| json!({"required": [name], "properties": {*name: {"not": {"const": false}}}}));
        let refused: Vec<Value> = refused.collect();
        constrained["not"] = json!({"anyOf": refused});
    }
    constrained
}
