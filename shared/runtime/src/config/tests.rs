//! Tests of the configuration: texts and environments in, settings and faults out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod audit;
mod flows;
mod ldap;

use std::collections::BTreeSet;
use std::time::Duration;

use pagurus_domain::activation::{ActivationMode, AgeGroups};
use pagurus_domain::order::dependency::StartMode;
use pagurus_domain::retry::{Interaction, Outcome};

use super::*;

mod notify;
mod oidc;
mod tenants;

fn with(text: &str, environment: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let pairs = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    build::settings(load::values(text, pairs))
        .map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn faults(text: &str) -> Vec<String> {
    check(text, std::iter::empty()).iter().map(ToString::to_string).collect()
}

/// A file of its own, removed when the test ends.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pagurus-{}-{name}", std::process::id()));
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

#[test]
fn every_default_is_read_by_the_kind_of_its_key() {
    let settings = load(None, std::iter::empty()).unwrap();
    assert_eq!(settings.node.heartbeat, Duration::from_secs(3));
    assert_eq!(settings.broker.prefetch, 200);
    assert_eq!(settings.intake.max_body_bytes, 1 << 20);
    assert_eq!(settings.failover.interval, Some(Duration::from_secs(7 * 24 * 3600)));
    assert_eq!(settings.recovery.process_timeout, None);
    assert_eq!(settings.distribution.flow_attributes, ["scenario"]);
    assert_eq!(settings.scenario.target_steps, ["done", "rolled_back"]);
    assert_eq!(settings.errors, ErrorPolicy::default());
    assert_eq!(*settings.constants, serde_json::json!({}));
    let usual = Bounds::default();
    assert_eq!(settings.scenario.script, usual.script);
    assert_eq!(settings.scenario.max_states, usual.max_states);
    assert_eq!(settings.activation.groups, AgeGroups::default());
    // A test of a scenario without a configuration meets what an engine without one sets.
    assert_eq!(format!("{:?}", settings.trial_deployment()), format!("{:?}", Deployment::default()));
    for setting in keys::settings() {
        let optional = setting.default == "~";
        assert_eq!(
            load::default_of(setting) == kind::Typed::Absent,
            optional && !matches!(setting.kind, kind::Kind::Tree(_)),
            "{}",
            setting.path
        );
    }
}

#[test]
fn every_key_stands_once_and_is_read() {
    let paths: BTreeSet<_> = keys::settings().map(|setting| setting.path).collect();
    assert_eq!(paths.len(), keys::settings().count());
    for setting in keys::settings() {
        let mut values = load::values("", std::iter::empty());
        values.typed.remove(setting.path);
        let slip = format!("`{}` is read wrongly", setting.path);
        let is_read = build::settings(values).is_err_and(|faults| faults[0].message == slip);
        assert!(is_read, "{}", setting.path);
        assert!(setting.meaning.ends_with('.'), "{}", setting.path);
    }
}

#[test]
fn all_faults_are_reported_at_once_with_their_places() {
    let text = "\
worker:
  concurency: 5
  http: {timeout: 0, max_response_bytes: 12x}
databse: {}
parallel_count: 7
node:
  listen: localhost:80
  heartbeat: 10
broker: [1]
log: {format: xml}
distribution: {mode: rated, priorities: {high: 0}}
activation: {mode: at_most_onec}
execution:
  error_handling: {sync: {mode: maybe}}
  state_classification: {target: [{stepp: x}, y]}
notify: {allow: [{queue: a, key: b}, {exchang: c}]}
config: 5
access: {mode: ladp}
database: {url: 'mysql://root:secret@x'}
";
    assert_eq!(
        faults(text),
        [
            "2:3: unknown key `concurency`; did you mean `concurrency`?",
            "3:19: the duration must be longer than 0",
            "3:42: `12x` is not a number of bytes; write it like `65536` or `64KiB`",
            "4:1: unknown key `databse`; did you mean `database`?",
            "5:1: unknown key `parallel_count`; did you mean `distribution.capacity.parallel_count`?",
            "7:11: `localhost:80` is not an IP address with a port; write it like `127.0.0.1:8080`",
            "8:14: `10` is not a duration; write it like `500ms`, `5s`, `1h30m`, `2d`",
            "9:9: expected a mapping, found a list",
            "10:15: `xml` is not one of `text`, `json`",
            "11:22: `rated` is not one of `simple`, `rated_flows`, `stopped_flows`, `limited_flows`",
            "11:48: 0 is not between 1 and 4294967295",
            "12:20: `at_most_onec` is not known; did you mean `at_most_once`?",
            "14:33: `maybe` is not one of `retry`, `none`",
            "15:35: the entry has no `step`",
            "15:36: unknown key `stepp`; did you mean `step`?",
            "15:47: expected a mapping, found a text",
            "16:18: an entry needs `queue`, or `exchange` with or without `key`",
            "16:38: an entry needs `queue`, or `exchange` with or without `key`",
            "16:39: unknown key `exchang`; did you mean `exchange`?",
            "17:9: expected a mapping, found a whole number",
            "18:16: `ladp` is not known; did you mean `ldap`?",
            "19:17: must begin with `postgres://` or `postgresql://`",
        ]
    );
    assert_eq!(faults("a: 1\na: 2\n"), ["2:1: the key `a` is given twice; remove one of the two"]);
    let pointer = &check("worker: {http: {timeout: 5}}", std::iter::empty())[0].pointer;
    assert_eq!(pointer, "/worker/http/timeout");
}

#[test]
fn limits_that_contradict_each_other_are_refused() {
    assert_eq!(
        faults(
            "node: {heartbeat: 5s}\nactivation: {groups: {sleep: {middle: {age_in_days: 0}}}}\nnotify: {retry: {max: 1ms}}\nintake: {max_batch_body_bytes: 1KiB, public_url: 'shop.example'}"
        ),
        [
            "2:53: must not be less than `activation.groups.sleep.youngest.age_in_days`",
            "3:23: must not be less than `notify.retry.initial`",
            "4:32: must not be less than `intake.max_body_bytes`",
            "4:50: must begin with `http://` or `https://`",
            "node.lost_after must be at least three times `node.heartbeat`",
        ]
    );
}

#[test]
fn the_environment_goes_before_the_file() {
    let settings = with(
        "worker: {concurrency: 5, http: {timeout: 7s}}\nconfig: {demo: old, Billing: {url: x, retries: 3}}",
        &[
            ("PAGURUS__WORKER__CONCURRENCY", "9"),
            ("PAGURUS__NODE__NAME", "007"),
            ("PAGURUS__BROKER__URL", "amqp://u:pw@h:1/%2f#w"),
            ("PAGURUS__DISTRIBUTION__FLOWS__ATTRIBUTES", "[scenario, region]"),
            ("PAGURUS__CONFIG__DEMO", "http://127.0.0.1:9"),
            ("PAGURUS__CONFIG__BILLING__URL", "\"12\""),
            ("PAGURUS__CONFIG__LIMITS__MOST", "12"),
            ("PAGURUS__LOG__LEVEL", ""),
            ("PAGURUS_SERVER", "ignored"),
            ("PATH", "ignored"),
        ],
    )
    .unwrap();
    assert_eq!(settings.worker.concurrency, 9);
    assert_eq!(settings.worker.timeout, Duration::from_secs(7));
    assert_eq!(settings.node.name.as_deref(), Some("007"));
    assert_eq!(settings.broker.url, "amqp://u:pw@h:1/%2f#w");
    assert_eq!(settings.distribution.flow_attributes, ["scenario", "region"]);
    assert_eq!(settings.log.level, "info");
    assert_eq!(
        *settings.constants,
        serde_json::json!({
            "demo": "http://127.0.0.1:9",
            "Billing": {"url": "12", "retries": 3},
            "limits": {"most": 12},
        })
    );
}

#[test]
fn faults_of_the_environment_name_the_variable() {
    let found = with(
        "",
        &[
            ("PAGURUS__WORKER__CONCURENCY", "9"),
            ("PAGURUS__WORKER__HTTP__TIMEOUT", "9"),
            ("PAGURUS__DATABASE__URL_FILE", "/nonexistent/secret"),
            ("PAGURUS__EXECUTION__ERROR_HANDLING__SYNC__MODE", "maybe"),
            ("PAGURUS__ELEPHANT", "9"),
        ],
    )
    .unwrap_err();
    assert_eq!(found.len(), 5, "{found:#?}");
    assert_eq!(
        found[0],
        "PAGURUS__WORKER__CONCURENCY: unknown key in the environment; did you mean `PAGURUS__WORKER__CONCURRENCY`?"
    );
    assert!(found[1].starts_with("PAGURUS__DATABASE__URL_FILE: cannot read `/nonexistent/secret`"));
    assert_eq!(found[2], "PAGURUS__ELEPHANT: unknown key in the environment");
    assert_eq!(
        found[3],
        "worker.http.timeout: `9` is not a duration; write it like `500ms`, `5s`, `1h30m`, `2d` (PAGURUS__WORKER__HTTP__TIMEOUT)"
    );
    assert_eq!(
        found[4],
        "execution.error_handling.sync.mode: `maybe` is not one of `retry`, `none` (PAGURUS__EXECUTION__ERROR_HANDLING__SYNC__MODE)"
    );
}

#[test]
fn secrets_come_from_files_and_are_not_shown() {
    let file = File::new("secret", "postgres://u:hidden@h/db\n");
    let path = file.0.to_str().unwrap();
    let environment = [("PAGURUS__DATABASE__URL_FILE", path), ("PAGURUS__CONFIG__TOKEN_FILE", path)];
    let settings = with("", &environment).unwrap();
    assert_eq!(settings.database.url, "postgres://u:hidden@h/db");
    assert_eq!(settings.constants["token"], "postgres://u:hidden@h/db");
    assert!(!format!("{settings:?} {:?}", settings.database).contains("hidden"));
}

#[test]
fn the_file_is_read_and_a_missing_one_is_a_fault() {
    let file = File::new("pagurus.yaml", "failover: {interval: 0}\n");
    let settings = load(Some(&file.0), std::iter::empty()).unwrap();
    assert_eq!(settings.failover.interval, None);
    let missing = load(Some(Path::new("/nonexistent.yaml")), std::iter::empty()).unwrap_err();
    assert!(missing[0].to_string().starts_with("cannot read `/nonexistent.yaml`"));
}

#[test]
fn ui_1_public_access_is_for_this_host_unless_confirmed() {
    for (text, allowed) in [
        ("", true),
        ("node: {listen: '[::1]:80'}", true),
        ("node: {listen: '0.0.0.0:80'}", false),
        ("node: {listen: '10.0.0.1:80'}", false),
        ("intake: {listen_clients: '0.0.0.0:80'}", false),
        ("intake: {listen_systems: '0.0.0.0:80'}", true),
        ("node: {listen: '0.0.0.0:80'}\naccess: {mode: token}", true),
        ("node: {listen: '0.0.0.0:80'}\nintake: {public_confirmed: true}", true),
    ] {
        assert_eq!(with(text, &[]).unwrap().check_public_access().is_ok(), allowed, "{text}");
    }
}

#[test]
fn err_1_rules_of_the_file_classify() {
    let text = "execution: {error_handling: {sync: {classification: {rules: {r: {requests: [{path: /**}], classes: {down: {responses: [{status_codes: [503]}]}}}}}}}}\nretry_duration_control: {mode: run_and_suspending_durations}\n";
    let settings = with(text, &[]).unwrap();
    let request = Interaction { method: "GET", host: "x", path: "/a" };
    let classified =
        settings.errors.classify(&request, &Outcome::Response { status: 503, body: "", fault: None });
    assert_eq!(classified.unwrap().class.as_str(), "down");
}

#[test]
fn words_of_the_table_are_those_of_the_types() {
    for mode in ActivationMode::ALL {
        let settings =
            with(&format!("activation: {{mode: {mode}}}\ndistribution: {{mode: simple}}"), &[]).unwrap();
        assert_eq!(settings.activation.mode, *mode);
    }
    for mode in StartMode::ALL {
        let text = format!("execution: {{start_control: {{conditional: {{mode: {mode}}}}}}}");
        assert_eq!(with(&text, &[]).unwrap().start_control.conditional, *mode);
    }
}

#[test]
fn the_page_of_defaults_is_a_configuration() {
    let page = defaults_page();
    assert_eq!(check(&page, std::iter::empty()), [], "{page}");
    for setting in keys::settings() {
        assert!(page.contains(setting.meaning), "{}", setting.path);
    }
}

#[test]
fn the_reference_page_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let fresh = reference_page();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == fresh, "docs/configuration.md is stale; run this test with UPDATE_GENERATED=1");
}

#[test]
fn err_1_keys_of_crab_are_reported_with_their_spelling_here() {
    let message = faults("crab: {execution: {}}\n").join("\n");
    assert!(message.contains("unknown key `crab`; remove `crab`"), "{message}");
    for prefix in ["", "crab.", "ps.crab.crab_akka."] {
        let key = format!("{prefix}execution.error_handling.sync.mode");
        let message = faults(&format!("{key}: retry\n")).join("\n");
        assert!(
            message.ends_with(
                "write it nested, one name per level: {execution: {error_handling: {sync: {mode: …}"
            ),
            "{message}"
        );
    }
}

// What a start refuses, a check refuses, too.
#[test]
fn addresses_that_lead_nowhere_and_levels_that_are_none_are_refused() {
    for (text, says) in [
        ("broker: {url: 'amqps://u:secret@h?verify=never'}", "none of verify_peer, verify_none"),
        ("broker: {url: 'http://u:secret@h'}", "must begin with `amqp://`"),
        ("broker: {url: 'amqp://u:secret@h:99999'}", "is not an AMQP URL"),
        ("database: {url: 'mysql://u:secret@h'}", "must begin with `postgres://`"),
        ("database: {url: 'postgres://u:secret@h:99999/d'}", "is not a URL of a database"),
        ("database: {url: 'postgres://u:secret@h/d?sslmode=allow'}", "none of disable, prefer, require"),
        ("telemetry: {otlp: {endpoint: 'http://'}}", "and name a host"),
        ("telemetry: {otlp: {endpoint: '127.0.0.1:4318'}}", "must begin with `http://`"),
        ("log: {level: debgu}", "did you mean `debug`?"),
        ("log: {level: 'info,pagurus_worker=nope'}", "nor a filter"),
    ] {
        let found = faults(text);
        assert!(
            found.len() == 1 && found[0].contains(says) && !found[0].contains("secret"),
            "{text}: {found:?}"
        );
    }
    for text in [
        "log: {level: 'INFO,pagurus_worker=debug'}",
        "log: {level: pagurus_worker}",
        "log: {level: '3'}",
        "telemetry: {otlp: {endpoint: 'https://collector.example/otlp'}}",
        "database: {url: 'postgresql:///d?host=/run/postgresql'}",
    ] {
        assert_eq!(faults(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn variables_that_are_no_text_are_reported_and_those_of_others_are_not_read() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    let text = |text: &[u8]| OsString::from_vec(text.to_vec());
    let read = |pairs: &[(&[u8], &[u8])]| {
        load::environment(
            pairs.iter().map(|(name, value)| (text(name), text(value))).collect::<Vec<_>>().into_iter(),
        )
    };
    let foreign: (&[u8], &[u8]) = (b"LESSCHARSET\xff", b"\xff");
    assert_eq!(read(&[foreign, (b"PAGURUS__A", b"1")]), Ok(vec![("PAGURUS__A".to_owned(), "1".to_owned())]));
    let faults = read(&[(b"PAGURUS__DATABASE__URL", b"\xff"), (b"PAGURUS__\xff", b"1")]).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert_eq!(
        (&*faults[0].pointer, &*faults[0].message),
        ("PAGURUS__DATABASE__URL", "the value is not UTF-8")
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

    #[test]
    fn qlt_9_no_change_of_a_file_breaks_the_check_and_each_fault_has_a_line_of_it(
        at in proptest::arbitrary::any::<proptest::sample::Index>(), dropped in 0_usize..12,
        piece in "[\\[\\]{}:,&*!|>'\"#\n\t a-z0-9.-]{0,4}",
    ) {
        let mut letters: Vec<char> = defaults_page().chars().collect();
        let at = at.index(letters.len());
        let end = (at + dropped).min(letters.len());
        letters.splice(at..end, piece.chars());
        let text: String = letters.into_iter().collect();
        let lines = text.matches(['\n', '\r']).count() + 1;
        for fault in check(&text, std::iter::empty()) {
            proptest::prop_assert!(fault.at.is_none_or(|at| at.line as usize <= lines), "{}", fault);
        }
    }
}
