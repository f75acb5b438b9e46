//! Brings together what the file and the environment say about each key of the table, and reports
//! all that is wrong with it. Must never give a key a meaning: that is done when the settings are
//! built.

use std::ffi::OsString;
use std::path::Path;

use pagurus_domain::document::{
    self, DocumentKey, DocumentLimits, DocumentNode, Fault, Value, nearest, pointer_to,
};

use super::keys;
use super::kind::Typed;
use super::section::Setting;
use super::values::{LoadedValue, NOWHERE, Origin, Values, without_places};

/// Begin of the names of variables that set keys.
const PREFIX: &str = "PAGURUS__";

/// Reads the text of the file, empty where there is none, and lays the environment over it.
pub(super) fn values(text: &str, environment: impl Iterator<Item = (String, String)>) -> Values {
    let mut values = Values::default();
    match document::parse(text, &DocumentLimits::default()) {
        Ok(tree) => values.take_section("", "", &tree),
        Err(faults) => values.faults.extend(faults),
    }
    for (name, value) in environment {
        if let Some(rest) = name.strip_prefix(PREFIX) {
            let path = rest.split("__").collect::<Vec<_>>().join(".").to_lowercase();
            if let Err(message) = values.take_variable(&name, &path, &value) {
                values.faults.push(Fault::placed(None, &name, message));
            }
        }
    }
    values.type_all();
    values
}

/// The variables of an environment by which keys are set.
pub(super) fn environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, Vec<Fault>> {
    let ours = variables.filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    for (name, value) in ours {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => read.push((name, value)),
            (Ok(name), Err(_)) => faults.push(Fault::placed(None, &name, "the value is not UTF-8")),
            (Err(name), _) => {
                let name = name.to_string_lossy().into_owned();
                faults.push(Fault::placed(None, &name, "the name of the variable is not UTF-8"));
            }
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

/// Reads a file into text.
pub(super) fn read_text(path: &Path) -> Result<String, Fault> {
    std::fs::read_to_string(path)
        .map_err(|error| Fault::placed(None, "", format!("cannot read `{}`: {error}", path.display())))
}

impl Values {
    fn take_section(&mut self, path: &str, pointer: &str, node: &DocumentNode) {
        let Some(entries) = node.as_map() else {
            if !node.is_null() {
                let message = format!("expected a mapping, found {}", node.kind());
                self.faults.push(Fault::new(node, pointer, message));
            }
            return;
        };
        let names = keys::names_under(path);
        for (key, value) in entries {
            let inner = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
            let inner_pointer = pointer_to(pointer, &key.name);
            if let Some(setting) = keys::find(&inner) {
                // Nothing after a key is the same as no key.
                if !value.is_null() {
                    let found = LoadedValue { node: value.clone(), origin: Origin::File };
                    self.found.insert(setting.path, found);
                }
            } else if names.contains(&key.name.as_str()) {
                self.take_section(&inner, &inner_pointer, value);
            } else {
                self.faults.push(unknown(key, pointer, &names));
            }
        }
    }

    fn take_variable(&mut self, name: &str, path: &str, raw: &str) -> Result<(), String> {
        if raw.is_empty() {
            return Ok(());
        }
        let origin = Origin::Variable(name.to_owned());
        let from_file = path.strip_suffix("_file").filter(|base| {
            keys::find(base).is_some_and(|setting| setting.kind.is_secret())
                || (keys::find(path).is_none() && base.starts_with("config."))
        });
        let (path, node) = match from_file {
            Some(base) => (base, secret_of(raw)?),
            None => {
                let is_text = keys::find(path).is_some_and(|setting| setting.kind.is_text());
                (path, node_of(raw, is_text))
            }
        };
        if let Some(setting) = keys::find(path) {
            self.found.insert(setting.path, LoadedValue { node, origin });
            return Ok(());
        }
        let Some(setting) = keys::find_tree(path) else {
            return Err(unknown_variable(name));
        };
        let parts: Vec<&str> = path[setting.path.len() + 1..].split('.').collect();
        match self.found.get_mut(setting.path) {
            Some(found) => insert(&mut found.node, &parts, node),
            None => {
                let mut tree = DocumentNode::new(Value::Map(Vec::new()), NOWHERE);
                insert(&mut tree, &parts, node);
                self.found.insert(setting.path, LoadedValue { node: tree, origin });
            }
        }
        Ok(())
    }

    fn type_all(&mut self) {
        for setting in keys::settings() {
            let read = match self.found.get(setting.path) {
                Some(found) => setting.kind.read(&found.node),
                None => Ok(default_of(setting)),
            };
            let typed = read.unwrap_or_else(|message| {
                self.fault(setting.path, message);
                // Building goes on with the default, so that it can report more.
                default_of(setting)
            });
            self.typed.insert(setting.path, typed);
        }
    }
}

/// The default of a key. A test reads all of them, so nothing is absent that should not be.
pub(super) fn default_of(setting: &Setting) -> Typed {
    document::parse(setting.default, &DocumentLimits::default())
        .ok()
        .and_then(|node| setting.kind.read(&node).ok())
        .unwrap_or(Typed::Absent)
}

/// Prefixes of keys in files of CRAB: in its inventory, and in its own configuration.
const OF_CRAB: [&str; 2] = ["ps.crab.crab_akka.", "crab."];

fn unknown(key: &DocumentKey, pointer: &str, names: &[&str]) -> Fault {
    let fault = Fault::unknown_key(key, pointer, names.iter().copied());
    // Keys of CRAB, whose names ours are, with its prefix; or several in one with dots.
    let bare = OF_CRAB.iter().find_map(|prefix| key.name.strip_prefix(prefix)).unwrap_or(&key.name);
    if pointer.is_empty() && key.name == "crab" {
        return fault.hint("remove `crab`: its keys are at the top level here");
    }
    if pointer.is_empty()
        && bare.contains('.')
        && (keys::find(bare).is_some() || keys::find_tree(bare).is_some())
    {
        let parts: Vec<&str> = bare.split('.').collect();
        return fault.hint(format!("write it nested, one name per level: {{{}: …}}", parts.join(": {")));
    }
    if fault.hint.is_some() {
        return fault;
    }
    // The right name in the wrong place is the other usual mistake.
    let ending = format!(".{}", key.name);
    let elsewhere =
        keys::settings().find(|setting| setting.path.ends_with(&ending) || setting.path == key.name);
    match elsewhere {
        Some(setting) => fault.hint(format!("did you mean `{}`?", setting.path)),
        None => fault,
    }
}

fn unknown_variable(name: &str) -> String {
    let names: Vec<String> = keys::settings()
        .map(|setting| format!("{PREFIX}{}", setting.path.replace('.', "__").to_uppercase()))
        .collect();
    match nearest(name, names.iter().map(String::as_str)) {
        Some(known) => format!("unknown key in the environment; did you mean `{known}`?"),
        None => "unknown key in the environment".to_owned(),
    }
}

/// The value of a variable: a YAML scalar or list; what is no YAML is text as it stands.
fn node_of(raw: &str, is_text: bool) -> DocumentNode {
    // Passwords and URLs may hold `#` or `: `; only quotes at the start ask for YAML.
    let as_it_stands = is_text && !raw.starts_with(['"', '\'']);
    let read = if as_it_stands { None } else { document::parse(raw, &DocumentLimits::default()).ok() };
    let node = read.unwrap_or_else(|| DocumentNode::new(Value::String(raw.to_owned()), NOWHERE));
    without_places(node)
}

fn secret_of(path: &str) -> Result<DocumentNode, String> {
    let text = read_text(Path::new(path)).map_err(|fault| fault.message)?;
    let secret = text.trim_end_matches(['\n', '\r']).to_owned();
    Ok(DocumentNode::new(Value::String(secret), NOWHERE))
}

/// Puts a value into a tree, making mappings on the way.
fn insert(tree: &mut DocumentNode, parts: &[&str], value: DocumentNode) {
    let Some((first, rest)) = parts.split_first() else {
        *tree = value;
        return;
    };
    if tree.as_map().is_none() {
        tree.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut tree.value else {
        return;
    };
    // Variables are written in capitals, so the case of the file's names cannot count.
    let place = entries.iter().position(|(key, _)| key.name.eq_ignore_ascii_case(first));
    let place = place.unwrap_or_else(|| {
        let key = DocumentKey { name: (*first).to_owned(), at: NOWHERE };
        entries.push((key, DocumentNode::new(Value::Null, NOWHERE)));
        entries.len() - 1
    });
    insert(&mut entries[place].1, rest, value);
}
