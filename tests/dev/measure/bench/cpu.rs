//! Cost of processes: processor time and memory, as the kernel counts them.
//! Never samples: the counters of `/proc` are exact, and reading them costs next to nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use anyhow::{Context, Result};
use pagurus_harness::nodes::Role;

/// The unit of times in `/proc`, the same on every Linux that a program can see.
const TICKS_PER_SECOND: f64 = 100.0;

/// A part of the cost of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A single service.
    Service(Role),
    /// A process that stands for all five services: the hand-written pipeline, or all services together.
    OneProcess,
    /// The server and all of its sessions.
    Postgres,
    /// The broker.
    Rabbit,
    /// Generator and called system.
    Load,
}

impl Part {
    /// The parts that have a column in tables. One process that stands for all services is shown as the worker.
    pub const COLUMNS: [Self; 8] = [
        Self::Service(Role::Intake),
        Self::Service(Role::Dispatcher),
        Self::Service(Role::Activator),
        Self::Service(Role::Worker),
        Self::Service(Role::Notifier),
        Self::Postgres,
        Self::Rabbit,
        Self::Load,
    ];
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Service(role) => role.as_str(),
            Self::OneProcess => "one process",
            Self::Postgres => "Postgres",
            Self::Rabbit => "RabbitMQ",
            Self::Load => "load",
        })
    }
}

/// Processor seconds by part.
pub type Seconds = BTreeMap<Part, f64>;

/// Readings of one moment.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Processor time used so far by the processes watched.
    pub used: Seconds,
    machine: Machine,
}

/// Usage between two readings.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Processor seconds by part.
    pub used: Seconds,
    /// Share of the machine's processor time in which it had nothing to do.
    pub idle: f64,
    /// Share that went to processes that are not watched.
    pub others: f64,
}

impl Usage {
    /// Seconds of all parts together.
    pub fn all(&self) -> f64 {
        self.used.values().sum()
    }

    /// Seconds of each part that has a column, as text; empty for one that was not there.
    pub fn columns(&self, text: impl Fn(f64) -> String) -> Vec<String> {
        let one_process = self.used.get(&Part::OneProcess);
        let of = |part: Part| {
            let as_worker = one_process.filter(|_| part == Part::Service(Role::Worker));
            as_worker.or_else(|| self.used.get(&part)).map_or_else(String::new, |&seconds| text(seconds))
        };
        Part::COLUMNS.map(of).into()
    }

    /// Usage of several turns of the same length.
    pub fn of_turns(turns: &[Self]) -> Self {
        let mut all = Self::default();
        let share = 1.0 / turns.len() as f64;
        for turn in turns {
            for (&part, seconds) in &turn.used {
                *all.used.entry(part).or_default() += seconds;
            }
            all.idle += share * turn.idle;
            all.others += share * turn.others;
        }
        all
    }
}

impl Reading {
    /// Usage from this reading to the other.
    pub fn until(&self, later: &Self) -> Usage {
        let used: Seconds = later
            .used
            .iter()
            .map(|(&part, seconds)| (part, seconds - self.used.get(&part).unwrap_or(&0.0)))
            .collect();
        let all = (later.machine.all - self.machine.all).max(1.0 / TICKS_PER_SECOND);
        let idle = (later.machine.idle - self.machine.idle) / all;
        let watched = used.values().sum::<f64>() / all;
        Usage { used, idle, others: (1.0 - idle - watched).max(0.0) }
    }
}

/// Processor seconds of all cores since the machine started.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    all: f64,
    idle: f64,
}

impl Machine {
    fn read() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().context("/proc/stat is empty")?;
        let ticks = line.split_whitespace().skip(1).map(str::parse).collect::<Result<Vec<f64>, _>>()?;
        // user, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen; guests are in user already.
        let sum = |ticks: &[f64]| ticks.iter().sum::<f64>() / TICKS_PER_SECOND;
        Ok(Self { all: sum(ticks.get(..8).context("too short")?), idle: sum(&ticks[3..5]) })
    }
}

/// The processes that a measurement watches.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    processes: Vec<(Part, u32)>,
}

impl Meter {
    /// Watches one more process, and for Postgres its children as well.
    pub fn watch(&mut self, part: Part, pid: u32) {
        self.processes.push((part, pid));
    }

    /// All processes watched, sessions of Postgres included.
    pub fn pids(&self) -> Result<Vec<u32>> {
        let mut all = Vec::new();
        for &(part, pid) in &self.processes {
            all.push(pid);
            if part == Part::Postgres {
                all.extend(children(pid)?);
            }
        }
        Ok(all)
    }

    /// Reads all counters.
    pub fn read(&self) -> Result<Reading> {
        Ok(Reading { used: self.used()?, machine: Machine::read()? })
    }

    fn used(&self) -> Result<Seconds> {
        let mut seconds = Seconds::new();
        for &(part, pid) in &self.processes {
            let stat = Stat::read(pid).with_context(|| format!("{part} (process {pid}) has ended"))?;
            let mut ticks = stat.own;
            if part == Part::Postgres {
                // Sessions that have ended were added to the parent's own account.
                ticks += stat.ended_children;
                let living = children(pid)?;
                ticks += living
                    .iter()
                    .filter_map(|&child| Stat::read(child).ok())
                    .map(|child| child.own)
                    .sum::<u64>();
            }
            *seconds.entry(part).or_insert(0.0) += ticks as f64 / TICKS_PER_SECOND;
        }
        Ok(seconds)
    }

    /// Resident memory of the services now, in megabytes.
    pub fn memory(&self) -> BTreeMap<Role, f64> {
        let services = self.processes.iter().filter_map(|&(part, pid)| match part {
            Part::Service(role) => Some((role, megabytes(pid, "VmRSS:")?)),
            _ => None,
        });
        services.collect()
    }

    /// Resident memory of the services at most, since [`Meter::forget_peaks`] or their start.
    pub fn peak_memory(&self) -> BTreeMap<Role, f64> {
        let services = self.processes.iter().filter_map(|&(part, pid)| match part {
            Part::Service(role) => Some((role, megabytes(pid, "VmHWM:")?)),
            _ => None,
        });
        services.collect()
    }

    /// Resets the peaks.
    pub fn forget_peaks(&self) -> Result<()> {
        for (_, pid) in self.processes.iter().filter(|(part, _)| matches!(part, Part::Service(_))) {
            fs::write(format!("/proc/{pid}/clear_refs"), "5")?;
        }
        Ok(())
    }
}

struct Stat {
    parent: u32,
    own: u64,
    ended_children: u64,
}

impl Stat {
    fn read(pid: u32) -> Result<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name in parentheses may hold spaces; the state after them is field 3.
        let (_, rest) = text.rsplit_once(')').context("no name")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field =
            |number: usize| -> Result<u64> { Ok(fields.get(number - 3).context("too short")?.parse()?) };
        Ok(Self {
            parent: u32::try_from(field(4)?)?,
            own: field(14)? + field(15)?,
            ended_children: field(16)? + field(17)?,
        })
    }
}

fn children(parent: u32) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that ends while we look is counted with its parent from now on.
        if Stat::read(pid).is_ok_and(|stat| stat.parent == parent) {
            found.push(pid);
        }
    }
    Ok(found)
}

fn megabytes(pid: u32, name: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn this_process_has_a_parent_time_and_memory() {
        let myself = std::process::id();
        let stat = Stat::read(myself).unwrap();
        assert!(children(stat.parent).unwrap().contains(&myself));
        let (now, most) = (megabytes(myself, "VmRSS:").unwrap(), megabytes(myself, "VmHWM:").unwrap());
        assert!(1.0 < now && now <= most);
    }

    #[test]
    fn one_process_stands_in_the_column_of_the_worker() {
        let used = Seconds::from([(Part::OneProcess, 2.0), (Part::Load, 1.0)]);
        let usage = Usage { used, ..Usage::default() };
        let columns = usage.columns(|seconds| seconds.to_string());
        assert_eq!(columns, ["", "", "", "2", "", "", "", "1"]);
        assert!((usage.all() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn only_what_was_used_between_counts() {
        let reading = |load, all, idle| Reading {
            used: Seconds::from([(Part::Load, load)]),
            machine: Machine { all, idle },
        };
        let usage = reading(1.0, 10.0, 5.0).until(&reading(3.0, 20.0, 10.0));
        assert_eq!(usage.used, Seconds::from([(Part::Load, 2.0)]));
        assert!((usage.idle - 0.5).abs() < 1e-9 && (usage.others - 0.3).abs() < 1e-9);
        assert!(Machine::read().unwrap().all > 0.0);
    }
}
