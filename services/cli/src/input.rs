//! Input of commands besides their arguments: files, standard input, and values written as JSON.
//!
//! Never changes what it read: the server gets the client's own spelling.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::document;
use pagurus_domain::time;
use pagurus_wire::json;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::CliError;

/// The text of a file; `-` is standard input. The mark with which some editors begin a file is no part of it.
pub(crate) fn text_of(path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let (read, name) = if path.as_os_str() == "-" {
        (std::io::stdin().read_to_string(&mut text), "standard input".to_owned())
    } else {
        let read = std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text));
        (read, format!("`{}`", path.display()))
    };
    read.map_err(|error| CliError::Input(format!("cannot read {name}: {error}")))?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// Name of a file in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" { "(standard input)".to_owned() } else { path.display().to_string() }
}

/// `NAME=TEXT` or `NAME:=JSON`, as an argument.
pub(crate) fn parse_pair(argument: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = argument.split_once('=') else {
        return Err("write NAME=TEXT, or NAME:=JSON".to_owned());
    };
    let (name, value) = match name.strip_suffix(':') {
        None => (name, Value::String(value.to_owned())),
        Some(name) => {
            let value = serde_json::from_str(value)
                .map_err(|error| format!("the value after `:=` must be JSON: {error}"))?;
            (name, value)
        }
    };
    if name.is_empty() {
        return Err("the name is missing: write NAME=TEXT, or NAME:=JSON".to_owned());
    }
    Ok((name.to_owned(), value))
}

/// `ORDER=STATE[,STATE…][:OTHERWISE]`, as an argument: a condition of an order that waits for another.
pub(crate) fn parse_condition(argument: &str) -> Result<Value, String> {
    let form = "write ORDER=STATE[,STATE…], optionally followed by :wait, :fail or :cancel";
    let Some((order, rest)) = argument.rsplit_once('=') else { return Err(form.to_owned()) };
    let (states, otherwise) = match rest.split_once(':') {
        Some((states, otherwise)) => (states, Some(otherwise)),
        None => (rest, None),
    };
    if order.is_empty() || states.split(',').any(str::is_empty) {
        return Err(form.to_owned());
    }
    let mut condition = json!({"order": order, "states": states.split(',').collect::<Vec<_>>()});
    if let Some(otherwise) = otherwise {
        condition["otherwise"] = json!(otherwise);
    }
    Ok(condition)
}

/// Pairs as an object.
///
/// # Errors
/// A name stands twice: only one of its values could be kept.
pub(crate) fn object_of_pairs(flag: &str, pairs: &[(String, Value)]) -> Result<Map<String, Value>, CliError> {
    let mut object = Map::new();
    for (name, value) in pairs {
        if object.insert(name.clone(), value.clone()).is_some() {
            return Err(CliError::Usage(format!("{flag} {name} stands twice")));
        }
    }
    Ok(object)
}

/// A time, as an argument: of RFC 3339, or `now`.
pub(crate) fn parse_time(argument: &str) -> Result<Timestamp, String> {
    match argument {
        "now" => Ok(Timestamp::now()),
        text => time::read(text).ok_or_else(|| format!("write {}, or now", time::RANGE)),
    }
}

/// A duration, as an argument.
pub(crate) fn parse_duration(argument: &str) -> Result<Duration, String> {
    document::parse_duration(argument)
}

/// Options of a command as the fields of a body, under their own names; those that were left out stay out.
pub(crate) fn given(options: &impl Serialize) -> Result<Map<String, Value>, CliError> {
    let mut fields: Map<String, Value> =
        serde_json::to_value(options).and_then(serde_json::from_value).map_err(anyhow::Error::from)?;
    fields.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
    Ok(fields)
}

/// The field of a body that an option of the same name holds as a JSON object, if it is given.
pub(crate) fn object_field(
    name: &str,
    argument: Option<&String>,
) -> Result<Option<(String, Value)>, CliError> {
    let object = argument.map(|argument| object_of(&format!("--{name}"), argument)).transpose()?;
    Ok(object.map(|object| (name.to_owned(), Value::Object(object))))
}

/// Parameters: a JSON object, or `@` and the name of a file that holds one.
pub(crate) fn params_of(argument: &str) -> Result<Map<String, Value>, CliError> {
    object_of("--params", argument)
}

/// The same for any argument that holds an object; `flag` is its name.
pub(crate) fn object_of(flag: &str, argument: &str) -> Result<Map<String, Value>, CliError> {
    match value_of(flag, argument)? {
        Value::Object(params) => Ok(params),
        _ => Err(CliError::Usage(format!("{flag} must be a JSON object, or @ and a file with one"))),
    }
}

/// The same for any JSON.
pub(crate) fn value_of(flag: &str, argument: &str) -> Result<Value, CliError> {
    let text = match argument.strip_prefix('@') {
        Some(path) => text_of(Path::new(path))?,
        None => argument.to_owned(),
    };
    json::parse(text.as_bytes()).map_err(|error| CliError::Usage(format!("{flag} is not JSON: {error}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn dsp_16_a_time_on_the_command_line_may_be_now() {
        let before = Timestamp::now();
        let now = parse_time("now").unwrap();
        assert!((before..=Timestamp::now()).contains(&now));
        let at = parse_time("2026-12-01T00:00:00+03:00").unwrap();
        assert_eq!(time::shown(at), "2026-11-30T21:00:00.000Z");
        assert!(parse_time("tomorrow").unwrap_err().ends_with("or now"));
    }

    #[test]
    fn a_pair_is_text_or_json() {
        assert_eq!(parse_pair("msisdn=79991234567").unwrap(), ("msisdn".into(), json!("79991234567")));
        assert_eq!(parse_pair("fail:=2").unwrap(), ("fail".into(), json!(2)));
        assert_eq!(parse_pair("query=a=b").unwrap(), ("query".into(), json!("a=b")));
        assert_eq!(parse_pair("empty=").unwrap(), ("empty".into(), json!("")));
        for bad in ["alone", "=x", ":=1", "n:=not json"] {
            assert!(parse_pair(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ord_14_a_condition_names_an_order_and_states() {
        let read = parse_condition("a=b=done,failed:cancel").unwrap();
        assert_eq!(read, json!({"order": "a=b", "states": ["done", "failed"], "otherwise": "cancel"}));
        assert_eq!(parse_condition("a=done").unwrap(), json!({"order": "a", "states": ["done"]}));
        for bad in ["a", "=done", "a=", "a=b,,c"] {
            assert!(parse_condition(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn qlt_8_what_stands_twice_is_reported() {
        let pair = |text: &str| parse_pair(text).unwrap();
        let error = object_of_pairs("--param", &[pair("a=1"), pair("b=1"), pair("a=2")]).unwrap_err();
        assert_eq!(error.to_string(), "--param a stands twice");
        assert!(
            params_of(r#"{"a": 1, "a": 2}"#).unwrap_err().to_string().contains("the key `a` stands twice")
        );
    }

    #[test]
    fn params_are_an_object() {
        assert_eq!(params_of(r#"{"a": [1]}"#).unwrap()["a"], json!([1]));
        assert_eq!(params_of("[1]").unwrap_err().code(), crate::failure::USAGE);
        assert_eq!(params_of("{").unwrap_err().code(), crate::failure::USAGE);
    }
}
