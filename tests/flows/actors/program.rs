//! A client for actors, as a process of its own, and the scenario that asks its example.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use pagurus_harness::process::{Identity, Signal, spawn, tail};
use serde_json::{Value, json};

use crate::installation::{Installation, PATIENCE, until};

/// Longest time for the end of an actor.
const END: Duration = Duration::from_secs(60);

/// A running actor; it ends with this value.
pub(super) struct Program {
    process: Identity,
    log: PathBuf,
}

impl Program {
    /// Starts a program that takes tasks of this engine.
    pub(super) fn start(engine: &Installation, command: &mut Command) -> Self {
        let log = engine.env().logs().join("actor.log");
        command.env("AMQP_URL", engine.env().amqp_url()).env("PAGURUS_PREFIX", engine.env().prefix());
        Self { process: spawn(command, &log).unwrap(), log }
    }

    /// True if the program has printed this.
    pub(super) fn has_said(&self, line: &str) -> bool {
        std::fs::read_to_string(&self.log).unwrap_or_default().contains(line)
    }

    /// Waits until the program has printed this.
    pub(super) async fn says(&self, line: &str) {
        until(line, PATIENCE, async || self.has_said(line)).await;
    }

    /// Ends the program as an accident does.
    pub(super) async fn kill(&self) {
        self.process.signal(Signal::Kill).unwrap();
        assert!(self.process.ended(END).await, "it is killed");
    }

    /// Asks the program to end, and waits until it has.
    pub(super) async fn stop(&self) {
        self.process.signal(Signal::Terminate).unwrap();
        assert!(self.process.ended(END).await, "still there:\n{}", tail(&self.log, 20));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the actor printed last:\n{}", tail(&self.log, 40));
        }
        // It may have ended in the test already.
        let _ = self.process.signal(Signal::Kill);
    }
}

/// An engine whose scenario asks the example of the client, with these terms.
pub(super) async fn engine(test: &str, terms: &str) -> Installation {
    let engine = Installation::start(test).await;
    let actions = format!(
        "- actor: {{name: scoring, body: \"${{params}}\", {terms}}}\n- script: 'result(response.body)'"
    );
    engine.actions("score", &actions).await;
    engine
}

pub(super) fn applicant(id: &str, params: Value) -> Value {
    json!({"id": id, "scenario": "score", "params": params})
}
