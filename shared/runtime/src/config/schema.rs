//! The JSON Schema of the configuration file, by which editors complete and check it. Made from the table of keys.

use pagurus_domain::document::form::{Form, file_schema, schema};
use serde_json::{Map, Value, json};

use super::build::keys::TREES;
use super::keys::settings;
use super::kind::Kind;
use super::section::{Reload, Setting};

/// See [`super::editor_schema`].
pub(super) fn of_settings() -> Value {
    let mut definitions = Map::new();
    let mut file = section();
    for setting in settings() {
        let value = of_setting(setting, &mut definitions);
        let mut at = &mut file;
        let mut names = setting.path.split('.').peekable();
        while let Some(name) = names.next() {
            let properties = &mut at["properties"];
            if names.peek().is_none() {
                properties[name] = value;
                break;
            }
            if properties.get(name).is_none() {
                properties[name] = section();
            }
            at = &mut properties[name];
        }
    }
    let description = "One file for all services. `pagurus config check` tells all that is wrong.";
    file_schema("Configuration of Pagurus", description, file, definitions)
}

/// Nothing after a key is the same as no key.
fn section() -> Value {
    json!({"type": ["object", "null"], "properties": {}, "additionalProperties": false})
}

fn of_setting(setting: &Setting, definitions: &mut Map<String, Value>) -> Value {
    let restart = if setting.change == Reload::Restart { " (restart)" } else { "" };
    let mut value = json!({
        "description": format!("{}{restart}", setting.meaning),
        "anyOf": [schema(&form(setting), definitions), {"type": "null"}],
    });
    if setting.default != "~" && !setting.kind.is_secret() {
        value["description"] = json!(format!("{} Default: `{}`.{restart}", setting.meaning, setting.default));
    }
    value
}

fn form(setting: &Setting) -> Form {
    const TEXTS: Form = Form::List { of: &Form::NotEmpty, least: 1, most: None };
    const HOSTS: Form = Form::List {
        of: &Form::Written(r"^(\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*)$"),
        least: 0,
        most: None,
    };
    const CALLS: Form = Form::List { of: &Form::Written(r"^[A-Za-z0-9.*_:/\[\]-]+$"), least: 0, most: None };
    const EXCHANGES: Form = Form::List { of: &Form::Written("^(.+/)?[^/]+$"), least: 0, most: None };
    match setting.kind {
        Kind::Text | Kind::OptionalText | Kind::SecretUrl | Kind::OptionalSecret => Form::NotEmpty,
        Kind::Name => Form::Written("^[A-Za-z0-9._-]{1,64}$"),
        Kind::Flag => Form::Flag,
        Kind::Count { least, most } => Form::Whole { least, most },
        Kind::Bytes | Kind::BytesOrZero => Form::Written(r"^\d+\s*(B|KiB|MiB|GiB)?$"),
        Kind::Duration | Kind::OptionalDuration => Form::Duration,
        Kind::DurationOrZero => Form::DurationOrZero,
        Kind::Address | Kind::OptionalAddress => {
            Form::Matching(r"^(\d{1,3}(\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\]):\d{1,5}$")
        }
        Kind::Choice(words) => Form::Word(words),
        Kind::Texts => TEXTS,
        Kind::TextsOrNone => Form::List { of: &Form::NotEmpty, least: 0, most: None },
        Kind::Words(words) => Form::WordList(words),
        Kind::Hosts => HOSTS,
        Kind::Calls => CALLS,
        Kind::Exchanges => EXCHANGES,
        Kind::Tree(_) => tree(setting.path).unwrap_or(Form::Anything),
    }
}

/// The form of a tree; a test reads all of them, so that none is missing.
fn tree(path: &str) -> Option<Form> {
    TREES.iter().find(|(of, _)| *of == path).map(|(_, form)| *form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tree_has_its_form() {
        for setting in settings() {
            let is_tree = matches!(setting.kind, Kind::Tree(_));
            assert_eq!(is_tree, tree(setting.path).is_some(), "{}", setting.path);
        }
    }
}
