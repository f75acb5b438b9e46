//! Folders in memory, for data that nobody needs after a restart of the machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use pagurus_harness::process::Identity;

/// The file system in memory that every Linux has.
const FILE_SYSTEM: &str = "/dev/shm";
/// First part of the names of our folders; the process that made one follows.
const PREFIX: &str = "pagurus-test-";
/// Room that the file system must have, and memory that must be free for it, in MiB.
const ROOM: u64 = 6 * 1024;

/// Makes a folder in memory with a link to it at this place, if there is much memory. Nothing is there otherwise.
pub fn folder(place: &Path) {
    remove_abandoned();
    let Some(owner) = Identity::of(std::process::id()) else { return };
    if room().is_none_or(|room| room < ROOM) || free().is_none_or(|free| free < ROOM) {
        return;
    }
    let folder = Path::new(FILE_SYSTEM).join(format!("{PREFIX}{}-{}", owner.pid, owner.started));
    if fs::create_dir(&folder).is_ok() && symlink(&folder, place).is_err() {
        remove(&folder);
    }
}

/// Removes what a link leads to, or the folder itself. What cannot be removed costs only space.
pub fn remove(place: &Path) {
    if let Ok(folder) = place.canonicalize() {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Removes the folders of processes that have ended: their checkout, with the link, may be gone.
fn remove_abandoned() {
    for entry in fs::read_dir(FILE_SYSTEM).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let owner = owner.and_then(|(pid, started)| {
            Some(Identity { pid: pid.parse().ok()?, started: started.parse().ok()? })
        });
        if owner.is_some_and(|owner| !owner.alive()) {
            remove(&entry.path());
        }
    }
}

/// Returns the free room of the file system, in MiB.
fn room() -> Option<u64> {
    let output = Command::new("df").args(["--output=avail", "--block-size=1M", FILE_SYSTEM]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.lines().last()?.trim().parse().ok()
}

/// Returns the memory that processes could still get, in MiB.
fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}
