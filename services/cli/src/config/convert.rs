//! `pagurus config convert`: the configuration of another engine as one of ours.

use std::path::Path;

use pagurus_runtime::config::{self, Converted};
use serde_json::{Value, json};

use crate::failure::CliError;
use crate::input;
use crate::screen::Screen;

/// Converts a file, prints the configuration, and notes what it could not carry over.
pub(super) fn run(file: &Path, screen: &Screen) -> Result<(), CliError> {
    let text = input::text_of(file)?;
    let converted = config::convert(&text).map_err(|faults| {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        CliError::Input(format!("{}: {}", input::name_of(file), lines.join("\n")))
    })?;
    let Converted { config, unknown } = converted;
    if screen.json {
        let unknown: Vec<Value> =
            unknown.iter().map(|(name, near)| json!({"name": name, "nearest": near})).collect();
        return screen.value(&json!({"config": config, "unknown": unknown}));
    }
    let yaml = serde_saphyr::to_string(&Value::Object(config)).map_err(anyhow::Error::from)?;
    for (name, near) in &unknown {
        let near = near.map(|near| format!("; the nearest key here is `{near}`")).unwrap_or_default();
        screen.note(&format!("`{name}` has no counterpart{near}"));
    }
    for fault in config::check(&yaml, std::iter::empty()) {
        screen.note(&format!("still to be mended: {fault}"));
    }
    screen.line(yaml.trim_end())
}
