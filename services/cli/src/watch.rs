//! `--watch`: a command that only shows, again and again, until it is interrupted.

use std::future::Future;
use std::time::Duration;

use crate::failure::CliError;
use crate::failure_text;
use crate::screen::Screen;
use crate::{
    Command, access, errors, flows, leases, nodes, operation, order, queues, refused, scenario, schedules,
    search, systems,
};

/// True for commands that only show something, so that they can be run again and again.
pub(crate) fn only_shows(command: &Command) -> bool {
    match command {
        Command::Order(command) => matches!(
            command,
            order::Command::Get { .. }
                | order::Command::List(_)
                | order::Command::Count(_)
                | order::Command::Log { .. }
                | order::Command::Steps { .. }
                | order::Command::Tasks { .. }
                | order::Command::Explain { .. }
                | order::Command::Events { .. }
                | order::Command::Dependencies(_)
        ),
        Command::Scenario(command) => {
            matches!(command, scenario::Command::List | scenario::Command::Versions { .. })
        }
        Command::Flows(command) => matches!(
            command,
            flows::Command::List(_)
                | flows::Command::Show { .. }
                | flows::Command::History(_)
                | flows::Command::Stops { .. }
        ),
        Command::Systems(command) => {
            matches!(
                command,
                systems::Command::List | systems::Command::Show { .. } | systems::Command::History(_)
            )
        }
        Command::Actors(_) => true,
        Command::Schedules(command) => matches!(
            command,
            schedules::Command::List
                | schedules::Command::Get { .. }
                | schedules::Command::Times(_)
                | schedules::Command::Runs { .. }
        ),
        Command::Leases(command) => matches!(command, leases::Command::List),
        Command::Queues(command) => matches!(command, queues::Command::List { .. }),
        Command::Nodes(command) => matches!(command, nodes::Command::List | nodes::Command::Leases),
        Command::Operation(command) => matches!(
            command,
            operation::Command::List { .. }
                | operation::Command::Show { .. }
                | operation::Command::Orders { .. }
        ),
        Command::Searches(command) => matches!(command, search::Command::List),
        Command::Refused(command) => {
            matches!(command, refused::Command::List(_) | refused::Command::Show { .. })
        }
        Command::Access(command) => access::only_shows(command),
        Command::Errors(arguments) => errors::only_shows(arguments),
        Command::Callbacks(_) | Command::Notifications(_) | Command::Audit(_) | Command::Doctor(_) => true,
        _ => false,
    }
}

/// Runs a command turn by turn, with a pause between. A server that is away is reported, and asked again: it may be restarted
/// while somebody watches. Ends only where the command itself is wrong.
pub(crate) async fn run<F>(
    pause: Duration,
    screen: &Screen,
    turn: impl Fn(Screen) -> F,
) -> Result<(), CliError>
where
    F: Future<Output = Result<(), CliError>>,
{
    let gathering = screen.gathering();
    loop {
        match turn(gathering).await {
            Ok(()) => {}
            // What was found is shown, and may be mended while somebody watches.
            Err(CliError::Reported(_)) => {}
            Err(failure) if failure.is_away() && !screen.json => {
                gathering.line(&format!("{failure}; trying again"))?;
            }
            Err(failure) if failure.is_away() => failure_text::show(&failure, screen),
            Err(failure) => return Err(failure),
        }
        screen.turn_over()?;
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use clap::Parser as _;

    use super::*;
    use crate::CommandLine;

    #[test]
    fn ui_only_commands_that_change_nothing_can_be_watched() {
        let watched = |line: &str| {
            let CommandLine { command, global } =
                CommandLine::try_parse_from(line.split_whitespace()).unwrap();
            assert!(global.watch.is_some(), "{line}");
            only_shows(&command)
        };
        for line in [
            "pagurus order list --status fail --watch 2",
            "pagurus --watch 0.5 nodes list",
            "pagurus doctor --watch 10",
            "pagurus errors --watch 5",
        ] {
            assert!(watched(line), "{line}");
        }
        for line in [
            "pagurus order cancel a --watch 2",
            "pagurus errors kill --class x --reason r --watch 2",
            "pagurus operation pause 7 --reason r --watch 2",
            "pagurus flows stop x --reason r --watch 1",
            "pagurus migrate --watch 1",
        ] {
            assert!(!watched(line), "{line}");
        }
    }
}
