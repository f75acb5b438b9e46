//! The worker: claims, drives, ends. A stage is held from before its claim until its end is written.

use std::collections::{BTreeMap, BTreeSet};

use pagurus_dispatch::HandOut;
use pagurus_domain::id::{Attempt, Epoch, Incarnation, OrderNo};
use pagurus_domain::invariants::standing::of_capacity;
use pagurus_domain::recovery::Finding;

use crate::activator::hand_out_again;
use crate::core::{Core, Trouble, millis};
use crate::driving::Driven;
use crate::effects::Effects;
use crate::message::{Input, Message};
use crate::outside::World;
use crate::plan::{RECOVERY, WORK};
use crate::planted::Planted;
use crate::scenarios::Library;
use crate::store::{Claimed, NodeStatus, OfferedStage, Unclaimed};

/// An order and the number of its hand-out.
pub type Key = (OrderNo, Attempt);

/// Time for what runs, before it is given back.
const GRACE: i64 = 3_000;

/// The process.
#[derive(Debug)]
pub struct Working {
    node: Incarnation,
    places: usize,
    held: BTreeSet<Key>,
    stages: BTreeMap<Key, Driven>,
    /// Held here and with nobody at the last look.
    unknown: BTreeSet<Key>,
    is_stopping: bool,
}

impl Working {
    /// Creates a worker that is registered under this number.
    #[must_use]
    pub const fn new(node: Incarnation, places: u32) -> Self {
        Self {
            node,
            places: places as usize,
            held: BTreeSet::new(),
            stages: BTreeMap::new(),
            unknown: BTreeSet::new(),
            is_stopping: false,
        }
    }

    /// The number under which it is registered.
    #[must_use]
    pub const fn node(&self) -> Incarnation {
        self.node
    }

    /// Goes on under a new number, without its stages: its life in the registry was declared over.
    pub fn reborn(&mut self, node: Incarnation) {
        *self = Self::new(node, u32::try_from(self.places).unwrap_or(1));
    }

    /// Takes what comes.
    pub fn take(&mut self, core: &mut Core, world: &mut World, library: &Library, input: Input) {
        match input {
            Input::Begin => core.later(millis(RECOVERY), Input::Look),
            Input::Look => {
                core.later(millis(RECOVERY), Input::Look);
                let _ = self.reconcile(core);
            }
            // After a claim that failed.
            Input::Tick => {
                let _ = self.give_back(core);
            }
            Input::Message(Message::HandOuts(hand_outs, epoch)) => {
                self.claim(core, world, library, &hand_outs, epoch);
            }
            Input::Message(Message::BreakOff(over)) => {
                over.iter().for_each(|key| self.break_off(core, *key));
            }
            Input::GoOn(key, question, answer) => {
                if let Some(stage) = self.stages.get_mut(&key).filter(|stage| stage.waits_for(question)) {
                    let goes_on = stage.answer(core, world, library, *answer);
                    self.settle(key, goes_on);
                }
            }
            Input::Again(key) => {
                if let Some(stage) = self.stages.get_mut(&key) {
                    let goes_on = stage.go_on(core, world, library);
                    self.settle(key, goes_on);
                }
            }
            Input::Stop => {
                self.is_stopping = true;
                let node = self.node;
                let _ = core.call("stopping", |tables| tables.set_node_status(node, NodeStatus::Stopping));
                let mut effects = Effects::default();
                effects.news.workers_changed = true;
                effects.send(core);
                core.later(GRACE, Input::Grace);
            }
            Input::Grace => self.leave(core),
            _ => {}
        }
    }

    fn settle(&mut self, key: Key, goes_on: bool) {
        if !goes_on {
            self.stages.remove(&key);
            self.held.remove(&key);
        }
    }

    fn break_off(&mut self, core: &mut Core, key: Key) {
        if self.stages.remove(&key).is_some() {
            core.note(format_args!("breaks off {}.{}", key.0, key.1));
            core.tables.witness.saw("a stage was broken off");
            self.held.remove(&key);
            let ended = vec![(key.0, key.1, None)];
            let mut effects = Effects::default();
            effects.news.ended = ended;
            effects.send(core);
        }
    }

    fn claim(
        &mut self,
        core: &mut Core,
        world: &mut World,
        library: &Library,
        hand_outs: &[HandOut],
        epoch: Epoch,
    ) {
        let room = if self.is_stopping { 0 } else { self.places.saturating_sub(self.stages.len()) };
        let room = if core.has(Planted::PlacesIgnored) { usize::MAX } else { room };
        let (mut offered, mut refused) = (BTreeMap::new(), Vec::new());
        for hand_out in hand_outs.iter().filter(|one| one.node == self.node) {
            let key = (hand_out.no, hand_out.attempt);
            // A message that comes twice must not be answered.
            if self.held.contains(&key) {
                continue;
            }
            if offered.len() >= room {
                refused.push((*hand_out, Unclaimed::Gone, true, epoch));
                continue;
            }
            self.held.insert(key);
            offered.insert(hand_out.no, *hand_out);
        }
        let stages: Vec<OfferedStage> =
            offered.values().map(|one| OfferedStage { no: one.no, attempt: one.attempt, epoch }).collect();
        let node = self.node;
        let done = if stages.is_empty() {
            Ok((Vec::new(), Vec::new()))
        } else {
            core.call("claim", |tables| tables.claim(node, WORK, &stages))
        };
        match done {
            Ok((claimed, unclaimed)) => {
                for (one, why) in unclaimed {
                    self.held.remove(&(one.no, one.attempt));
                    refused.push((offered[&one.no], why, false, epoch));
                    core.tables.witness.saw(match why {
                        Unclaimed::Gone => "a hand-out found nothing",
                        Unclaimed::Behind => "a hand-out was not the head of its queue",
                        Unclaimed::StaleEpoch => "a hand-out bore a former epoch",
                    });
                }
                self.begin(core, world, library, claimed);
            }
            Err(Trouble::Died) => return,
            Err(_) => {
                stages.iter().for_each(|one| {
                    self.held.remove(&(one.no, one.attempt));
                });
                core.later(200, Input::Tick);
            }
        }
        let mut effects = Effects::default();
        effects.news.refused = refused;
        effects.send(core);
    }

    fn begin(&mut self, core: &mut Core, world: &mut World, library: &Library, claimed: Vec<Claimed>) {
        for stage in claimed {
            if core.died {
                return;
            }
            let key = (stage.no, stage.attempt);
            core.note(format_args!("runs {}.{} by {}", key.0, key.1, stage.wake.as_str()));
            let mut driven = Driven::new(stage, core.now);
            let goes_on = driven.begin(core, world, library);
            self.stages.insert(key, driven);
            self.settle(key, goes_on);
        }
        let found = of_capacity(&format!("node {}", self.node), self.stages.len(), self.places);
        core.tables.witness.violations.extend(found);
    }

    /// Holds what the database says is here against what is held.
    fn reconcile(&mut self, core: &mut Core) -> Result<(), Trouble> {
        self.give_back(core)?;
        let node = self.node;
        let known: BTreeSet<Key> =
            core.call("claims of node", |tables| tables.claims_of_node(node))?.into_iter().collect();
        let unknown: BTreeSet<Key> = self.held.difference(&known).copied().collect();
        let over: Vec<Key> = unknown.intersection(&self.unknown).copied().collect();
        over.into_iter().for_each(|key| self.break_off(core, key));
        self.unknown = unknown;
        Ok(())
    }

    fn give_back(&self, core: &mut Core) -> Result<(), Trouble> {
        let node = self.node;
        let unheld = |tables: &crate::store::Tables| {
            let claims = tables.claims_of_node(node).into_iter();
            claims.filter(|key| !self.held.contains(key)).map(|(no, _)| no).collect()
        };
        core.tables.now = core.stamp();
        let nothing: Vec<OrderNo> = unheld(&core.tables);
        if nothing.is_empty() {
            return Ok(());
        }
        hand_out_again(core, "give back", unheld, Finding::Unheld)?;
        core.tables.witness.saw("a claim whose answer was lost was given back");
        Ok(())
    }

    /// Gives what still runs to others, and ends the process.
    fn leave(&mut self, core: &mut Core) {
        let node = self.node;
        let _ =
            hand_out_again(core, "hand over", |tables| tables.of_node(node, usize::MAX), Finding::Released);
        let _ = core.call("stopped", |tables| tables.set_node_status(node, NodeStatus::Stopped));
        self.stages.clear();
        core.died = true;
    }
}
