//! Reloads: the texts of a file one after the other in, settings and names of keys out.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::super::kind::Kind;
use super::*;

/// A file of its own, removed when the test ends.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let file = Self(std::env::temp_dir().join(format!("pagurus-live-{}-{name}", std::process::id())));
        file.write(text);
        file
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).unwrap();
    }

    fn load(&self, environment: &[(&str, &str)]) -> LiveSettings {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        LiveSettings::load(Some(self.0.clone()), environment).unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Nothing depends on it: the system cleans its temporary files as well.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A value other than the default; none where there is no other.
fn other(setting: &super::super::section::Setting) -> Option<String> {
    let own = match setting.path {
        "node.lost_after" => "20s",
        "database.url" => "postgres://other",
        "broker.url" => "amqp://other",
        "intake.max_body_bytes" => "2MiB",
        "execution.state_classification.target" => "[{step: end}]",
        "execution.error_handling" => {
            "{sync: {classification: {rules: {r: {requests: [{path: /**}], classes: \
             {down: {responses: [{status_codes: [503]}]}}}}}}}"
        }
        "notify.allow" | "reply.allow" => "[{queue: inbox}]",
        "access.tenants" => "[{name: bank, scenarios: [loan]}]",
        "secrets.for" => "{token: [billing.example]}",
        "config" => "{a: 1}",
        "access.ldap.bind_password" => "s3cret",
        "access.local.password_hash" => "'$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA'",
        "audit.retention" => "40d",
        "audit.export.syslog" => "'udp://h:514'",
        "access.session.longest" => "13h",
        "access.oidc.issuer" => "'https://id.example'",
        "access.oidc.client_secret" => "s3cret",
        "access.oidc.scopes" => "[openid, email]",
        "distribution.flows.limits.policies" => "{p: {scenarios: [{name: s}], params: {max_limit: 3}}}",
        "distribution.flows.limits.error_handling.policies" => {
            "{p: {scenarios: [{name: s}], error_classes: [throttling]}}"
        }
        "systems.named" => "[{name: billing, host: 'billing.*'}]",
        _ => "",
    };
    if !own.is_empty() {
        return Some(own.to_owned());
    }
    Some(match setting.kind {
        Kind::Text => "debug".into(),
        Kind::OptionalText => "http://other".into(),
        Kind::Name => "blue".into(),
        Kind::Flag => (setting.default == "false").to_string(),
        Kind::Count { most, .. } => {
            let usual: u64 = setting.default.parse().unwrap();
            if usual < most { usual + 1 } else { usual - 1 }.to_string()
        }
        Kind::Bytes | Kind::BytesOrZero => if setting.default == "32MiB" { "64MiB" } else { "32MiB" }.into(),
        Kind::Duration | Kind::DurationOrZero | Kind::OptionalDuration => "2100ms".into(),
        Kind::Address | Kind::OptionalAddress => "127.0.0.1:1".into(),
        Kind::Choice(words) => (*words.iter().find(|word| **word != setting.default)?).to_owned(),
        Kind::Texts | Kind::TextsOrNone => "[scenario, region]".into(),
        Kind::Words(words) => format!("[{}]", words.first()?),
        Kind::Hosts => "['*.other.example', api]".into(),
        Kind::Calls => "['*', other.example]".into(),
        Kind::SecretUrl | Kind::OptionalSecret | Kind::Tree(_) => return None,
        Kind::Exchanges => "[crm, partner/crm]".into(),
    })
}

/// A file with one key.
fn only(path: &str, value: &str) -> String {
    let parts: Vec<&str> = path.split('.').collect();
    format!("{}: {value}{}\n", parts.join(": {"), "}".repeat(parts.len() - 1))
}

fn reload(settings: &LiveSettings) -> Reloaded {
    settings.reload(settings.file())
}

fn version(settings: &LiveSettings) -> Option<String> {
    settings.version_of(&settings.file().ok()?)
}

#[test]
fn every_live_key_takes_effect_and_every_other_waits_for_a_restart() {
    let file = File::new("every", "");
    let settings = file.load(&[]);
    // The first has one value; the second needs others beside it.
    let fixed = ["access.mode", "access.ldap.url"];
    let mut snapshot = 1;
    for setting in keys::settings().filter(|setting| !fixed.contains(&setting.path)) {
        let path = setting.path;
        file.write(&only(path, &other(setting).unwrap_or_else(|| panic!("no other value of {path}"))));
        let before = settings.now();
        let of = |change| if setting.change == change { vec![path] } else { Vec::new() };
        let taken = || Reloaded::Taken { live: of(Reload::Live), needs_restart: of(Reload::Restart) };
        assert_eq!(reload(&settings), taken(), "{path}");
        let changes = setting.change == Reload::Live;
        assert_eq!(Arc::ptr_eq(&before, &settings.now()), !changes, "{path}");
        snapshot += u64::from(changes);
        assert_eq!(settings.state().snapshot, snapshot, "{path}");
        assert_eq!(settings.state().needs_restart, of(Reload::Restart));
        // Back to the default: what waited for a restart does not wait any more.
        file.write("");
        assert_eq!(reload(&settings), Reloaded::Taken { live: of(Reload::Live), needs_restart: vec![] });
        snapshot += u64::from(changes);
    }
}

#[test]
fn a_faulty_file_changes_nothing_and_is_reported_with_its_place() {
    let file = File::new("faulty", "recovery: {max_restarts: 3}\n");
    let settings = file.load(&[]);
    let first = settings.state();
    file.write("recovery: {max_restarts: 4}\nscenario: {min_slep: 1s}\n");
    let Reloaded::Refused(faults) = reload(&settings) else { panic!("it was taken") };
    assert_eq!(faults[0].to_string(), "2:12: unknown key `min_slep`; did you mean `min_sleep`?");
    assert_eq!(settings.now().recovery.max_restarts, 3);
    assert_eq!(settings.state(), ConfigurationState { refused: true, ..first.clone() });
    assert_ne!(settings.last_read(), first.version, "it is not read again until it is another");

    std::fs::remove_file(&file.0).unwrap();
    assert!(matches!(reload(&settings), Reloaded::Refused(_)));
    assert_eq!(version(&settings), None);

    file.write("recovery: {max_restarts: 4}\n");
    let live = vec!["recovery.max_restarts"];
    assert_eq!(reload(&settings), Reloaded::Taken { live, needs_restart: vec![] });
    let state = settings.state();
    assert_eq!((state.refused, state.snapshot, settings.now().recovery.max_restarts), (false, 2, 4));
    assert_eq!(state.version, version(&settings));
}

/// Alone the file is good; with the value of the start beside it, it is not.
#[test]
fn a_live_key_that_needs_another_key_restarted_is_refused() {
    let file = File::new("mixed", "");
    let settings = file.load(&[]);
    file.write("intake: {max_bodies_bytes: 256MiB, max_batch_body_bytes: 128MiB}\n");
    let Reloaded::Refused(faults) = reload(&settings) else { panic!("it was taken") };
    let message = faults[0].to_string();
    assert!(message.contains("must not be less than `intake.max_batch_body_bytes`"), "{message}");
    assert!(message.ends_with("restart the process to change both"), "{message}");
    assert_eq!(settings.now().intake.max_batch_body_bytes, 16 << 20);
}

/// A prefix that waits for a restart must not move the default of what may be written to.
#[test]
fn a_default_that_follows_from_another_key_waits_with_it() {
    let file = File::new("follows", "");
    let settings = file.load(&[]);
    file.write("broker: {prefix: blue}\nrecovery: {batch: 7}\n");
    let (live, needs_restart) = (vec!["recovery.batch"], vec!["broker.prefix"]);
    assert_eq!(reload(&settings), Reloaded::Taken { live, needs_restart });
    let now = settings.now();
    assert_eq!(
        (now.recovery.batch, &*now.broker.prefix, &*now.notify.allow.prefix),
        (7, "pagurus", "pagurus")
    );
}

#[test]
fn what_has_only_moved_in_the_file_is_no_change() {
    let file = File::new("moved", "config: {a: 1, b: [x]}\n");
    let settings = file.load(&[]);
    let before = settings.now();
    file.write("# A comment.\n\nconfig:\n  a: 1\n  b:\n    - x\n");
    assert_eq!(reload(&settings), Reloaded::Taken { live: vec![], needs_restart: vec![] });
    assert!(Arc::ptr_eq(&before, &settings.now()));
    assert_eq!(settings.state().version, version(&settings), "the version is that of the file");
}

#[test]
fn files_that_the_environment_names_are_read_again_and_adjustments_stay() {
    let secret = File::new("secret", "first\n");
    let file = File::new("file", "");
    let settings = file
        .load(&[("PAGURUS__CONFIG__TOKEN_FILE", secret.0.to_str().unwrap())])
        .adjusted(|settings| settings.node.name = Some("adjusted".into()));
    let shown = |settings: &Settings| (settings.constants["token"].clone(), settings.node.name.clone());
    assert_eq!(shown(&settings.now()), ("first".into(), Some("adjusted".into())));
    secret.write("second\n");
    assert_eq!(reload(&settings), Reloaded::Taken { live: vec!["config"], needs_restart: vec![] });
    assert_eq!(shown(&settings.now()), ("second".into(), Some("adjusted".into())));
}

#[tokio::test]
async fn who_sleeps_by_a_setting_wakes_by_the_new_one() {
    let file = File::new("sleep", "recovery: {interval: 1h}\n");
    let settings = file.load(&[]);
    let sleeping = settings.clone();
    let sleeper = tokio::spawn(async move { sleeping.sleep(|settings| settings.recovery.interval).await });
    tokio::task::yield_now().await;
    file.write("recovery: {interval: 10ms}\n");
    reload(&settings);
    tokio::time::timeout(Duration::from_secs(30), sleeper).await.unwrap().unwrap();
}

#[test]
fn the_version_is_that_of_sha256sum() {
    assert_eq!(version_of("abc"), "ba7816bf8f01");
}
