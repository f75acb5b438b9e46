//! The package in TypeScript, with its libraries from npm.

use pagurus_harness::npm::with_packages;
use tokio::process::Command;

use super::between::Between;
use super::{check_traces, engine, root, run, shop};

#[tokio::test]
async fn ord_3_the_package_in_typescript_sends_follows_and_acts() {
    let built = async {
        let folder = root().join("clients/typescript");
        let fetch = move || with_packages(&folder, &root()).unwrap();
        let place = tokio::task::spawn_blocking(fetch).await.unwrap();
        let document = root().join("docs/openapi.json");
        let mut build = Command::new("node");
        run(build.arg("build.mjs").current_dir(&place).env("PAGURUS_OPENAPI", document)).await;
        let mut types = Command::new("node");
        let compiler = "node_modules/typescript-newest/bin/tsc";
        run(types.args([compiler, "-p", "test"]).current_dir(&place)).await;
        place
    };
    let (place, engine) = tokio::join!(built, engine("client_typescript"));
    let between = Between::start(&engine).await;
    let mut tests = Command::new("node");
    tests.args(["--test", "test/"]).current_dir(&place);
    tests.env("PAGURUS_SERVER", engine.base()).env("PAGURUS_BETWEEN", &between.address);
    run(&mut tests).await;
    between.check(&engine, "ts").await;
    check_traces(&engine, &["ts-3"]).await;
    shop::demand(&engine, Command::new("node").arg("examples/shop.mjs").current_dir(&place)).await;
}
