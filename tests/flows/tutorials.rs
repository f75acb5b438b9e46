//! The tutorials, played word for word: what they type is typed into a shell, and what they show must be what is answered.
//!
//! `./dev` is the one command with a stand-in: the engine of the test runs already, with the configuration and the demo system
//! that `./dev up` starts. Blocks of YAML whose first line names a file are saved under that name.

mod session;
mod shown;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::ports::{Owner, Ports};
use tokio::process::{Child, Command};

use crate::installation::Installation;
use session::Session;
use shown::{Exchange, matches};

/// Far more than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at something that is about to change.
const LOOK: Duration = Duration::from_millis(100);

/// Commands that change nothing: a reader who is too early looks again.
const LOOKS: [&str; 6] = [
    "pagurus order explain ",
    "pagurus order get ",
    "pagurus order ledger ",
    "pagurus order list",
    "pagurus order log ",
    "pagurus errors",
];

/// Stand-in for the command that starts and ends the engine: it does nothing, and knows only what the tutorials type.
const DEV: &str = "#!/bin/sh\ncase \"$*\" in up | 'up --workers 2' | down) ;; *) echo \"no stand-in for $*\"; exit 1 ;; esac\n";

#[tokio::test]
async fn run_1_the_tutorial_of_the_first_order_works_word_for_word() {
    play("first-order", &["callback", "change-tariff", "one-action"], 70).await;
}

#[tokio::test]
async fn run_1_the_tutorial_of_the_scenario_that_survives_works_word_for_word() {
    play("survives-everything", &[], 90).await;
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Plays a tutorial on an engine with two workers and these examples; of its lines, at least this number is compared.
async fn play(name: &str, examples: &[&str], lines: usize) {
    let programs = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap());
    let ports = Ports::reserve(1, &Owner::this_process().unwrap()).unwrap();
    let demo = format!("http://127.0.0.1:{}", ports.first());
    let settings = [("PAGURUS__CONFIG__DEMO", demo.as_str()), ("PAGURUS__NODE__LOST_AFTER", "4s")];
    let file = std::fs::read_to_string(root().join("tests/dev/src/pagurus.yaml")).unwrap();
    let mut engine = Installation::configured_with(&name.replace('-', "_"), &file, &settings).await;
    engine.add(Role::Worker, "worker-2").await;
    let _demo = start_demo(&programs, &demo, engine.env().amqp_url()).await;
    for example in examples {
        let path = root().join("examples/scenarios").join(example).with_extension("yaml");
        engine.put_scenario(example, &std::fs::read_to_string(path).unwrap()).await.unwrap();
    }
    let folder = checkout(&engine, &programs);
    let page =
        std::fs::read_to_string(root().join("docs/tutorials").join(name).with_extension("md")).unwrap();
    for (file, text) in shown::files(&page) {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let exchanges = shown::exchanges(&page);
    let compared: usize = exchanges.iter().map(|exchange| 1 + exchange.answer.len()).sum();
    assert!(compared >= lines, "only {compared} lines of {name} are played");
    let mut session = Session::start(&folder);
    for exchange in exchanges {
        demand(&mut session, &exchange).await;
    }
}

/// Types a command, and compares what it answers with what is shown.
async fn demand(session: &mut Session, exchange: &Exchange) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let answer = tokio::time::timeout(PATIENCE, session.run(&exchange.typed)).await;
        let answer = answer.unwrap_or_else(|_| panic!("`{}` does not return", exchange.typed));
        if matches(&exchange.answer, &answer) {
            return;
        }
        let again = LOOKS.iter().any(|look| exchange.typed.starts_with(look));
        assert!(
            again && tokio::time::Instant::now() < deadline,
            "`{}` is shown with\n{}\nand answers\n{}",
            exchange.typed,
            exchange.answer.join("\n"),
            answer.join("\n")
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// Starts the demo system that `./dev up` starts.
async fn start_demo(programs: &Path, url: &str, broker: &str) -> Child {
    let port = url.rsplit(':').next().unwrap();
    let mut command = Command::new(programs.join("dev"));
    command.args(["demo", "--port", port, "--amqp-url", broker]).stdin(Stdio::null()).kill_on_drop(true);
    let demo = command.spawn().unwrap();
    while reqwest::get(url).await.is_err() {
        tokio::time::sleep(LOOK).await;
    }
    demo
}

/// A folder with what `./dev up` writes into the checkout, as far as readers need it.
fn checkout(engine: &Installation, programs: &Path) -> PathBuf {
    let folder = engine.env().logs().join("checkout");
    std::fs::create_dir_all(folder.join(".dev")).unwrap();
    let page = format!(
        "export PAGURUS_SERVER='{}'\nexport PAGURUS_BIN='{}'\n",
        engine.base(),
        programs.to_str().unwrap()
    );
    std::fs::write(folder.join(".dev/env"), page).unwrap();
    let nodes = engine.nodes.iter().map(|node| {
        format!("{} {} {} {}\n", node.spec.name, node.spec.role, node.identity.pid, node.address())
    });
    std::fs::write(folder.join(".dev/nodes"), nodes.collect::<String>()).unwrap();
    let dev = folder.join("dev");
    std::fs::write(&dev, DEV).unwrap();
    std::fs::set_permissions(&dev, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}
