//! `pagurus doctor`: one verdict over servers, nodes and backlog, each finding with what to do.

use clap::Args;
use pagurus_wire::doctor::{DoctorFinding, DoctorView};

use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::screen::{Paint, Screen, harmless};

/// Settings of the verdict.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Treat warnings as errors: exit code 1 for them, too
    #[arg(long)]
    strict: bool,
}

/// Runs the command. The exit code is 0 where nothing is wrong, 1 where something is, 5 where nobody answers.
pub(crate) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    let reply = client.get("/v1/doctor", &[]).await?;
    let verdict: DoctorView = reply.read()?;
    if screen.json {
        screen.document(&reply.text)?;
    } else {
        screen.line(&verdict_text(&verdict, screen))?;
    }
    let is_good = verdict.verdict == "ok" || (verdict.verdict == "warning" && !arguments.strict);
    if is_good { Ok(()) } else { Err(CliError::Reported(FAILED)) }
}

fn verdict_text(verdict: &DoctorView, screen: &Screen) -> String {
    let mut lines: Vec<String> =
        verdict.findings.iter().map(|finding| finding_text(finding, screen)).collect();
    let count = |severity: &str| verdict.findings.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings) = (count("error"), count("warning"));
    let checks = verdict.checks.len();
    lines.push(match (errors, warnings) {
        (0, 0) => format!("{} nothing is wrong, after {checks} checks", screen.paint(Paint::Good, "ok")),
        _ => format!("errors: {errors}, warnings: {warnings}, after {checks} checks"),
    });
    lines.join("\n")
}

fn finding_text(finding: &DoctorFinding, screen: &Screen) -> String {
    let paint = if finding.severity == "error" { Paint::Bad } else { Paint::Under };
    let word = screen.paint(paint, &format!("{:<7}", harmless(&finding.severity)));
    let (check, message) = (harmless(&finding.check), harmless(&finding.message));
    format!("{word}  {check}: {message}\n         {}", harmless(&finding.remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_a_verdict_tells_each_finding_with_its_remedy() {
        let finding = |severity: &str| DoctorFinding {
            check: "nodes".into(),
            severity: severity.into(),
            message: "no worker is alive: no stage runs".into(),
            remedy: "start one: `pagurus serve --roles worker`".into(),
        };
        let mut verdict = DoctorView {
            at: jiff::Timestamp::UNIX_EPOCH,
            verdict: "error".into(),
            findings: vec![finding("error"), finding("warning")],
            checks: vec!["nodes".into(), "broker".into()],
        };
        assert_eq!(
            verdict_text(&verdict, &Screen::plain()),
            "error    nodes: no worker is alive: no stage runs\n         start one: `pagurus serve --roles worker`\n\
             warning  nodes: no worker is alive: no stage runs\n         start one: `pagurus serve --roles worker`\n\
             errors: 1, warnings: 1, after 2 checks"
        );
        verdict.findings.clear();
        assert_eq!(verdict_text(&verdict, &Screen::plain()), "ok nothing is wrong, after 2 checks");
    }
}
