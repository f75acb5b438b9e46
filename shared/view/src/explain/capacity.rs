//! Reasons for which a stage that may run is with no worker: nobody hands it out, nobody takes it, or every place that
//! it could have is taken.

use jiff::Timestamp;
use pagurus_domain::flow::{Capacity, FlowShare};
use pagurus_domain::number::saturated;
use pagurus_domain::order::Mode;
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_runtime::config::Settings;
use pagurus_store::hot::stages;
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::recovery::leases::{self, Leader};
use pagurus_store::recovery::presence::{self, NodeLoad, WorkerSeen};
use pagurus_store::{Client, Error};

use super::WaitSentence;

/// Finds what keeps a ready stage from a worker, from the tables; `None` if a hand-out is about to come.
pub(super) async fn hindrance(
    client: &Client,
    row: &Row,
    settings: &Settings,
) -> Result<Option<WaitSentence>, Error> {
    let count = |setting: usize| saturated::<u32>(setting);
    let distribution = &settings.distribution;
    let scene = CapacityConditions {
        leader: leases::leader(client).await?,
        workers: presence::workers_seen(client, settings.node.lost_after).await?,
        load: presence::load(client).await?,
        capacity: Capacity {
            parallel: count(distribution.parallel_count),
            sequential: count(distribution.sequential_count),
        },
        share: FlowShare { percentage: distribution.flow_share },
        of_flow: stages::running_of_flow(client, &row.flow).await?,
    };
    Ok(scene.hindrance(row.mode, &row.flow))
}

/// True where a dispatcher hands stages out and a worker takes them.
pub(super) async fn goes_on(client: &Client, settings: &Settings) -> Result<bool, Error> {
    let is_led = leases::leader(client).await?.is_some_and(|leader| leader.is_held);
    let workers = presence::workers_seen(client, settings.node.lost_after).await?;
    Ok(is_led && workers.iter().any(|worker| worker.is_alive && worker.takes))
}

/// The whole of what decides whether a stage is handed out.
struct CapacityConditions {
    leader: Option<Leader>,
    workers: Vec<WorkerSeen>,
    load: Vec<NodeLoad>,
    capacity: Capacity,
    share: FlowShare,
    /// Stages in progress of the order's flow, by mode.
    of_flow: [u32; 2],
}

impl CapacityConditions {
    fn hindrance(&self, mode: Mode, flow: &str) -> Option<WaitSentence> {
        let because = |reason| move |text| (reason, text);
        self.nobody_leads()
            .map(because(WaitReason::NoDispatcher))
            .or_else(|| self.nobody_takes().map(because(WaitReason::NoWorker)))
            .or_else(|| self.is_full(mode).map(because(WaitReason::Capacity)))
            .or_else(|| self.has_its_share(mode, flow).map(because(WaitReason::FlowLimited)))
    }

    fn has_its_share(&self, mode: Mode, flow: &str) -> Option<String> {
        let places = self.places();
        let full = !self.share.admits(self.capacity, places, mode, self.of_flow) && places > 0;
        full.then(|| {
            format!(
                "its flow `{flow}` has {} stages in progress, the most that one flow may have \
                 (`distribution.flows.max_share_percentage`: {})",
                self.of_flow[0].saturating_add(self.of_flow[1]),
                self.share.percentage
            )
        })
    }

    fn nobody_leads(&self) -> Option<String> {
        match self.leader {
            None => Some("there is no active dispatcher, and there never was one: start one".to_owned()),
            Some(Leader { is_held: true, .. }) => None,
            Some(Leader { until, .. }) => Some(format!(
                "there is no active dispatcher (the lease of the last one ended at {until:.3}): start one"
            )),
        }
    }

    fn nobody_takes(&self) -> Option<String> {
        let alive = self.workers.iter().filter(|worker| worker.is_alive).count();
        if alive == 0 {
            let seen: Option<Timestamp> = self.workers.iter().map(|worker| worker.seen_at).max();
            let seen =
                seen.map_or_else(|| "there never was one".to_owned(), |at| format!("last seen {at:.3}"));
            return Some(format!("no worker is alive ({seen}): start one"));
        }
        let none = self.takers().next().is_none();
        none.then(|| {
            format!(
                "none of the {alive} living workers takes new stages: they are starting, stopping, or out of service \
                 (`pagurus nodes list`)"
            )
        })
    }

    fn is_full(&self, mode: Mode) -> Option<String> {
        let in_progress: u32 = self.load.iter().map(|load| load.stages[mode as usize]).sum();
        if !self.capacity.admits(mode, in_progress) {
            let bound = self.capacity.of(mode);
            return Some(format!(
                "{in_progress} of {bound} {mode} stages are in progress (`distribution.capacity.{mode}_count`)"
            ));
        }
        let (places, taken) = (self.places(), self.takers().map(|worker| self.load_of(worker)).sum::<u32>());
        let full = self.takers().all(|worker| self.load_of(worker) >= self.allowance(worker));
        full.then(|| {
            let workers = self.takers().count();
            format!("{taken} of {places} places of the {workers} workers are taken (`worker.concurrency`)")
        })
    }

    fn takers(&self) -> impl Iterator<Item = &WorkerSeen> {
        self.workers.iter().filter(|worker| worker.is_alive && worker.takes)
    }

    fn places(&self) -> u32 {
        self.takers().map(|worker| self.allowance(worker)).fold(0, u32::saturating_add)
    }

    fn allowance(&self, worker: &WorkerSeen) -> u32 {
        let live = saturated::<u32>(self.takers().count());
        self.capacity.allowance(live, worker.concurrency)
    }

    fn load_of(&self, worker: &WorkerSeen) -> u32 {
        self.load.iter().find(|load| load.node == worker.node).map_or(0, |load| load.total())
    }
}

#[cfg(test)]
mod tests {
    use pagurus_domain::id::Incarnation;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap_or_default()
    }

    /// A scene with a worker of four places, in which nothing hinders.
    fn scene() -> CapacityConditions {
        let worker = WorkerSeen {
            node: Incarnation(1),
            concurrency: 4,
            is_alive: true,
            takes: true,
            seen_at: at(100),
        };
        CapacityConditions {
            leader: Some(Leader { until: at(60), is_held: true }),
            workers: vec![worker],
            load: vec![NodeLoad { node: Incarnation(1), stages: [2, 1] }],
            capacity: Capacity { parallel: 10, sequential: 10 },
            share: FlowShare { percentage: 80 },
            of_flow: [1, 0],
        }
    }

    fn hindrance_of(change: impl FnOnce(&mut CapacityConditions)) -> Option<String> {
        let mut scene = scene();
        change(&mut scene);
        scene.hindrance(Mode::Parallel, "f").map(|(_, text)| text)
    }

    /// Change of a scene in which nothing hinders.
    type Change = fn(&mut CapacityConditions);

    #[test]
    fn ord_28_what_keeps_a_ready_stage_from_a_worker_is_named_with_its_figures() {
        assert_eq!(hindrance_of(|_| {}), None);
        let cases: [(Change, &str); 9] = [
            (
                |scene| scene.leader = None,
                "there is no active dispatcher, and there never was one: start one",
            ),
            (
                |scene| scene.leader = Some(Leader { until: at(60), is_held: false }),
                "there is no active dispatcher (the lease of the last one ended at 1970-01-01T00:01:00.000Z): start one",
            ),
            (|scene| scene.workers.clear(), "no worker is alive (there never was one): start one"),
            (
                |scene| scene.workers[0].is_alive = false,
                "no worker is alive (last seen 1970-01-01T00:01:40.000Z): start one",
            ),
            (
                |scene| scene.workers[0].takes = false,
                "none of the 1 living workers takes new stages: they are starting, stopping, or out of service (`pagurus nodes list`)",
            ),
            (
                |scene| scene.capacity.parallel = 2,
                "2 of 2 parallel stages are in progress (`distribution.capacity.parallel_count`)",
            ),
            (
                |scene| scene.workers[0].concurrency = 3,
                "3 of 3 places of the 1 workers are taken (`worker.concurrency`)",
            ),
            (
                // One that lives on after it was taken for lost still counts against the bound of its mode.
                |scene| scene.load.push(NodeLoad { node: Incarnation(7), stages: [8, 0] }),
                "10 of 10 parallel stages are in progress (`distribution.capacity.parallel_count`)",
            ),
            (
                |scene| {
                    scene.workers[0].concurrency = 5;
                    scene.of_flow = [3, 1];
                },
                "its flow `f` has 4 stages in progress, the most that one flow may have \
                 (`distribution.flows.max_share_percentage`: 80)",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(hindrance_of(change).as_deref(), Some(expected));
        }
    }
}
