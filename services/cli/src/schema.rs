//! `pagurus schema …`: JSON Schemas by which editors complete and check files, without a server.

use clap::ValueEnum;
use pagurus_runtime::config;
use pagurus_scenario::source;
use pagurus_workbench::trial;

use crate::failure::CliError;
use crate::screen::Screen;

/// The files that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum File {
    /// A scenario
    Scenario,
    /// Tests of a scenario
    Tests,
    /// The configuration
    Configuration,
}

/// Prints the schema of one kind of file.
pub(crate) fn run(file: File, screen: &Screen) -> Result<(), CliError> {
    let schema = match file {
        File::Scenario => source::editor_schema(),
        File::Tests => trial::editor_schema(),
        File::Configuration => config::editor_schema(),
    };
    screen.line(&serde_json::to_string_pretty(&schema).map_err(anyhow::Error::from)?)
}
