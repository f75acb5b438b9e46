//! The stages of a command that takes minutes at its first time: which one runs, since when, and what comes next.
//! Never hides what cargo shows.

use std::time::{Duration, SystemTime};

/// The moment at which `./dev` began, in seconds since 1970; the build of this tool lies between it and us.
const STARTED: &str = "PAGURUS_STARTED";

/// The stages of one command.
#[derive(Debug)]
pub struct Stages {
    names: Vec<&'static str>,
    begun: usize,
    started: SystemTime,
}

impl Stages {
    /// The stages after the first, which is the build of this tool: `./dev` has announced it.
    pub fn after_tool(names: &[&'static str]) -> Self {
        let seconds = std::env::var(STARTED).ok().and_then(|text| text.parse().ok());
        let started = seconds
            .map_or_else(SystemTime::now, |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Self { names: names.to_vec(), begun: 0, started }
    }

    /// Says that the next stage begins.
    pub fn next(&mut self) {
        let elapsed = self.started.elapsed().unwrap_or_default();
        if let Some(line) = line(&self.names, self.begun, elapsed) {
            eprintln!("{line}");
        }
        self.begun += 1;
    }
}

/// The line of a stage, whose place counts from the one after the build of the tool.
fn line(names: &[&str], place: usize, elapsed: Duration) -> Option<String> {
    let next = names.get(place + 1).map_or_else(String::new, |next| format!("; then {next}"));
    let (number, all, seconds) = (place + 2, names.len() + 1, elapsed.as_secs());
    let name = names.get(place)?;
    Some(format!("==> stage {number} of {all}, at {}:{:02}: {name}{next}", seconds / 60, seconds % 60))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn run_1_a_stage_says_its_number_its_time_and_what_comes_next() {
        let names = ["programs", "nodes"];
        let first = line(&names, 0, Duration::from_secs(65)).unwrap();
        assert_eq!(first, "==> stage 2 of 3, at 1:05: programs; then nodes");
        assert_eq!(line(&names, 1, Duration::ZERO).unwrap(), "==> stage 3 of 3, at 0:00: nodes");
        assert_eq!(line(&names, 2, Duration::ZERO), None);
    }
}
