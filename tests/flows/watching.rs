//! Scenarios that are applied while they are written (SCN-13): `pagurus scenario watch`, against a running engine.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::installation::{Installation, PATIENCE};

const SCENARIO: &str = "scenario: written
kind: workflow
initialState: begin
targetStates: [done]
states:
  begin: {entryPoint: true, actions: [{http: {method: GET, url: 'https://stock.example/x'}}], on: {success: done, fail: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
";

const TESTS: &str = "tests:
  - test: goes well
    answers: [{http: 'GET https://stock.example/x', status: 200}]
    expect: {status: success, path: [begin, done]}
";

/// The command, with all lines that it prints.
struct Watching {
    _child: Child,
    lines: UnboundedReceiver<String>,
}

impl Watching {
    fn start(engine: &Installation, folder: &PathBuf) -> Self {
        let program = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
        let mut command = Command::new(program);
        command.args(["--server", engine.base(), "scenario", "watch"]).arg(folder);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (send, lines) = unbounded_channel();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let also = send.clone();
        tokio::spawn(async move {
            let mut read = BufReader::new(out).lines();
            while let Ok(Some(line)) = read.next_line().await {
                let _ = send.send(line);
            }
        });
        tokio::spawn(async move {
            let mut read = BufReader::new(err).lines();
            while let Ok(Some(line)) = read.next_line().await {
                let _ = also.send(line);
            }
        });
        Self { _child: child, lines }
    }

    /// Waits until each of these words was in a line since the last call, on whichever of both streams.
    async fn says(&mut self, words: &[&str]) {
        let mut missing: Vec<&str> = words.to_vec();
        let mut seen = Vec::new();
        while !missing.is_empty() {
            let line = tokio::time::timeout(PATIENCE, self.lines.recv()).await;
            let Ok(Some(line)) = line else { panic!("no line has {missing:?}: {seen:#?}") };
            missing.retain(|word| !line.contains(word));
            seen.push(line);
        }
    }
}

async fn version(engine: &Installation) -> Option<i64> {
    let answer = engine.get("/v1/scenarios/written/versions").await.unwrap();
    answer.body["items"][0]["version"].as_i64()
}

#[tokio::test]
async fn scn_13_a_scenario_that_is_written_is_checked_tested_and_applied_at_each_change() {
    let engine = Installation::start("scn_13_watch").await;
    let folder = engine.env().logs().join("written");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("written.yaml", SCENARIO);
    write("written.test.yaml", TESTS);
    let mut watching = Watching::start(&engine, &folder);
    watching.says(&["version 1 is new"]).await;

    // A fault is shown with its place, and the engine keeps what it has.
    write("written.yaml", &SCENARIO.replace("success: done", "success: nowhere"));
    watching.says(&["not applied", "nowhere"]).await;
    // So is what its tests do not allow.
    write("written.yaml", &SCENARIO.replace("example/x", "example/y"));
    watching.says(&["not applied", "goes well"]).await;
    assert_eq!(version(&engine).await, Some(1));

    write("written.yaml", &SCENARIO.replace("kind: workflow", "kind: workflow\ndescription: better"));
    watching.says(&["version 2 is new"]).await;
    // Tests alone are run, and change nothing at the engine; a new file is found.
    write("written.test.yaml", &TESTS.replace("goes well", "goes well again"));
    watching.says(&["written.test.yaml"]).await;
    write("second.yaml", &SCENARIO.replace("scenario: written", "scenario: second"));
    watching.says(&["second: version 1 is new"]).await;
    assert_eq!(version(&engine).await, Some(2));
    // One with a fault holds no other back.
    write(
        "second.yaml",
        &SCENARIO
            .replace("scenario: written", "scenario: second")
            .replace("success: done", "success: nowhere"),
    );
    write("written.yaml", &SCENARIO.replace("kind: workflow", "kind: workflow\ndescription: best"));
    watching.says(&["second.yaml: not applied", "written: version 3 is new"]).await;
}
