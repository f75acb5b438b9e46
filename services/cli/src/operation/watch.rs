//! The progress of an operation, on a bar, until it is over or rests.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use pagurus_wire::operations::OperationView;

use super::{path_of, tables};
use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::screen::{ProgressMeter, Screen};

/// Interval between two looks.
const EVERY: Duration = Duration::from_millis(300);

/// Follows an operation; its end, or its pause, is printed.
pub(crate) async fn run(no: i64, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let mut progress = ProgressMeter::new(0, screen);
    let path = path_of(no, "");
    let operation = loop {
        let operation: OperationView = client.patiently(None, || client.get(&path, &[])).await?.read()?;
        progress.at(operation.done + operation.skipped + operation.failed, operation.total);
        if operation.state != "running" {
            break operation;
        }
        tokio::time::sleep(EVERY).await;
    };
    progress.end();
    if screen.json {
        screen.value(&operation)?;
    } else {
        screen.line(&tables::summary(&operation))?;
    }
    let well = operation.state == "done" && operation.failed == 0;
    if well { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}

/// Asks a person.
pub(crate) fn confirm(screen: &Screen) -> Result<(), CliError> {
    confirm_or(screen, "say --yes, or --dry-run to see which")
}

/// Asks a person; `otherwise` tells what to do where nobody can be asked.
pub(crate) fn confirm_or(screen: &Screen, otherwise: &str) -> Result<(), CliError> {
    if screen.json || !std::io::stdin().is_terminal() {
        return Err(CliError::Usage(format!("nobody can be asked here: {otherwise}")));
    }
    eprint!("go on? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}
