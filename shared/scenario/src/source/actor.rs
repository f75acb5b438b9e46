//! Reads `actor` and `order`: the actions that hand work to a program or to another order.

use std::time::Duration;

use pagurus_domain::document::form::{Form, KeyRule, Keys, key, required};

use super::draft::{Effect, Named};
use super::http::{self, ActionParts};
use super::reader::{Fields, IDENTIFIER, LONGEST_DURATION, ScenarioReader, Spot, quoted};
use super::template::without_marks;
use crate::{Action, ActorAction, Lapse, OrderAction};

/// The defaults of SCN-11.
const WORK_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest name of an actor: it becomes part of the name of a broker queue.
const LONGEST_NAME: usize = 64;

/// The keys of a task for a program outside.
#[rustfmt::skip]
pub(super) static ACTOR: Keys = Keys::new(&[
    required("name", Form::Matching("^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"), "The queue of its tasks is `pagurus.actors.NAME`."),
    key("body", Form::Something, "The content of the task."),
    key("workTimeout", Form::Lapse, "Time-out for one hand-out without a decision or a heartbeat; default: `1m`."),
    key("restartAfterWorkTimeout", Form::Flag, "Hand the task out again after that; `false` fails with `actor.timeout`."),
    key("acceptFirst", Form::Flag, "The first decision counts, whichever hand-out it answers; `false` takes only that of the newest."),
    key("taskTimeout", Form::LapseOrZero, "Time-out for all hand-outs together."),
    key("forceFinishAfterTaskTimeout", Form::Flag, "Whether the time-out also ends a task in progress, whatever its heartbeats."),
    key("save", http::SAVE, "Variables to set from the decision."),
]);

/// The keys of a child order.
pub(super) static ORDER: Keys = Keys::with_rules(
    &[
        key(
            "id",
            Form::Something,
            "The id of the child; default: made from that of the parent and the place.",
        ),
        required("scenario", Form::Something, "The scenario that the child runs."),
        key("scenarioVersion", Form::Something, "Its version; default: the newest."),
        key("params", Form::Something, "The parameters."),
        key("mode", Form::Something, "`parallel` or `sequential`."),
        key("queue", Form::Something, "The queue of a sequential child."),
        key("priority", Form::Something, "`high`, `normal` or `low`."),
        key("flow", Form::Something, "The flow; default: by the attributes in the configuration."),
        key("transactionId", Form::Something, "Id of the business transaction; default: that of the parent."),
        key("labels", Form::Something, "The labels of the child: a mapping of keys to texts."),
        key("lifecycle", Form::Something, "When it may start, and what it waits for."),
        key("wait", Form::Flag, "Wait for its end, and get it as `callbacks.NAME.body`."),
        key("request", Form::Matching(IDENTIFIER), "The NAME of the request for its end; default: `order`."),
        key("timeout", Form::Lapse, "How long to wait for its end here."),
    ],
    &[KeyRule::Needs("request", "wait"), KeyRule::Needs("timeout", "wait")],
);

/// Reads an `actor` action.
pub(super) fn read_actor(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let effect = Effect { fails: Some("actor"), suspends: true, ..Effect::default() };
    let before = reader.fault_count();
    let Some(fields) = reader.fields(spot, &ACTOR) else {
        return (None, effect, None);
    };
    let name = reader.required(spot, &fields, "name", "name: scoring").cloned();
    let name = name.and_then(|spot| actor_name(reader, &spot));
    if let (Some(noted), Some(name)) = (reader.noted.as_mut(), &name) {
        noted.answer(&name.replace(['-', '.'], "_"));
    }
    let body = fields.get("body").and_then(|body| reader.template(body));
    let work_timeout = fields.get("workTimeout").and_then(|spot| reader.lapse(spot, LONGEST_DURATION));
    let task_timeout =
        fields.get("taskTimeout").and_then(|spot| reader.lapse_or_zero(spot, LONGEST_DURATION));
    let restart = flag(reader, &fields, "restartAfterWorkTimeout", true);
    let accept_first = flag(reader, &fields, "acceptFirst", true);
    let force = flag(reader, &fields, "forceFinishAfterTaskTimeout", false);
    let save = http::save(reader, &fields);
    let Some(name) = name.filter(|_| reader.fault_count() == before) else {
        return (None, effect, None);
    };
    let action = ActorAction {
        name,
        body,
        work_timeout: work_timeout.unwrap_or(Lapse::Known(WORK_TIMEOUT)),
        restart_after_work_timeout: restart,
        accept_first,
        task_timeout: task_timeout.filter(|timeout| !matches!(timeout, Lapse::Known(Duration::ZERO))),
        force_finish_after_task_timeout: force,
        save: without_marks(save),
    };
    (Some(Action::Actor(Box::new(action))), effect, None)
}

fn flag(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>, key: &str, default: bool) -> bool {
    fields.get(key).and_then(|spot| reader.flag(spot)).unwrap_or(default)
}

fn actor_name(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<String> {
    let name = reader.text(spot)?;
    let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && name.len() <= LONGEST_NAME;
    if !good {
        let fault = spot.fault(format!("{} is not a name for an actor", quoted(name)));
        reader.push(fault.hint("write letters, digits, `_`, `-` and `.`, 64 characters at most"));
        return None;
    }
    Some(name.to_owned())
}

/// The fields of a child's registration that a scenario may set.
const CHILD_FIELDS: &[&str] = &[
    "id",
    "scenario",
    "scenarioVersion",
    "params",
    "mode",
    "queue",
    "priority",
    "flow",
    "transactionId",
    "labels",
    "lifecycle",
];

/// Reads an `order` action. Whether it waits right here is settled when the whole state is known.
pub(super) fn read_order(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let effect = Effect { fails: Some("order"), ..Effect::default() };
    let before = reader.fault_count();
    let Some(fields) = reader.fields(spot, &ORDER) else {
        return (None, effect, None);
    };
    reader.required(spot, &fields, "scenario", "scenario: NAME");
    let mut set = Vec::new();
    for key in CHILD_FIELDS {
        if let Some(template) = fields.get(key).and_then(|spot| reader.template(spot)) {
            set.push(((*key).to_owned(), template));
        }
    }
    let waits = flag(reader, &fields, "wait", false);
    let timeout = fields.get("timeout").and_then(|spot| reader.lapse(spot, LONGEST_DURATION));
    let named = http::name_of_request(reader, &fields);
    if !waits && let Some((mark, _)) = fields.entry("request").or_else(|| fields.entry("timeout")) {
        let fault = mark.fault("no action waits for the end of this order");
        reader.push(fault.hint("add `wait: true`, or remove the key"));
    }
    if waits {
        reader.warn_of_waits_for_itself(&fields, &set);
    }
    let request = waits.then(|| named.unwrap_or(Named { name: "order".into(), mark: spot.mark.clone() }));
    if let (Some(noted), Some(request)) = (reader.noted.as_mut(), &request) {
        noted.request(&request.name);
    }
    if reader.fault_count() > before {
        return (None, effect, request);
    }
    let action = OrderAction {
        fields: set,
        request: request.as_ref().map(|request| request.name.clone()),
        waits_here: waits,
        timeout,
    };
    (Some(Action::Order(Box::new(action))), effect, request)
}
