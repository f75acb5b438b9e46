//! Programs that take tasks of actors, counted where orders wait for their decisions: an actor without a program holds its orders
//! up, and nobody else would say so before they are overdue. Never changes anything.

use std::collections::BTreeMap;
use std::time::Duration;

use pagurus_runtime::Host;
use pagurus_runtime::metrics::Level;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_scenario::stage::TASK_PREFIX;
use pagurus_store::Error;
use pagurus_store::recovery::idle;

use crate::recover::note;

/// Interval between two looks.
const EVERY: Duration = Duration::from_secs(5);
/// Suspended orders of one look: a round over a hundred thousand takes some four minutes.
const PAGE: i64 = 2000;
/// Actors that are asked about at a time, as many as the label of the gauge tells apart.
const MOST: usize = 200;
/// Longest time for the broker to say who takes tasks.
const PATIENCE: Duration = Duration::from_secs(2);

/// The look at the programs of actors, page by page of the orders that wait for them.
#[derive(Default)]
pub(crate) struct ActorLook {
    awaited: Awaited,
    after: i64,
}

impl BackgroundTask for ActorLook {
    const PAUSE: TurnPause = |_| EVERY;
    const FIRST: NextTurn = NextTurn::AtOnce;
    const TAKES_WORK: bool = false;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        match page(host, self.after).await {
            Ok((names, last)) => {
                for gone in self.awaited.take(names, last.is_none()) {
                    host.metrics.level(Level::ActorConsumers, &gone, f64::NAN);
                }
                self.after = last.unwrap_or(0);
            }
            Err(error) => note(host, "actors", Err(error)),
        }
        show(host, &self.awaited).await;
        NextTurn::AfterPause
    }
}

/// Actors that the next suspended orders wait for, and the last of these orders; none after the end.
async fn page(host: &Host, after: i64) -> Result<(Vec<String>, Option<i64>), Error> {
    let client = host.store.operations().await?;
    let (requests, last) = idle::awaited_tasks(&client, after, PAGE).await?;
    let actors = requests.iter().filter_map(|name| name.strip_prefix(TASK_PREFIX)).map(str::to_owned);
    Ok((actors.collect(), last))
}

async fn show(host: &Host, awaited: &Awaited) {
    for actor in awaited.seen.keys() {
        // A broker that does not answer says nothing about the actor.
        let Ok(count) = host.broker.consumers_of_actor(actor, PATIENCE).await else { return };
        host.metrics.level(Level::ActorConsumers, actor, f64::from(count.unwrap_or(0)));
    }
}

/// Actors that orders wait for, each with the round over all orders in which one was last found.
#[derive(Debug, Default)]
struct Awaited {
    seen: BTreeMap<String, u64>,
    round: u64,
}

impl Awaited {
    /// Takes what a look found. Those that no order waited for in a whole round, if this look ends one.
    fn take(&mut self, actors: Vec<String>, ends_round: bool) -> Vec<String> {
        for actor in actors {
            if self.seen.len() < MOST || self.seen.contains_key(&actor) {
                self.seen.insert(actor, self.round);
            }
        }
        if !ends_round {
            return Vec::new();
        }
        let round = self.round;
        self.round += 1;
        let gone = self.seen.extract_if(.., |_, seen| *seen < round).map(|(actor, _)| actor);
        gone.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn rec_4_an_actor_is_forgotten_when_a_whole_round_finds_no_order_that_waits_for_it() {
        let mut awaited = Awaited::default();
        assert!(awaited.take(names(&["a"]), false).is_empty());
        assert!(awaited.take(names(&["b"]), true).is_empty(), "both were found in this round");
        assert!(awaited.take(names(&["b"]), false).is_empty(), "the round has not come to its end");
        assert_eq!(awaited.take(Vec::new(), true), ["a"]);
        assert_eq!(awaited.seen.keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn rec_4_no_more_actors_are_asked_about_than_the_gauge_tells_apart() {
        let mut awaited = Awaited::default();
        let many = (0..MOST + 5).map(|number| number.to_string()).collect();
        awaited.take(many, false);
        assert_eq!(awaited.seen.len(), MOST);
        awaited.take(names(&["0"]), true);
        assert!(awaited.seen.contains_key("0"));
    }
}
