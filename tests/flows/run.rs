//! Running it: migrations (07-interfaces.md, RUN-4).

use std::path::PathBuf;
use std::process::Output;

use pagurus_harness::env::Env;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

async fn migrate(env: &Env) -> Output {
    let program = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let mut command = tokio::process::Command::new(program);
    command.args(["--json", "migrate"]).env("PAGURUS__DATABASE__URL", env.database_url());
    command.output().await.unwrap()
}

fn applied(output: &Output) -> usize {
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told["applied"].as_array().unwrap().len()
}

#[tokio::test]
async fn run_4_migrations_run_once_however_many_start_them() {
    let env = Env::new("run_4").await.unwrap();
    let both = tokio::join!(migrate(&env), migrate(&env));
    let counts = [applied(&both.0), applied(&both.1)];
    assert!(counts.contains(&0) && counts.iter().sum::<usize>() > 0, "one of them did it all: {counts:?}");
    assert_eq!(applied(&migrate(&env).await), 0);
    let nodes = env.start_all().await.unwrap();
    let intake = nodes.iter().find(|node| node.spec.role == Role::Intake).unwrap();
    assert_eq!(env.api(intake).get("/v1/orders").await.unwrap().body["items"], json!([]));
}
