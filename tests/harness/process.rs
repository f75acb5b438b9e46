//! Operating system processes: their identity, whether they live, signals to them, and the ends of their logs.
//! Never signals a process whose start time is not the one noted: a process id alone is reused by the kernel.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// A process beyond doubt: its id and the moment it started, in clock ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The process id.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`; it stays the same over `exec`.
    pub started: u64,
}

/// The signals that the harness sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Please end.
    Terminate,
    /// End at once, nothing is cleaned up.
    Kill,
    /// Freeze: alive for the kernel, silent for everybody else.
    Stop,
    /// Go on after `Stop`.
    Continue,
    /// The signal of Ctrl-C; Postgres takes it as "stop fast".
    Interrupt,
    /// Postgres takes it as "stop immediately".
    Quit,
    /// Our services read their configuration again.
    Hangup,
}

impl Signal {
    const fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
            Self::Interrupt => "INT",
            Self::Quit => "QUIT",
            Self::Hangup => "HUP",
        }
    }
}

impl Identity {
    /// The process that has this id now, if it is alive.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let (state, started) = stat(pid)?;
        // A zombie has ended already: it only waits for its parent to notice. But the first thread is one while
        // others still end, and until then the process holds its ports.
        let ended = match state {
            'Z' => fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count) <= 1,
            'X' => true,
            _ => false,
        };
        (!ended).then_some(Self { pid, started })
    }

    /// True if this very process is still alive.
    #[must_use]
    pub fn alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Sends a signal; a process that has ended already is left alone and that is no error.
    ///
    /// # Errors
    /// The signal could not be sent, for want of rights.
    pub fn signal(self, signal: Signal) -> Result<()> {
        if !self.alive() {
            return Ok(());
        }
        let script = format!("kill -s {} {}", signal.name(), self.pid);
        let output = Command::new("sh").args(["-c", &script]).output()?;
        if !output.status.success() && self.alive() {
            bail!("{script}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }

    /// Waits until the process has ended; `false` if it is still there when the time is over.
    pub async fn ended(self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while self.alive() {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }
}

/// State letter and start time of a process, from `/proc/PID/stat`.
fn stat(pid: u32) -> Option<(char, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may itself hold spaces and parentheses.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state is field 3; the start time is field 22.
    let started = fields.nth(18)?.parse().ok()?;
    Some((state, started))
}

/// The command line of a process, its arguments joined by spaces.
#[must_use]
pub fn command_line(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<_> = bytes.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    Some(words.join(" "))
}

/// Starts a command with its output appended to `log` and without input.
///
/// # Errors
/// The program or the log file cannot be opened.
pub fn spawn(command: &mut Command, log: &Path) -> Result<Identity> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = OpenOptions::new().create(true).append(true).open(log);
    let file = file.with_context(|| format!("cannot write {}", log.display()))?;
    let child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    // A child that ends within this instant is still there as a zombie: nobody has waited for it.
    let (_, started) = stat(child.id()).context("the process cannot be seen in /proc")?;
    Ok(Identity { pid: child.id(), started })
}

/// The same program as a leader of a session of its own, so that Ctrl-C in the terminal does not reach it.
///
/// `setsid` executes the program in place, so the id of the child is the id of the program.
#[must_use]
pub fn detached(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new("setsid");
    command.arg(program.as_ref());
    command
}

/// True if this process runs as root.
#[must_use]
pub fn is_root() -> bool {
    user_id() == Some(0)
}

/// The number of the user this process runs as.
#[must_use]
pub fn user_id() -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").ok().map(|metadata| metadata.uid())
}

/// The resident bytes of a process; none if it has ended.
#[must_use]
pub fn resident(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// The last lines of a text file; empty if it cannot be read.
#[must_use]
pub fn tail(path: &Path, lines: usize) -> String {
    // More than this is not read: a log may be gigabytes long.
    const WINDOW_BYTES: u64 = 64 * 1024;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(WINDOW_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<_> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn this_process_is_itself_and_no_other() {
        let myself = Identity::of(std::process::id()).unwrap();
        assert!(myself.alive());
        let impostor = Identity { started: myself.started + 1, ..myself };
        assert!(!impostor.alive());
        assert!(command_line(myself.pid).is_some());
        assert!(resident(myself.pid) > Some(1024 * 1024));
    }

    #[tokio::test]
    async fn a_killed_process_counts_as_ended_though_nobody_has_waited_for_it() {
        let log = std::env::temp_dir().join(format!("pagurus-process-{}.log", std::process::id()));
        let process = spawn(Command::new("sleep").arg("60"), &log).unwrap();
        process.signal(Signal::Kill).unwrap();
        assert!(process.ended(Duration::from_secs(5)).await);
        fs::remove_file(log).unwrap();
    }
}
