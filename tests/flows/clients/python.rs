//! The package in Python, in an environment of its own.

use std::path::PathBuf;

use pagurus_harness::venv::with_package;
use tokio::process::Command;

use super::between::Between;
use super::{check_traces, engine, root, run, shop};

/// The folder of the package.
pub(super) fn folder() -> PathBuf {
    root().join("clients/python")
}

/// The Python that has the package.
pub(crate) async fn python() -> PathBuf {
    tokio::task::spawn_blocking(|| with_package(&folder(), &root()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn ord_3_ord_18_the_package_in_python_sends_follows_and_acts() {
    let (python, engine) = tokio::join!(python(), engine("client_python"));
    let between = Between::start(&engine).await;
    let here = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.arg("-B").args(arguments).current_dir(folder());
        command
    };
    let types = async { run(&mut here(&["-m", "mypy", "--cache-dir", "/dev/null"])).await };
    let tests = async {
        let mut command = here(&["-W", "error", "-m", "unittest", "discover", "--start-directory", "tests"]);
        command
            .env("PAGURUS_SERVER", engine.base())
            .env("PAGURUS_BETWEEN", &between.address)
            .env("AMQP_URL", engine.env().amqp_url())
            .env("PAGURUS_PREFIX", engine.env().prefix());
        run(&mut command).await;
        between.check(&engine, "py").await;
        check_traces(&engine, &["py-3", "py-amqp-3"]).await;
        shop::demand(&engine, &mut here(&["examples/shop.py"])).await;
    };
    // A generator of clients takes the document without a warning. Its configuration says what bodies of other types are.
    let generated = async {
        let mut command = Command::new(python.with_file_name("openapi-python-client"));
        let (document, into) = (root().join("docs/openapi.json"), engine.env().logs().join("generated"));
        let config = folder().join("tests/generator.yaml");
        command.args(["generate", "--fail-on-warning", "--meta", "none", "--config"]).arg(config);
        run(command.arg("--path").arg(document).arg("--output-path").arg(into)).await;
    };
    tokio::join!(types, generated, tests);
}
