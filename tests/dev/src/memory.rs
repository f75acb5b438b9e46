//! Folders in memory, for data that nobody needs after a restart of the machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use uuid::Uuid;

/// The file system in memory that every Linux has.
const FILE_SYSTEM: &str = "/dev/shm";
/// Room that it must have, and memory that must be free for it, in MiB.
const ROOM: u64 = 6 * 1024;

/// Makes a folder in memory, if there is much of it, with a link to it at this place.
///
/// # Errors
/// The folder or the link cannot be made.
pub fn folder(place: &Path) -> Result<()> {
    if room().is_none_or(|room| room < ROOM) || free().is_none_or(|free| free < ROOM) {
        return Ok(());
    }
    let folder = Path::new(FILE_SYSTEM).join(format!("pagurus-{}", Uuid::new_v4()));
    fs::create_dir(&folder)?;
    symlink(folder, place)?;
    Ok(())
}

/// Removes what a link leads to, or the folder itself. What cannot be removed costs only space.
pub fn remove(place: &Path) {
    if let Ok(folder) = place.canonicalize() {
        let _ = fs::remove_dir_all(folder);
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
