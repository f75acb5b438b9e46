//! The table of all configuration keys, in the order of the pages, joined from the sections. It drives checking, the
//! environment, the page of defaults and the reference; a key that does not stand here does not exist.

use super::kind::Kind::*;
use super::section::{Setting, rows};
use super::*;

/// Keys of what concerns all services.
pub(super) const REST: &[Setting] = rows! {
    ("reply.allow", Tree("a list of `vhost`, `exchange`, `key`, `queue` patterns"), "~", Live, "Where receipts may go besides direct reply-to, with `*` in names; default: queues `<broker.prefix>.reply.*`.");
    ("secrets.folder", OptionalText, "~", Restart, "Folder with a file for each secret that scenarios name as `secret.NAME`; without the folder or the file, the environment variable `PAGURUS_SECRET_NAME` is used.");
    ("secrets.for", Tree("a mapping of names of secrets and lists of targets"), "{}", Live, "Where a secret may be sent: `billing_token: [billing.example, '*.bank.example', 10.0.0.0/8, 'amqp:crm.*']`. A host is the one in the URL of a call or a webhook, with or without a port; `*.` before it stands for any name below it. A network applies to the address of the connection. `amqp:EXCHANGE` is an exchange of the engine's own virtual host, `amqp:VHOST/EXCHANGE` one of another, with `*` in names. An empty list permits nothing. A call to another target fails with class `secret.forbidden` before anything is sent.");
    ("secrets.others", Choice(&["anywhere", "nowhere"]), "anywhere", Live, "Where secrets that `secrets.for` does not name may be sent.");
    ("config", Tree("a mapping of names and values"), "{}", Live, "Named constants that scenarios read as `config.NAME`. One whose name ends with the word `secret`, `password`, `passwd`, `passphrase`, `token`, `credential`, `apikey` (or its plural), or with `key` behind `api`, `access`, `private`, `secret`, `signing`, `encryption`, `shared`, `master`, `auth` or `account`, is a secret with all that is in it: its value is masked wherever secrets of scenarios are. Others are shown where a scenario or a called system shows them.");
};

/// The keys of each section, those that are apart in the pages included.
const SECTIONS: &[&[Setting]] = &[
    NodeSettings::KEYS,
    DatabaseSettings::KEYS,
    BrokerSettings::KEYS,
    LogSettings::KEYS,
    TelemetrySettings::KEYS,
    IntakeSettings::KEYS,
    intake::LIMITS,
    CallbackSettings::KEYS,
    RecordSettings::KEYS,
    DistributionSettings::KEYS,
    distribution::SYSTEMS,
    DispatcherSettings::KEYS,
    WorkerSettings::KEYS,
    ActivationSettings::KEYS,
    RecoverySettings::KEYS,
    CheckSettings::KEYS,
    FailoverSettings::KEYS,
    ShutdownSettings::KEYS,
    worker::SCENARIOS,
    RetentionSettings::KEYS,
    worker::TARGETS,
    StartControlSettings::KEYS,
    worker::ERRORS,
    ResourceControlSettings::KEYS,
    NotifySettings::KEYS,
    WebhookSettings::KEYS,
    AccessSettings::KEYS,
    LdapSettings::KEYS,
    OidcSettings::KEYS,
    REST,
];

/// All keys in the order of the pages.
pub(super) fn settings() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().copied().flatten()
}

/// The key of a path.
pub(super) fn find(path: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.path == path)
}

/// The key whose value is a tree and holds this path.
pub(super) fn find_tree(path: &str) -> Option<&'static Setting> {
    settings().find(|setting| {
        matches!(setting.kind, Tree(_))
            && path.strip_prefix(setting.path).is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The names that may stand directly under a section, the empty path being the whole file; none
/// if there is no such section.
pub(super) fn names_under(section: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = settings()
        .filter_map(|setting| match section {
            "" => Some(setting.path),
            section => setting.path.strip_prefix(section)?.strip_prefix('.'),
        })
        .filter_map(|rest| rest.split('.').next())
        .collect();
    names.dedup();
    names
}
