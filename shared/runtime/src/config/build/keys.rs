//! The keys inside of the values that are trees, and the form of each of these.

use pagurus_domain::document::form::{Form, Key, KeyRule, Keys, filled_list, key, list, required};
use pagurus_domain::retry;

/// The forms of the trees by the paths of their keys.
pub(in super::super) static TREES: &[(&str, Form)] = &[
    ("distribution.flows.limits.policies", policies(&Form::Fields(&LIMIT))),
    ("distribution.flows.limits.error_handling.policies", policies(&Form::Fields(&LIMITING))),
    ("systems.named", list(&Form::Fields(&SYSTEM))),
    ("execution.state_classification.target", list(&Form::Fields(&STEP))),
    ("execution.error_handling", retry::RULES_OF_DEPLOYMENT),
    ("notify.allow", list(&Form::Fields(&NOTIFY))),
    ("reply.allow", list(&Form::Fields(&REPLY))),
    ("secrets.for", Form::Map { names: "^[A-Za-z][A-Za-z0-9_-]{0,63}$", of: &SECRET_TARGETS, least: 0 }),
    ("access.tenants", list(&Form::Fields(&TENANT))),
    ("config", Form::Map { names: "", of: &Form::Anything, least: 0 }),
];

const SECRET_TARGETS: Form = list(&Form::Written(r"^(amqp:.+|[A-Za-z0-9.*_:/\[\]-]+)$"));

const fn policies(of: &'static Form) -> Form {
    Form::Map { names: "^.{1,64}$", of, least: 0 }
}

pub(super) static STEP: Keys =
    Keys::new(&[required("step", Form::NotEmpty, "The name of a terminal state; case does not matter.")]);

const VHOST: Key = key(
    "vhost",
    Form::NotEmpty,
    "The virtual host, with `*` for any letters; it must match that of `broker.url`.",
);
const EXCHANGE: Key = key("exchange", Form::NotEmpty, "The exchange, with `*` for any letters.");
const ROUTING_KEY: Key = key("key", Form::NotEmpty, "The routing key, with `*` for any letters.");
const QUEUE: Key = key("queue", Form::NotEmpty, "The queue, with `*` for any letters.");

pub(super) static REPLY: Keys = Keys::with_rules(
    &[VHOST, EXCHANGE, ROUTING_KEY, QUEUE],
    &[KeyRule::OneOf(&[&["exchange"], &["exchange", "key"], &["queue"]])],
);

#[rustfmt::skip]
pub(super) static NOTIFY: Keys = Keys::with_rules(
    &[
        VHOST,
        EXCHANGE,
        ROUTING_KEY,
        QUEUE,
        key("url", Form::NotEmpty, "Of webhooks: `https://HOST[:PORT][/PATH]`, with `*` in host and path."),
        key("secret", Form::Written("^[A-Za-z0-9_-]{1,64}$"), "The name of the secret that signs webhooks."),
        key("certificate", Form::Written("^[A-Za-z0-9_-][A-Za-z0-9._-]*$"), "The name of the certificate in `worker.http.certificates` that is shown to receivers of webhooks."),
    ],
    &[KeyRule::OneOf(&[&["exchange"], &["exchange", "key"], &["queue"], &["url", "secret"], &["url", "secret", "certificate"]])],
);

pub(super) static SYSTEM: Keys = Keys::with_rules(
    &[
        required("name", NAME, "The name of the called system."),
        key("host", Form::NotEmpty, "A mask of the host."),
        key("path", Form::NotEmpty, "A mask of the path."),
        key("exchange", Form::NotEmpty, "A mask of the exchange."),
    ],
    &[KeyRule::OneOf(&[&["host"], &["path"], &["host", "path"], &["exchange"]])],
);

pub(super) static TENANT: Keys = Keys::new(&[
    required("name", NAME, "The name of the tenant, as in tokens and on pages."),
    key("groups", OWNED, "Groups of people, as the directory names them."),
    key("flows", OWNED, "The flows that it owns, with `*` for any letters."),
    key("queues", OWNED, "The queues that it owns, with `*` for any letters."),
    key("scenarios", OWNED, "The scenarios that it owns, with `*` for any letters."),
]);

const OWNED: Form = list(&Form::NotEmpty);

const NAME: Form = Form::Written("^.{1,64}$");

pub(super) static LIMIT: Keys = Keys::new(&[
    required("scenarios", SCENARIOS, "The scenarios."),
    key("params", Form::Fields(&PARAMS), "What applies to their flows."),
]);

pub(super) static PARAMS: Keys = Keys::new(&[
    key("mode", Form::Word(&["stopped_flows", "limited_flows"]), "How their capacity is controlled."),
    key("max_limit", Form::Whole { least: 1, most: u32::MAX as u64 }, "Most stages in progress."),
    key(
        "weight",
        Form::Whole { least: 1, most: MOST_WEIGHT as u64 },
        "Their share, compared with flows of weight 1, of the limit of a called system and of the time of workers.",
    ),
]);

/// The greatest weight of a flow.
pub(super) const MOST_WEIGHT: u32 = 1000;

pub(super) static LIMITING: Keys = Keys::new(&[
    required("error_classes", filled_list(&NAME), "The classes of errors."),
    required("scenarios", SCENARIOS, "The scenarios."),
]);

const SCENARIOS: Form =
    Form::List { of: &Form::Open { keys: &SCENARIO, names: "", of: &Form::Anything }, least: 1, most: None };

static SCENARIO: Keys = Keys::new(&[required("name", NAME, "The name of a scenario.")]);
