//! The package in TypeScript, with its libraries from npm.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use pagurus_harness::npm::with_packages;
use tokio::process::Command;

use super::between::Between;
use super::{check_traces, engine, root, run, shop};

/// Gives a task to the actor of the tests.
const SCORE: &str = "- actor: {name: scoring, body: \"${params}\", workTimeout: 5s}\n\
    - script: 'result(response.body)'";

/// The folder of the package with its libraries, built.
pub(crate) async fn package() -> PathBuf {
    let built = || {
        let place = with_packages(&folder(), &root()).unwrap();
        build(&place);
        place
    };
    tokio::task::spawn_blocking(built).await.unwrap()
}

fn folder() -> PathBuf {
    root().join("clients/typescript")
}

/// Builds the package if its sources have changed. Tests are processes of their own: the first of them builds it.
fn build(place: &Path) {
    let turn = fs::File::create(place.join("turn-to-build")).unwrap();
    turn.lock().unwrap();
    let (docs, built) = (root().join("docs"), place.join("built-from"));
    let sources = sources(&docs);
    if fs::read(&built).is_ok_and(|known| known == sources) {
        return;
    }
    let mut build = std::process::Command::new("node");
    build.arg("build.mjs").current_dir(place).env("PAGURUS_DOCS", &docs).stdin(Stdio::null());
    let output = build.output().unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{build:?}: {printed}");
    fs::write(built, sources).unwrap();
}

/// Everything that the package is built from.
fn sources(docs: &Path) -> Vec<u8> {
    let folder = folder();
    let mut files = vec![docs.join("openapi.json"), docs.join("asyncapi.json")];
    for name in ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"] {
        files.push(folder.join(name));
    }
    for part in ["src", "src/amqp"] {
        let entries = fs::read_dir(folder.join(part)).unwrap().map(|entry| entry.unwrap().path());
        // The schema is made by the build.
        files.extend(entries.filter(|path| path.is_file() && !path.ends_with("schema.ts")));
    }
    files.sort();
    files.iter().flat_map(|file| fs::read(file).unwrap()).collect()
}

#[tokio::test]
async fn ord_3_scn_11_the_package_in_typescript_sends_follows_and_acts() {
    let (place, engine) = tokio::join!(package(), engine("client_typescript"));
    let mut types = Command::new("node");
    let compiler = "node_modules/typescript-newest/bin/tsc";
    run(types.args([compiler, "-p", "test"]).current_dir(&place)).await;
    engine.actions("score", SCORE).await;
    let between = Between::start(&engine).await;
    let mut tests = Command::new("node");
    tests.args(["--test", "test/"]).current_dir(&place);
    tests
        .env("PAGURUS_SERVER", engine.base())
        .env("PAGURUS_BETWEEN", &between.address)
        .env("AMQP_URL", engine.env().amqp_url())
        .env("PAGURUS_PREFIX", engine.env().prefix());
    run(&mut tests).await;
    between.check(&engine, "ts").await;
    check_traces(&engine, &["ts-3", "ts-amqp-3"]).await;
    shop::demand(&engine, Command::new("node").arg("examples/shop.mjs").current_dir(&place)).await;
}
