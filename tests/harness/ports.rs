//! Ports on the loopback address that nobody else on this machine uses: from 20000 to 29999, below the range from
//! which the kernel takes source ports, so that a client never connects to itself while its server is away.
//! Never hands out a port that is only free at this moment: each is reserved by a file until its owner is gone.

use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rand::Rng;

use crate::process::{Identity, user_id};

const RANGE: Range<u16> = 20_000..30_000;

/// Owner that keeps a reservation alive.
#[derive(Clone, Debug)]
pub enum Owner {
    /// The reservation lasts as long as this process lives.
    Process(Identity),
    /// The reservation lasts as long as this folder exists: for servers that outlive the command that started them.
    Folder(PathBuf),
}

impl Owner {
    /// The calling process.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn this_process() -> Result<Self> {
        let myself = Identity::of(std::process::id()).context("/proc is not mounted")?;
        Ok(Self::Process(myself))
    }

    fn write(&self) -> String {
        match self {
            Self::Process(identity) => format!("process {} {}", identity.pid, identity.started),
            Self::Folder(path) => format!("folder {}", path.display()),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(' ')?;
        match kind {
            "process" => {
                let (pid, started) = rest.split_once(' ')?;
                Some(Self::Process(Identity { pid: pid.parse().ok()?, started: started.parse().ok()? }))
            }
            "folder" => Some(Self::Folder(PathBuf::from(rest))),
            _ => None,
        }
    }

    fn exists(&self) -> bool {
        match self {
            Self::Process(identity) => identity.alive(),
            Self::Folder(path) => path.is_dir(),
        }
    }
}

/// Consecutive ports; given back when dropped, unless kept.
#[derive(Debug)]
pub struct Ports {
    first: u16,
    count: u16,
    kept: bool,
}

impl Ports {
    /// Reserves `count` consecutive ports.
    ///
    /// # Errors
    /// No such row is free, or the folder of reservations cannot be written.
    pub fn reserve(count: u16, owner: &Owner) -> Result<Self> {
        let folder = folder()?;
        let lock = File::create(folder.join("lock"))?;
        // Held until the end of this function; it makes looking and taking one step among all our processes.
        lock.lock()?;
        let slots = (RANGE.end - RANGE.start) / count;
        // A random start spreads side-by-side runs, and keeps a port just freed from being taken at once.
        let offset = rand::rng().random_range(0..slots);
        for turn in 0..slots {
            let first = RANGE.start + ((offset + turn) % slots) * count;
            if (first..first + count).all(|port| is_free(&folder, port)) {
                for port in first..first + count {
                    fs::write(folder.join(port.to_string()), owner.write())?;
                }
                return Ok(Self { first, count, kept: false });
            }
        }
        bail!("no {count} consecutive ports are free in {}-{}", RANGE.start, RANGE.end - 1)
    }

    /// The lowest of the ports.
    #[must_use]
    pub const fn first(&self) -> u16 {
        self.first
    }

    /// Leaves the reservation to its owner, beyond the life of this value; returns the lowest port.
    #[must_use]
    pub fn keep(mut self) -> u16 {
        self.kept = true;
        self.first
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        if !self.kept {
            release(self.first, self.count);
        }
    }
}

/// Gives kept ports back.
pub fn release(first: u16, count: u16) {
    let Ok(folder) = folder() else { return };
    for port in first..first.saturating_add(count) {
        // A reservation that is gone already is as good as released.
        let _ = fs::remove_file(folder.join(port.to_string()));
    }
}

/// Folder of the user's reservations: other users' ports are seen by the bind check.
fn folder() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("pagurus-ports-{}", user_id().unwrap_or_default()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn is_free(folder: &Path, port: u16) -> bool {
    let reserved = fs::read_to_string(folder.join(port.to_string()))
        .ok()
        .and_then(|text| Owner::read(&text))
        .is_some_and(|owner| owner.exists());
    !reserved && TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn reserved_ports_are_in_the_range_and_given_once() {
        let owner = Owner::this_process().unwrap();
        let one = Ports::reserve(8, &owner).unwrap();
        let other = Ports::reserve(8, &owner).unwrap();
        assert!(RANGE.contains(&one.first()) && RANGE.contains(&(one.first() + 7)));
        assert!(one.first().abs_diff(other.first()) >= 8);
        assert!(!is_free(&folder().unwrap(), one.first() + 7));
    }

    #[test]
    fn a_reservation_ends_with_its_owner() {
        let folder = folder().unwrap();
        let gone = Owner::Folder(PathBuf::from("/nowhere/at/all"));
        let ports = Ports::reserve(1, &gone).unwrap();
        assert!(is_free(&folder, ports.first()));
    }
}
