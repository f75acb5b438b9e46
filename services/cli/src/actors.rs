//! `pagurus actors …`: programs outside that decide tasks of orders.

use clap::Subcommand;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::actors::ActorView;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::list::{List, moment};
use crate::screen::Screen;

/// Commands about actors.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List actors with their tasks, their programs, and the time at which a task was last taken
    List,
    /// Show one actor
    Show {
        /// Name of the actor
        actor: String,
    },
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => ACTORS.all(&(), client, screen).await,
        Command::Show { actor } => {
            let reply = client.get(&format!("/v1/actors/{}", percent_encode(&actor)), &[]).await?;
            reply.show(screen, |actor| shown(actor, screen))
        }
    }
}

/// Actors, with whom their tasks wait for.
const ACTORS: List<ActorView> = List {
    path: "/v1/actors",
    none: "no order waits for an actor, and no actor has decided a task in the last day",
    hint: None,
    columns: &[
        ("ACTOR", |actor| actor.actor.clone()),
        ("STATE", |actor| actor.state.clone()),
        ("PROGRAMS", |actor| count(actor.consumers)),
        ("QUEUED", |actor| count(actor.queued)),
        ("IN HAND", |actor| count(actor.in_hand)),
        ("OLDEST SINCE", |actor| moment(actor.oldest_since)),
        ("LAST TAKEN", |actor| moment(actor.last_taken_at)),
        ("DECIDED/DAY", |actor| actor.decided.to_string()),
        ("TIME-OUTS/DAY", |actor| actor.work_timeouts.to_string()),
    ],
};

fn count(count: Option<u32>) -> String {
    count.map(|count| count.to_string()).unwrap_or_default()
}

fn shown(actor: &ActorView, screen: &Screen) -> String {
    let at = |at: Option<jiff::Timestamp>| at.map(crate::screen::time);
    screen.pairs(&[
        ("actor", Some(actor.actor.clone())),
        ("state", Some(actor.state.clone())),
        ("programs", actor.consumers.map(|count| count.to_string())),
        ("tasks in its queue", actor.queued.map(|count| count.to_string())),
        ("tasks in hand", actor.in_hand.map(|count| count.to_string())),
        ("tasks that orders wait for", Some(actor.tasks.to_string())),
        ("oldest since", at(actor.oldest_since)),
        ("last taken", at(actor.last_taken_at)),
        ("decided within a day", Some(actor.decided.to_string())),
        ("work time-outs within a day", Some(actor.work_timeouts.to_string())),
    ])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;
    use crate::list::table;

    #[test]
    fn dsp_14_a_line_says_whom_the_tasks_of_an_actor_wait_for() {
        let text = r#"{"actor": "scoring", "state": "busy", "consumers": 1, "queued": 4, "tasks": 6, "inHand": 2,
            "lastTakenAt": "2026-01-01T00:00:00Z", "decided": 9, "workTimeouts": 3}"#;
        let actor: ActorView = serde_json::from_str(text).unwrap();
        let line = table(ACTORS.columns, [&actor], &Screen::plain()).lines().nth(1).unwrap().to_owned();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["scoring", "busy", "1", "4", "2", "2026-01-01T00:00:00.000Z", "9", "3"]);
        let shown = shown(&actor, &Screen::plain());
        assert!(
            shown.contains("tasks in its queue") && shown.contains("2026-01-01T00:00:00.000Z"),
            "{shown}"
        );
    }
}
