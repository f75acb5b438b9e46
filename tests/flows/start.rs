//! Whatever keeps a service from starting, `pagurus config check` tells before, and the other way round (07-interfaces.md,
//! Configuration). No server is needed: what is wrong with a configuration is reported before any is asked.

use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use tokio::process::Command;

/// A configuration with which a service does not start.
struct Refused {
    file: &'static str,
    /// A variable of the environment.
    variable: Option<(&'static str, &'static str)>,
    /// Words of the message.
    words: &'static str,
}

const fn refused(
    file: &'static str,
    variable: Option<(&'static str, &'static str)>,
    words: &'static str,
) -> Refused {
    Refused { file, variable, words }
}

/// Configurations that keep every service from starting.
const ALL: &[Refused] = &[
    refused("worker: {concurency: 1}", None, "unknown key `concurency`"),
    refused("worker: {http: {timeout: 9}}", None, "is not a duration"),
    refused("node: {lost_after: 1s}", None, "at least three times"),
    refused("node: {name: \"a\\0b\"}", None, "no control character"),
    refused("node: {advertise: somewhere}", None, "must be `HOST:PORT`"),
    refused("node: {certificate: /c.pem}", None, "`node.key` belong together"),
    refused("node: {certificate: /no.pem, key: /no.key}", None, "no certificate can be read"),
    refused(
        "node: {listen: '203.0.113.7:0'}\nintake: {public_confirmed: true}",
        None,
        "not an address of this host",
    ),
    refused("broker: {prefix: amq.shop}", None, "belongs to the broker"),
    refused("broker: {url: 'amqps://h?certfile=/c.pem'}", None, "both are needed"),
    refused("database: {url: 'postgres://'}", None, "names no host"),
    refused("database: {url: 'postgres://u@h/d?sslmode=allow'}", None, "none of disable, prefer"),
    refused(
        "database: {url: 'postgres://u@h/d?sslmode=verify-full&sslrootcert=/no'}",
        None,
        "no certificate can be read",
    ),
    refused("broker: {url: 'amqps://h?cacertfile=/no'}", None, "no certificate can be read"),
    refused("log: {level: loud}", None, "is not a level"),
    refused("telemetry: {otlp: {endpoint: 'collector:4318'}}", None, "must begin with `http://`"),
    refused("access: {mode: ladp}", None, "did you mean `ldap`?"),
    refused("access: {local: {name: root, password_hash: secret}}", None, "`$argon2id$`"),
    refused("access: {session: {idle: 2h, longest: 1h}}", None, "must not be more than"),
    refused("", Some(("PAGURUS__WORKER__CONCURENCY", "1")), "unknown key in the environment"),
    refused("", Some(("PAGURUS__DATABASE__URL_FILE", "/nonexistent/secret")), "cannot read"),
    refused("", Some(("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")), "OTEL_EXPORTER_OTLP_ENDPOINT"),
    refused(
        "",
        Some(("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://c")),
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ),
];

/// Configurations that keep a worker from starting, and no intake.
const WORKER: &[Refused] =
    &[refused("worker: {http: {issuers: /no.pem}}", None, "no certificate can be read from `/no.pem`")];

/// Configurations that keep an intake from starting, and no other service.
const INTAKE: &[Refused] = &[
    refused("access: {local: {name: root}}", None, "needs both"),
    refused("node: {listen: '0.0.0.0:0'}", None, "the API would be open to everybody"),
    refused("", Some(("PAGURUS__NODE__LISTEN", "[::]:0")), "the API would be open to everybody"),
];

/// The folder of the built programs.
fn programs() -> PathBuf {
    std::env::var_os("PAGURUS_TEST_BIN").unwrap().into()
}

/// A file of its own, removed when the test ends.
struct File(PathBuf);

impl File {
    fn new(text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pagurus-start-{}.yaml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Nothing depends on it: the system cleans its temporary files as well.
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn run(program: &str, arguments: &[&str], case: &Refused) -> Output {
    let mut command = Command::new(programs().join(program));
    // Servers that are not there: a service that starts in spite of its faults waits for them.
    command.env("PAGURUS__NODE__LISTEN", "").args(arguments).kill_on_drop(true);
    if let Some((name, value)) = case.variable {
        command.env(name, value);
    }
    let ended = tokio::time::timeout(Duration::from_secs(20), command.output()).await;
    ended.unwrap_or_else(|_| panic!("{program} starts with {} {:?}", case.file, case.variable)).unwrap()
}

fn text_of(output: &Output) -> String {
    let bytes = [&*output.stdout, &*output.stderr].concat();
    String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn is_refused(program: &str, arguments: &[&str], case: &Refused) {
    let output = run(program, arguments, case).await;
    let text = text_of(&output);
    assert!(!output.status.success(), "{program} takes {} {:?}: {text}", case.file, case.variable);
    assert!(text.contains(case.words), "{program} {} {:?}: {text}", case.file, case.variable);
}

#[tokio::test]
async fn config_what_a_start_refuses_a_check_refuses_and_says_the_same_of() {
    for case in ALL.iter().chain(INTAKE) {
        let file = File::new(case.file);
        let path = file.0.to_str().unwrap();
        is_refused("pagurus", &["serve", "--roles", "intake", "--config", path], case).await;
        is_refused("pagurus", &["config", "check", path], case).await;
        is_refused("pagurus", &["config", "check", path, "--role", "intake"], case).await;
    }
    for case in ALL.iter().chain(WORKER) {
        let file = File::new(case.file);
        let path = file.0.to_str().unwrap();
        is_refused("pagurus", &["serve", "--roles", "worker", "--config", path], case).await;
        is_refused("pagurus", &["config", "check", path, "--role", "worker"], case).await;
    }
}

#[tokio::test]
async fn config_a_check_for_one_service_or_another_host_leaves_out_what_is_none_of_theirs() {
    let fine = async |arguments: &[&str], case: &Refused| {
        let output = run("pagurus", arguments, case).await;
        assert!(output.status.success(), "{} {:?}: {}", case.file, case.variable, text_of(&output));
    };
    for case in INTAKE {
        let file = File::new(case.file);
        fine(&["config", "check", file.0.to_str().unwrap(), "--role", "worker"], case).await;
    }
    for case in WORKER {
        let file = File::new(case.file);
        fine(&["config", "check", file.0.to_str().unwrap(), "--role", "intake"], case).await;
    }
    let is_elsewhere = |case: &&Refused| {
        let of_host = ["of this host", "no certificate can be read"];
        case.variable.is_some() || of_host.iter().any(|words| case.words.contains(words))
    };
    for case in ALL.iter().filter(is_elsewhere) {
        let file = File::new(case.file);
        fine(&["config", "check", file.0.to_str().unwrap(), "--file-only"], case).await;
    }
    // A public address is refused with its place in the file, or the variable that it came from.
    let file = File::new("worker: {concurrency: 1}\nnode: {listen: '0.0.0.0:0'}\n");
    let path = file.0.to_str().unwrap().to_owned();
    let placed = refused("", None, ":2:");
    is_refused("pagurus", &["config", "check", &path], &placed).await;
    is_refused("pagurus", &["config", "check", &path, "--file-only"], &placed).await;
    let file = File::new("");
    let named = refused("", Some(("PAGURUS__NODE__LISTEN", "0.0.0.0:0")), "(PAGURUS__NODE__LISTEN)");
    is_refused("pagurus", &["config", "check", file.0.to_str().unwrap()], &named).await;
}
