//! `pagurus scenario graph`: the workflow as a picture, from a file or from the server.

use std::path::Path;

use clap::ValueEnum;
use pagurus_scenario::Bounds;
use pagurus_scenario::script::Scripting;
use pagurus_scenario::source::{explain_faults, operations_of, read_with};
use pagurus_workbench::graph;
use serde_json::json;

use super::library::Libraries;
use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::{Screen, harmless};

/// Form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For browsers and documents
    Svg,
    /// Text that Markdown pages draw
    Mermaid,
}

/// Draws one scenario. The picture is made here, also that of a version of the server: the text is
/// what both have in common.
pub(super) async fn run(
    source: &str,
    format: Format,
    client: &ApiClient,
    bounds: &Bounds,
    screen: &Screen,
) -> Result<(), CliError> {
    let text = super::text_of(source, client).await?;
    if !is_file(source) && !operations_of(&text).is_empty() {
        return draw_there(source, format, client, screen).await;
    }
    let mut libraries = Libraries::of(&[]);
    let library = libraries.beside(Path::new(source), &text)?;
    let scripting = Scripting::new(bounds.script.clone());
    let scenario = read_with(&text, library, &scripting, bounds).map_err(|faults| {
        CliError::Input(format!(
            "{}: faults: {}\n{}",
            harmless(source),
            faults.len(),
            explain_faults(&text, source, &faults)
        ))
    })?;
    let picture = match format {
        Format::Svg => graph::svg(&scenario),
        Format::Mermaid => graph::mermaid(&scenario),
    };
    if screen.json {
        return screen.value(&json!({"scenario": scenario.name, "graph": picture}));
    }
    screen.foreign(&picture)
}

fn is_file(source: &str) -> bool {
    source == "-" || Path::new(source).is_file()
}

/// Has the server draw a version that runs operations: it knows which versions of them are meant.
async fn draw_there(
    source: &str,
    format: Format,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let named: super::ScenarioArgument = source.parse().map_err(CliError::Usage)?;
    let form = match format {
        Format::Svg => "svg",
        Format::Mermaid => "mermaid",
    };
    let mut query = named.query();
    query.push(("format", form.to_owned()));
    let picture = client.get(&format!("{}/graph", named.path()), &query).await?.text;
    if screen.json {
        return screen.value(&json!({"scenario": source, "graph": picture}));
    }
    screen.foreign(&picture)
}
