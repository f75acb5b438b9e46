//! The actions, one bad example for each rule.

use super::{check_actions, check_table, faults, outcome, with_actions};
use crate::{Action, Auth, Body, HttpAction, Method, StatusRange};

pub(super) fn http(action: &str) -> HttpAction {
    let mut scenario = outcome(&with_actions(action)).unwrap();
    match scenario.states[0].actions.remove(0) {
        Action::Http(http) => *http,
        other => panic!("{other:?}"),
    }
}

#[test]
fn scn_1_actions_are_distinguished_by_their_word() {
    check_actions(&[
        ("- htpp: {url: 'http://h'}", "6:7: there is no action `htpp`; did you mean `http`?"),
        ("- explode: {}", "6:7: there is no action `explode`; there are: http, amqp, script"),
        ("- relase", "6:7: there is no action `relase`; did you mean `release`?"),
        ("- sleep", "6:7: the action `sleep` does not say what to do; write it like"),
        ("- log:", "6:7: the action `log` does not say what to do; write it like `log: "),
        ("- 5", "6:7: an action is not a whole number; write it like"),
        ("- {}", "6:7: the action is empty; there are: http"),
        ("- release: 5", "6:16: `release` takes no settings; write `- release`"),
        ("- log: x\n  save: {a: 1}", "7:7: `save` stands beside `log`; indent it further"),
        ("- log: x\n  release: true", "7:7: `release` stands beside `log`; start the next action"),
    ]);
}

#[test]
fn scn_16_events_of_scripts_are_checked() {
    check_actions(&[
        ("- script: event(\"success\")", "6:15: `success` is an event of the engine; write `success()`"),
        ("- script: event(\"timeout\")", "6:15: `timeout` is an event of the engine; give the event another"),
        ("- script: event(\"a b\")", "6:15: `a b` is not a name for an event; write a letter"),
        (
            "- script: |\n    let to = \"x\";\n    event(to)",
            "8:9: the name of the event is known only at run time; write the name as a text",
        ),
        ("- script: event()", "6:15: `event` takes 1 argument, not 0"),
        (
            "- choose: [{when: 'params.n > 1', actions: [{script: 'event(\"big\")'}]}]",
            "8:5: `a` has no transition for `big`: its script raises it by `event(\"big\")`; add `big: STATE`",
        ),
    ]);
    let state = |on: &str| {
        format!(
            "scenario: s\ninitialState: a\nstates:\n  a: {{actions: [{{script: 'if params.n {{ event(\"big\") }}'}}], on: {on}}}\n  done: {{kind: terminal}}\n"
        )
    };
    check_table(&[
        (
            &state("{success: done, fail: done}"),
            "4:60: `a` has no transition for `big`: its script raises it",
        ),
        (
            &state("{success: done, fail: done, big: done, bg: done}"),
            "4:103: there is no event `bg`; did you mean `big`?",
        ),
        (
            &state("{success: done, fail: done, big: done, elsewhere: done}"),
            "4:103: there is no event `elsewhere`; there are: success, fail, sleep, wait, callback, timeout, timeout:process; an event of its own",
        ),
        (
            "scenario: s\nkind: operation\nactions: [{script: 'event(\"big\")'}]\n",
            "3:21: an operation cannot raise events; write a workflow",
        ),
        (
            "scenario: s\ninitialState: a\ncalls: {c: {actions: [{script: 'event(\"x\")'}]}}\nstates:\n  a: {on: {success: done}}\n  done: {kind: terminal}\n",
            "3:33: a call cannot raise events, because it does not move the order; use a transition to a state whose script",
        ),
    ]);
    let sound = outcome(&state("{success: done, fail: done, big: done}")).unwrap();
    assert_eq!(sound.states[0].named, [("big".to_owned(), crate::StateId(1))]);
}

#[test]
fn scn_11_actors_are_checked() {
    check_actions(&[
        ("- actor: {}", "6:14: `name` is missing; write `name: scoring`"),
        ("- actor: {name: 'a b'}", "6:21: `a b` is not a name for an actor; write letters"),
        ("- actor: {name: a, workTimeout: 0s}", "6:37: `workTimeout` must be longer than zero"),
        ("- actor: {name: a, acceptFirst: 1}", "6:37: `acceptFirst` must be `true` or `false`"),
        ("- actor: {name: a, timeout: 1m}", "6:24: unknown key `timeout`; there are: name, body"),
        ("- actor", "6:7: the action `actor` does not say what to do; write it like `actor: {name: scoring"),
    ]);
}

#[test]
fn scn_1_child_orders_are_checked() {
    check_actions(&[
        ("- order: {}", "6:14: `scenario` is missing; write `scenario: NAME`"),
        (
            "- order: {scenario: s, request: r}",
            "6:28: no action waits for the end of this order; add `wait: true`",
        ),
        ("- order: {scenario: s, timeout: 1m}", "6:28: no action waits for the end of this order"),
        ("- order: {scenario: s, notify: {}}", "6:28: unknown key `notify`"),
    ]);
}

#[test]
fn scn_1_choices_are_checked() {
    check_actions(&[
        ("- choose: []", "6:15: `choose` has no branches; write it like"),
        ("- choose: [{when: 'true'}]", "6:16: a branch has `when` and `actions`, or `otherwise` alone"),
        ("- choose: [{when: true, actions: []}]", "6:23: this condition is always the same"),
        ("- choose: [{when: 'params.a >', actions: []}]", "6:3"),
        ("- choose: [{otherwise: []}]", "6:15: `choose` has nothing to choose"),
        (
            "- choose: [{when: 'params.a > 1', actions: []}, {otherwise: []}, {otherwise: []}]",
            "6:70: this branch is never taken: the one before it has no condition",
        ),
        (
            "- choose: [{when: 'params.a > 1', actions: [htp]}]",
            "6:49: there is no action `htp`; did you mean `http`?",
        ),
    ]);
}

#[test]
fn scn_1_steps_at_once_are_checked() {
    check_actions(&[
        ("- parallel: []", "6:17: `parallel` is a list of 1 to 20 `http` steps, not of 0"),
        ("- parallel: [{script: x}]", "6:18: a step of `parallel` is one `http` request"),
        (
            "- parallel: [{http: {url: 'http://h'}}]",
            "6:25: a step of `parallel` needs a name; add `name: NAME`",
        ),
        (
            "- parallel: [{http: {name: a, url: 'http://h', request: r}}]",
            "6:61: a step of `parallel` registers no request",
        ),
        (
            "- parallel: [{http: {name: a, url: 'http://h'}}, {http: {name: a, url: 'http://h'}}]",
            "6:54: two steps of this `parallel` have the name `a`",
        ),
    ]);
}

#[test]
fn scn_15_secrets_stand_only_in_what_is_sent() {
    check_actions(&[
        (
            "- log: '${secret.KEY}'",
            "6:12: a secret is not allowed here; name it only in what an `http` or `amqp`",
        ),
        ("- http: {url: 'http://h', save: {a: '${secret.KEY}'}}", "6:41: a secret is not allowed here"),
        ("- http: {url: 'http://h', headers: {A: '${secret.KEY + 1}'}}", "6:44: a secret must stand alone"),
        ("- savepoint: x", "6:7: a savepoint may stand only between the actions of an operation"),
        ("- savepoint", "6:7: a savepoint may stand only between the actions of an operation"),
        ("- http: {url: 'http://h', mask: [a]}", "6:31: unknown key `mask`"),
    ]);
}

#[test]
fn scn_1_http_actions_are_checked_where_they_are_constant() {
    check_actions(&[
        ("- http: 5", "6:13: `http` must be a mapping with keys, not a whole number"),
        ("- http: {name: a}", "6:13: `url` is missing; write `url: "),
        ("- http: {url: }", "6:14: `url` has no value; give it one, or remove the key"),
        ("- http: {url: 5}", "6:19: `url` must be a text, not a whole number; put it in quotes"),
        ("- http: {urll: 'http://h', url: 'http://h'}", "6:14: unknown key `urll`; did you mean `url`?"),
        ("- http: {url: 'ftp://h'}", "6:19: a URL begins with `http://` or `https://`; write it so"),
        ("- http: {url: '/path'}", "6:19: a URL begins with `http://` or `https://`"),
        ("- http: {url: 'http://u:p@h/'}", "6:19: a URL may not contain a user or a password; write `auth:"),
        ("- http: {url: 'http://${params.u}@h/'}", "6:19: a URL may not contain a user or a password"),
        ("- http: {url: 'http:///x'}", "6:19: the URL names no host; write `http://HOST/path`"),
        ("- http: {url: 'http://h/a b'}", "6:19: a URL may not contain spaces or line breaks"),
        ("- http: {url: '${config.a}/ b'}", "6:19: a URL may not contain spaces or line breaks"),
        ("- http: {url: 'http://h', method: post}", "6:39: `post` is not a method; did you mean `POST`?"),
        (
            "- http: {url: 'http://h', body: {}, text: x}",
            "6:41: `body` and `text` exclude each other; keep one of them",
        ),
        ("- http: {url: 'http://h', form: [a]}", "6:37: `form` must be a mapping, not a list"),
    ]);
}

#[test]
fn scn_1_settings_of_http_actions_have_their_form() {
    check_actions(&[
        (
            "- http: {url: 'http://h', timeout: 5}",
            "6:40: `timeout` must be a duration, not a whole number; add the unit",
        ),
        ("- http: {url: 'http://h', timeout: 5 s}", "6:40: `5 s` is not a duration; write it like"),
        ("- http: {url: 'http://h', timeout: 0s}", "6:40: `timeout` must be longer than zero"),
        (
            "- http: {url: 'http://h', timeout: 6m}",
            "6:40: `6m` is too long for `timeout`; write at most `5m`",
        ),
        ("- http: {url: 'http://h', expect: [404, 99]}", "6:45: `99` is not an HTTP status; write it like"),
        ("- http: {url: 'http://h', expect: 500-400}", "6:39: `500-400` is not an HTTP status"),
        ("- http: {url: 'http://h', expect: {a: 1}}", "6:39: `expect` lists statuses, not a mapping"),
        (
            "- http: {url: 'http://h', save: {a-b: 1}}",
            "6:38: `a-b` is not a name for a variable; write a letter",
        ),
        (
            "- http: {url: 'http://h', save: x}",
            "6:37: `save` must be a mapping of variables to values, not a text",
        ),
        ("- http: {url: 'http://h', name: '1'}", "6:37: `1` is not a name for an answer"),
        ("- http: {url: 'http://h', request: a.b}", "6:40: `a.b` is not a name for a request"),
        (
            "- http: {url: 'http://h', body: {u: '${request.url}'}}",
            "6:13: `${request.…}` has no value here: the action registers no request; add",
        ),
    ]);
}

#[test]
fn scn_1_header_fields_and_credentials_are_checked() {
    check_actions(&[
        (
            "- http: {url: 'http://h', headers: {'a b': c}}",
            "6:41: `a b` is not a name of a header field; write letters",
        ),
        (
            "- http: {url: 'http://h', headers: {A: \"b\\r\\nC: d\"}}",
            "6:41: the value of `A` contains a line break",
        ),
        ("- http: {url: 'http://h', headers: {A: 1, a: 2}}", "6:47: the header field `a` is given twice"),
        (
            "- http: {url: 'http://h', headers: {Content-Length: 2}}",
            "6:41: the header field `Content-Length` is written by the engine; remove it",
        ),
        ("- http: {url: 'http://h', headers: {A: [1]}}", "6:44: `A` must be a text or a number, not a list"),
        (
            "- http: {url: 'http://h', query: {'${vars.a}': x}}",
            "6:39: the key `${vars.a}` is not evaluated; build the mapping in a `script`",
        ),
        (
            "- http: {url: 'http://h', auth: {bearer: t}, headers: {authorization: x}}",
            "6:60: `authorization` and `auth` set the same header",
        ),
        (
            "- http: {url: 'http://h', auth: {username: u}}",
            "6:37: `auth` is neither a bearer token nor a user with a password nor a certificate; write `{bearer",
        ),
        (
            "- http: {url: 'http://h', auth: {certificate: bank}}",
            "6:19: a certificate can be presented only over TLS; write `https://`, or remove",
        ),
        (
            "- http: {url: 'https://h', auth: {certificate: ../bank}}",
            "6:52: `../bank` is not a name of a certificate; write letters, digits",
        ),
        (
            "- http: {url: 'http://h', auth: {token: u}}",
            "6:38: unknown key `token`; there are: bearer, username, password",
        ),
    ]);
}

#[test]
fn scn_1_amqp_actions_are_checked_where_they_are_constant() {
    check_actions(&[
        ("- amqp: {key: k}", "6:13: `exchange` is missing; write `exchange: NAME`"),
        ("- amqp: {exchange: e}", "6:13: `key` is missing"),
        ("- amqp: {exchange: '', key: k}", "6:24: messages cannot be published to the default exchange"),
        ("- amqp: {exchange: amq.topic, key: k}", "6:24: `amq.topic` belongs to the broker"),
        ("- amqp: {exchange: e, key: k, headers: {'': x}}", "6:45: `` is not a name of a header field"),
        ("- amqp: {exchange: e, key: 5}", "6:32: `key` must be a text, not a whole number"),
    ]);
    let long = format!("- amqp: {{exchange: e, key: {}}}", "k".repeat(256));
    check_actions(&[(&long, "6:32: `key` is longer than 255 bytes")]);
}

#[test]
fn scn_6_sleeps_are_checked_where_they_are_constant() {
    let case = |sleep: &str| {
        format!(
            "scenario: s\ninitialState: a\nstates:\n  a:\n    actions: [{{sleep: {sleep}}}]\n    \
             on: {{sleep: b}}\n  b: {{kind: sleeping, on: {{timeout: done}}}}\n  \
             done: {{kind: terminal}}\n"
        )
    };
    for (sleep, expected) in [
        ("{}", "5:23: `sleep` does not say how long; write `{for: 1d}`"),
        ("1d", "5:23: `sleep` must be a mapping with keys, not a text"),
        ("{for: 1d, until: x}", "5:33: `for` and `until` exclude each other"),
        ("{for: 1w}", "5:29: `1w` is not a duration"),
        ("{for: 20}", "5:29: `for` must be a duration, not a whole number"),
        ("{for: 4000d}", "5:29: `4000d` is too long for `for`; write at most `3650d`"),
        ("{until: tomorrow}", "5:31: `tomorrow` is not a time with an offset; write it like"),
        ("{until: \"2030-12-31T08:00:00\"}", "5:31: `2030-12-31T08:00:00` is not a time"),
        ("{until: \"2030-13-31T08:00:00Z\"}", "5:31: `2030-13-31T08:00:00Z` is not a time"),
        ("{unti: x}", "5:24: unknown key `unti`; did you mean `until`?"),
    ] {
        super::check_table(&[(&case(sleep), expected)]);
    }
    for good in
        ["{for: 1h30m}", "{until: 2030-12-31T08:00:00+03:00}", "{until: 2030-12-31T08:00:00.250-05:30}"]
    {
        assert_eq!(faults(&case(good)), Vec::<String>::new(), "{good}");
    }
    let failing = case("{for: '${params.d}d'}").replace("sleep: b}", "sleep: b, fail: done}");
    assert_eq!(faults(&failing), Vec::<String>::new());
    let nonsense = failing.replace("}d'", "} days'");
    assert!(faults(&nonsense)[0].starts_with("5:29: this is not a duration, whatever the expression yields"));
}

#[test]
fn scn_5_expressions_in_braces_keep_constants_apart() {
    let read = http("- http: {url: 'http://h', body: {a: [1, 'b$${c}'], d: '${params.e}'}}");
    let Some(Body::Json(crate::value::Template::Map(members))) = read.body else {
        panic!("{:?}", read.body);
    };
    let shown = format!("{:?}", members[0].1);
    assert!(shown.contains("Constant") && shown.contains("b${c}"), "{shown}");
}

#[test]
fn scn_5_http_settings_become_the_model() {
    let read = http(
        "- http:\n    url: '${config.a}/b'\n    query: {limit: 10, q: '${params.q}'}\n    \
         form: {a: 1}\n    timeout: 1s500ms\n    expect: [404, '5xx', 200-299]\n    \
         save: {all: '${response.body}'}\n    name: first\n    \
         auth: {username: u, password: '${config.p}'}\n    request: r",
    );
    assert_eq!(read.method, Method::Post);
    let timeout = std::time::Duration::from_millis(1500);
    assert!(matches!(read.timeout, Some(crate::Lapse::Known(known)) if known == timeout));
    let range = |from, to| StatusRange { from, to };
    assert_eq!(read.expect, [range(404, 404), range(500, 599), range(200, 299)]);
    assert!(matches!(read.body, Some(Body::Form(fields)) if fields.len() == 1));
    assert!(matches!(read.auth, Some(Auth::Basic { .. })));
    assert_eq!((read.name.as_deref(), read.request.as_deref()), (Some("first"), Some("r")));
    assert_eq!((read.query.len(), read.save.len()), (2, 1));
    assert_eq!(http("- http: {url: 'HTTPS://h'}").method, Method::Get);
}
