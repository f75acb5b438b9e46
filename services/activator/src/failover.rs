//! Failover: the work of lost nodes goes to others (REC-10).
//!
//! One activator at a time does it, under a lock of its transaction. A pass takes a few stages of each
//! lost node, so that the load spreads over time and over the nodes that are left; while something is left, the next pass
//! follows after a rest that the domain works out.

use std::time::Duration;

use pagurus_command::recovery::{EndWanted, Sorted, end_all, end_poisoned, hand_out_again, node_of};
use pagurus_domain::classes::NODE_STOPPED;
use pagurus_domain::number::saturated;
use pagurus_domain::order::transition::Cause;
use pagurus_domain::recovery::{Finding, rest_between_passes};
use pagurus_runtime::config::WhenLost;
use pagurus_runtime::metrics::{Count, Level};
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::{Effects, Host};
use pagurus_store::Error;
use pagurus_store::recovery::lost::{self, Abandoned, Stuck};

use crate::recover::note;

/// Takes over from lost nodes, pass by pass.
#[derive(Debug, Default)]
pub(crate) struct Failover {
    /// Time until the next pass, while passes find something to take.
    rest: Option<Duration>,
    /// Stages that were left where they are at the last pass, because they began too long ago.
    left: i64,
}

impl BackgroundTask for Failover {
    const PAUSE: TurnPause = |settings| settings.recovery.interval;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let passed = self.pass(host).await;
        if passed.is_err() {
            self.rest = None;
        }
        note(host, "abandoned", passed);
        self.rest.map_or(NextTurn::AfterPause, NextTurn::After)
    }
}

impl Failover {
    /// Passes once over all lost nodes, unless another activator does so.
    async fn pass(&mut self, host: &Host) -> Result<(), Error> {
        let settings = &host.settings().failover;
        let mut client = host.store.recovery().await?;
        let tx = client.transaction().await?;
        if !lost::lock_failover(&tx).await? {
            self.rest = None;
            return Ok(());
        }
        let abandoned = lost::abandoned(&tx, settings.interval).await?;
        self.tell_left(host, abandoned.iter().map(|node| node.older).sum());
        let batch = saturated::<i64>(settings.batch);
        let mut effects = Effects::default();
        let mut taken = Vec::new();
        for lost in abandoned.iter().filter(|lost| lost.recent > 0) {
            taken.extend(lost::of_node(&tx, lost.node, settings.interval, Some(batch)).await?);
        }
        // Rows held by somebody were passed over; all that follows goes by ascending number.
        taken.sort_by_key(|stage| stage.no);
        self.rest = self.next_rest(&abandoned, taken.len(), host);
        let Sorted { again, poison } = match settings.running {
            WhenLost::Resume => hand_out_again(host, &tx, &taken, Finding::NodeLost, &mut effects).await?,
            WhenLost::Cancel => Sorted { again: Vec::new(), poison: Vec::new() },
        };
        tx.commit().await?;
        drop(client);
        end_poisoned(host, &poison, Finding::NodeLost).await;
        if settings.running == WhenLost::Cancel {
            let ends: Vec<EndWanted> = taken.iter().map(cancel).collect();
            end_all(host, &ends).await;
        }
        host.metrics.count(Count::Reissued, Finding::NodeLost.as_str(), again.len() as u64);
        for stage in &again {
            tracing::warn!(
                order = stage.id,
                transaction = stage.transaction_id,
                attempt = stage.attempt.0,
                restarts = stage.restarts + 1,
                "FAILOVER from {}: the stage is handed out again",
                node_of(stage)
            );
        }
        effects.send(host).await;
        Ok(())
    }

    /// The rest after this pass. The shortest one counts until nothing is left: as the work becomes less, the pace stays. A
    /// pass that could take nothing, because somebody holds the rows, is followed by the next look of recovery.
    fn next_rest(&self, abandoned: &[Abandoned], taken: usize, host: &Host) -> Option<Duration> {
        if taken == 0 {
            return None;
        }
        let settings = host.settings();
        let left = abandoned.iter().map(|node| node.recent).max().unwrap_or(0);
        let (left, batch) = (saturated::<u64>(left), settings.failover.batch as u64);
        let rest = rest_between_passes(left, batch, settings.recovery.interval);
        Some(self.rest.map_or(rest, |before| before.min(rest)))
    }

    /// Stages that are left where they are stay seen: as a number, and in the log whenever that changes.
    fn tell_left(&mut self, host: &Host, left: i64) {
        host.metrics.level(Level::FailoverLeft, "", left as f64);
        if left != std::mem::replace(&mut self.left, left) {
            tracing::warn!(
                stages = left,
                "stages of lost nodes began before `failover.interval`; they stay until their work time-out is over"
            );
        }
    }
}

/// The end of an order whose node is lost, where no other node may go on with it.
fn cancel(stage: &Stuck) -> EndWanted {
    let message = format!("its node {} was lost before it was done; it may be restarted", node_of(stage));
    EndWanted {
        no: stage.no,
        pass: Some(stage.pass),
        cause: Cause::Abandoned,
        class: Some(NODE_STOPPED),
        message,
    }
}
