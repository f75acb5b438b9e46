//! The configuration of CRAB as one of ours: names that are written with dots and a prefix become nested ones. Pure.

use pagurus_domain::document::{self, DocumentLimits, Fault, nearest};
use serde_json::{Map, Value, json};

use super::keys;

/// Keys below which names of one's own stand, and those that end such a name: it may have dots itself.
const NAMED: &[(&str, &[&str])] = &[
    ("rules", &["requests", "classes"]),
    ("classes", &["responses", "exceptions", "timeout"]),
    ("policies", &["error_classes", "scenarios", "parameters", "params"]),
];

/// A word for all failures without an answer, which is written otherwise here.
const ANY_EXCEPTION: &str = "ANY_HTTP_EXCEPTION";

/// A converted configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    /// The keys that exist here, nested.
    pub config: Map<String, Value>,
    /// The keys that have no counterpart, each with the nearest one that exists.
    pub unknown: Vec<(String, Option<&'static str>)>,
}

/// Converts an inventory: YAML with dotted or nested names, or lines of names and values.
///
/// # Errors
/// The text can be read as neither.
pub fn convert(text: &str) -> Result<Converted, Vec<Fault>> {
    let tree = match document::parse(text, &DocumentLimits::default()) {
        Ok(tree) if tree.as_map().is_some() => tree.to_json(),
        Ok(_) => properties(text)?,
        Err(faults) => properties(text).map_err(|_| faults)?,
    };
    let mut converted = Converted::default();
    converted.walk(&[], &tree);
    Ok(converted)
}

/// Reads lines of the form `name = value`, with comments behind `#` and `!` at the start of a line.
fn properties(text: &str) -> Result<Value, Vec<Fault>> {
    let mut values = Map::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
    for line in lines {
        let Some((name, value)) = line.split_once(['=', ':']) else {
            let message = format!("`{line}` is not a line of the form `name = value`");
            return Err(vec![Fault::placed(None, "", message)]);
        };
        let value = value.trim();
        let read = document::parse(value, &DocumentLimits::default());
        let value = read.map_or_else(|_| Value::from(value), |read| read.to_json());
        values.insert(name.trim().to_owned(), value);
    }
    Ok(Value::Object(values))
}

impl Converted {
    fn walk(&mut self, above: &[String], tree: &Value) {
        let Some(members) = tree.as_object() else { return };
        for (name, value) in members {
            let path: Vec<String> = above.iter().cloned().chain(name.split('.').map(str::to_owned)).collect();
            let here = without_prefix(&path);
            let dotted = here.join(".");
            if keys::find(&dotted).is_some() || keys::find_tree(&dotted).is_some() {
                self.put(&with_names(here), mended(value.clone()));
            } else if value.is_object() && !value.as_object().is_some_and(Map::is_empty) {
                self.walk(&path, value);
            } else {
                let known = keys::settings().map(|setting| setting.path);
                self.unknown.push((path.join("."), nearest(&dotted, known)));
            }
        }
    }

    fn put(&mut self, path: &[String], value: Value) {
        let Some((last, above)) = path.split_last() else { return };
        let mut at = &mut self.config;
        for name in above {
            let next = at.entry(name.clone()).or_insert_with(|| json!({}));
            if !next.is_object() {
                *next = json!({});
            }
            let Value::Object(next) = next else { return };
            at = next;
        }
        match (at.get_mut(last), value) {
            (Some(Value::Object(present)), Value::Object(more)) => present.extend(more),
            (_, value) => drop(at.insert(last.clone(), value)),
        }
    }
}

/// The path from the first name on that stands at the top here.
fn without_prefix(path: &[String]) -> &[String] {
    let tops = keys::names_under("");
    let first = path.iter().position(|name| tops.contains(&name.as_str()));
    first.map_or(path, |first| &path[first..])
}

/// The path with names of one's own put together, which the dots within them took apart.
fn with_names(path: &[String]) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    let mut rest = path.iter().peekable();
    while let Some(name) = rest.next() {
        joined.push(name.clone());
        let Some((_, ends)) = NAMED.iter().find(|(key, _)| key == name) else { continue };
        let mut own: Vec<&str> = Vec::new();
        while let Some(part) = rest.next_if(|part| own.is_empty() || !ends.contains(&part.as_str())) {
            own.push(part);
        }
        joined.extend((!own.is_empty()).then(|| own.join(".")));
    }
    joined
}

/// The value with words of CRAB in the spelling here.
fn mended(value: Value) -> Value {
    match value {
        Value::Array(items) if items.iter().any(|item| item == ANY_EXCEPTION) => {
            let any = |item| if item == ANY_EXCEPTION { json!({"name_keyword": "Exception"}) } else { item };
            items.into_iter().map(any).collect()
        }
        Value::Array(items) => items.into_iter().map(mended).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, mended(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn err_1_an_inventory_with_dotted_prefixed_names_becomes_a_configuration() {
        let text = "
ps.crab.crab_akka.distribution.mode: stopped_flows
ps.crab.crab_akka.distribution.capacity.parallel_count: 2000
ps.crab.crab_akka.execution.error_handling:
  sync:
    mode: retry
    classification:
      rules:
        any.errors.rule:
          requests: [{path: '/**'}]
          classes:
            all.connection: {exceptions: [ANY_HTTP_EXCEPTION]}
ps.crab.crab_akka.execution.error_handling.sync.retry.policies.shop.one.error_classes: [all.connection]
ps.crab.crab_akka.execution.error_handling.sync.retry.policies.shop.one.parameters: {initial_interval: 5s, max_attempts: 3}
ps.crab.crab_akka.cluster.seed_nodes: [one, two]
";
        let converted = convert(text).unwrap();
        let yaml = Value::Object(converted.config.clone());
        assert_eq!(
            yaml["distribution"],
            json!({"mode": "stopped_flows", "capacity": {"parallel_count": 2000}})
        );
        let sync = &yaml["execution"]["error_handling"]["sync"];
        assert_eq!(
            sync["classification"]["rules"]["any.errors.rule"]["classes"]["all.connection"],
            json!({"exceptions": [{"name_keyword": "Exception"}]})
        );
        assert_eq!(sync["retry"]["policies"]["shop.one"]["parameters"]["max_attempts"], 3);
        assert_eq!(sync["mode"], "retry");
        let unknown: Vec<&str> = converted.unknown.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(unknown, ["ps.crab.crab_akka.cluster.seed_nodes"]);
        assert_eq!(super::super::check(&yaml.to_string(), std::iter::empty()), []);
    }

    #[test]
    fn err_1_lines_of_properties_are_read_too() {
        let text = "# capacity\nps.crab.crab_akka.distribution.capacity.parallel_count = 10\n\ndistribution.mode=simple\n";
        let converted = convert(text).unwrap();
        assert_eq!(
            Value::Object(converted.config),
            json!({"distribution": {"mode": "simple", "capacity": {"parallel_count": 10}}})
        );
        assert!(convert("no value").is_err());
        assert_eq!(convert("").map(|converted| converted.config.len()).unwrap_or(0), 0);
    }
}
