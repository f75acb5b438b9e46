//! Faults of processes and servers, and their end.

use pagurus_domain::id::Role;

use super::Run;
use crate::core::ProcessId;
use crate::message::{Event, Fault, Input};

impl Run<'_> {
    /// A process is gone, with all that it knew.
    pub(super) fn die(&mut self, index: ProcessId) {
        let process = &mut self.processes[index];
        process.state = None;
        process.deferred.clear();
        let life = process.life;
        self.core.living.remove(&index);
        self.core.listeners.remove(&index);
        self.core.give_back(index, life);
    }

    /// Lets a fault happen.
    pub(super) fn break_something(&mut self, fault: Fault) {
        if !self.core.faulty {
            return;
        }
        self.core.note(format_args!("{fault:?}"));
        match fault {
            Fault::Kill(process, after) => {
                self.die(process);
                self.core.schedule(after, Event::Start(process));
            }
            Fault::Stop(process, after) => {
                let life = self.processes[process].life;
                if self.processes[process].role == Role::Worker {
                    self.give(process, life, Input::Stop);
                } else {
                    self.die(process);
                    self.core.schedule(after, Event::Start(process));
                }
            }
            Fault::Freeze(process, after) => {
                let life = self.processes[process].life;
                self.processes[process].frozen = true;
                // Its connection to the broker is given up when it is silent for too long.
                if after > 8_000 {
                    self.core.give_back(process, life);
                }
                self.core.schedule(after, Event::Thaw(process, life));
            }
            Fault::Cut(process, after) => {
                self.core.cut.insert(process, self.core.now + after);
            }
            Fault::Database(after) => self.core.database_away = self.core.now + after,
            Fault::Broker(after) => {
                self.core.broker_away = self.core.now + after;
                self.core.give_all_back();
            }
        }
    }

    /// A frozen process goes on.
    pub(super) fn thaw(&mut self, index: ProcessId, life: u32) {
        let process = &mut self.processes[index];
        if process.life != life || !process.frozen {
            return;
        }
        process.frozen = false;
        let deferred = std::mem::take(&mut process.deferred);
        self.core.note(format_args!("{} goes on, {} inputs wait", process.name, deferred.len()));
        for input in deferred {
            self.give(index, life, input);
        }
    }

    /// Ends all faults.
    pub(super) fn heal(&mut self) {
        self.core.faulty = false;
        self.core.healed_at = self.core.now;
        (self.core.database_away, self.core.broker_away) = (0, 0);
        self.core.cut.clear();
        for index in 0..self.processes.len() {
            let life = self.processes[index].life;
            self.thaw(index, life);
            self.core.schedule(10, Event::Start(index));
        }
        self.core.note(format_args!("faults are over"));
    }
}
