//! Failures as people and programs see them: texts on standard error, problems on standard output.

use pagurus_wire::problem::Problem;

use crate::failure::{CliError, fault_of};
use crate::screen::{Paint, Screen, harmless};

/// Reports the failure: to people on standard error, to programs as a problem on standard output.
pub(crate) fn show(failure: &CliError, screen: &Screen) {
    if matches!(failure, CliError::Reported(_)) {
        return;
    }
    // Where standard output takes nothing, standard error is left.
    if screen.json && screen.value(&failure.to_problem()).is_ok() {
        return;
    }
    let label = screen.paint_error(Paint::Bad, "error:");
    eprintln!("{label} {}", text_of(failure));
}

fn text_of(failure: &CliError) -> String {
    match failure {
        CliError::Problem(problem) => problem_text(problem),
        CliError::Away { .. } => format!(
            "{}\nIs it running? Choose another server with --server or PAGURUS_SERVER.",
            harmless(&failure.to_string())
        ),
        CliError::Database { is_unreachable, .. } => {
            let hint = "\nIs PostgreSQL running, and is `database.url` right?";
            format!("{}{}", harmless(&failure.to_string()), if *is_unreachable { hint } else { "" })
        }
        // Made by us for reading: its line breaks are meant.
        CliError::Input(text) => text.clone(),
        CliError::Usage(_) | CliError::Reported(_) | CliError::Other(_) => failure.to_string(),
    }
}

/// Text of a problem for people: what happened, then everything that is wrong.
pub(crate) fn problem_text(problem: &Problem) -> String {
    let title = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
    let mut text = harmless(title);
    let alone = matches!(&problem.errors[..], [only] if only.hint.is_none());
    for detail in problem.errors.iter().filter(|_| !alone) {
        text.push_str("\n  ");
        text.push_str(&harmless(&fault_of(detail).to_string()));
    }
    if let Some(status) = &problem.order_status
        && !problem.detail.contains(&format!("`{status}`"))
    {
        text.push_str(&format!("\nThe order is in status `{}`.", harmless(status)));
    }
    text
}

#[cfg(test)]
mod tests {
    use pagurus_domain::document::{Fault, Position};
    use pagurus_wire::problem::Type;

    use super::*;
    use crate::failure::faults_of;

    #[test]
    fn all_faults_of_a_problem_are_shown_with_place_and_remedy() {
        let faults = [
            Fault::placed(None, "/id", "is missing"),
            Fault::placed(Some(Position { line: 2, column: 5 }), "/prio", "is unknown")
                .hint("did you mean `priority`?"),
        ];
        let problem = Problem::of_faults(Type::Invalid, &faults);
        let text = problem_text(&problem);
        assert_eq!(
            text,
            "id is missing (and 1 more)\n  id is missing\n  2:5: is unknown; did you mean `priority`?"
        );
        assert_eq!(faults_of(&problem), faults);
    }

    #[test]
    fn one_fault_is_said_once_and_the_status_is_named() {
        let problem = Problem::of_faults(Type::Invalid, &[Fault::placed(None, "/id", "is missing")]);
        assert_eq!(problem_text(&problem), "id is missing");
        let problem = Problem::new(Type::Conflict, "taken").with_status("running");
        assert_eq!(problem_text(&problem), "taken\nThe order is in status `running`.");
    }
}
