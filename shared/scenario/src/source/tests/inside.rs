//! Operations that a scenario runs by `do` (SCN-19): what is taken, and what is a fault.

use super::with_actions;
use crate::script::{Limits, Scripting};
use crate::source::{operations_of, read_with};
use crate::{Action, Bounds, Library, LibraryEntry, OperationUse, Scenario};

const PAY: &str = "scenario: pay\nkind: operation\n\
    params: {type: object, required: [amount], additionalProperties: false, properties: {amount: {type: integer}, note: {type: string}}}\n\
    mask: [params.amount, body.card]\nactions:\n  - http: {url: 'http://h/${params.amount}', request: r}\n  - wait\n  - savepoint: s\n  - log: x\n";

fn entry(text: &str) -> LibraryEntry {
    let name = text.lines().next().and_then(|line| line.strip_prefix("scenario: ")).unwrap().to_owned();
    LibraryEntry { name, version: None, file: Some(format!("{}.yaml", &text[10..13])), text: text.to_owned() }
}

fn read_by(text: &str, library: &Library) -> Result<Scenario, Vec<String>> {
    let read = read_with(text, library, &Scripting::new(Limits::default()), &Bounds::default());
    read.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

fn outcome(actions: &str, operations: &[&str]) -> Result<Scenario, Vec<String>> {
    let library = Library::of_files(operations.iter().map(|text| entry(text)));
    read_by(&with_actions(actions), &library)
}

#[test]
fn scn_19_an_operation_is_laid_out_between_its_entry_and_its_exit() {
    let scenario =
        outcome("- do: {operation: pay, params: {amount: 1}, save: {a: '${result.id}'}}", &[PAY]).unwrap();
    let words: Vec<&str> = scenario.states[0].actions.iter().map(Action::word).collect();
    assert_eq!(words, ["do", "http", "wait", "savepoint", "log", "do", "script"]);
    assert_eq!(scenario.states[0].actions[1].request(), Some("pay/r"));
    let Action::Enter(enter) = &scenario.states[0].actions[0] else { panic!() };
    assert_eq!((enter.exit, enter.path(), enter.operation.file.as_deref()), (5, "pay", Some("pay.yaml")));
    // What it hides of bodies is hidden; its parameters are not those of the order.
    let mut params = serde_json::json!({"amount": 1});
    scenario.mask.params(&mut params);
    assert_eq!(params["amount"], 1);
    assert_ne!(scenario.mask.body_text("{\"card\":1}"), "{\"card\":1}");
}

/// Holds scenarios, with the operations that they may run, against the one fault of each.
fn check(cases: &[(&str, &[&str], &str)]) {
    let mut wrong = String::new();
    for (actions, operations, expected) in cases {
        let faults = outcome(actions, operations).err().unwrap_or_else(|| panic!("{actions} is taken"));
        if faults.len() != 1 || !faults[0].starts_with(expected) {
            wrong.push_str(&format!("{actions}\nexpected: {expected}\nfound: {faults:#?}\n\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn scn_19_what_is_wrong_with_an_operation_is_a_fault_of_the_place_that_runs_it() {
    let chain = |name: &str, next: &str| {
        format!("scenario: {name}\nkind: operation\nactions:\n  - do: {{operation: {next}}}\n")
    };
    let end = "scenario: op4\nkind: operation\nactions: [log: x]\n";
    let (one, two, three) = (chain("op1", "op2"), chain("op2", "op3"), chain("op3", "op4"));
    let circle = chain("op3", "op1");
    let workflow = "scenario: flow\ninitialState: done\nstates: {done: {kind: terminal}}\n";
    let broken = "scenario: bad\nkind: operation\nactions:\n  - log: '${nobody.knows}'\n";
    let cases: [(&str, &[&str], &str); 7] = [
        ("- do: {operation: pey}", &[PAY], "6:23: there is no operation `pey`; did you mean `pay`?"),
        ("- do: {}", &[PAY], "6:11: `operation` is missing; write `operation: NAME`"),
        ("- do: {operation: pay, version: 0}", &[PAY], "6:37: `version` must be a whole number from 1"),
        (
            "- do: {operation: flow}",
            &[workflow],
            "6:23: the operation `flow` is a workflow; start it as an order of its own",
        ),
        (
            "- do: {operation: bad}",
            &[broken],
            "6:23: the operation `bad` has a fault of its own in `bad.yaml`, line 4: nothing is called `nobody`",
        ),
        (
            "- do: {operation: op1}",
            &[&one, &two, &circle],
            "6:23: the operation `op1` has a fault of its own in `op1.yaml`, line 4: the operation `op2` has a fault of its own in `op2.yaml`, line 4: the operation `op3` has a fault of its own in `op3.yaml`, line 4: `op1` would run itself: s, op1, op2, op3, op1",
        ),
        (
            "- do: {operation: op1}",
            &[&one, &two, &three, end],
            "6:23: the operation `op1` has a fault of its own in `op1.yaml`, line 4: the operation `op2` has a fault of its own in `op2.yaml`, line 4: the operation `op3` has a fault of its own in `op3.yaml`, line 4: operations stand 3 deep inside one another at most",
        ),
    ];
    check(&cases);
    assert!(outcome("- do: {operation: op2}", &[&two, &three, end]).is_ok());
}

#[test]
fn scn_19_what_is_known_of_the_parameters_is_held_against_the_schema() {
    check(&[
        ("- do: {operation: pay}", &[PAY], "6:23: `params` of the operation: "),
        ("- do: {operation: pay, params: {amount: x}}", &[PAY], "6:45: `amount` of the operation: "),
        (
            "- do: {operation: pay, params: {amount: '${params.n}', more: 1}}",
            &[PAY],
            "6:36: `params` of the operation: ",
        ),
        (
            "- do: {operation: pay, params: {note: '${params.n}'}}",
            &[PAY],
            "6:36: `params` of the operation: ",
        ),
        (
            "- do: {operation: pay, params: 'amount'}",
            &[PAY],
            "6:36: `params` can never be a mapping of names to values",
        ),
        (
            "- do: {operation: pay, params: {amount: '${secret.x}'}}",
            &[PAY],
            "6:45: a secret is not allowed here",
        ),
        (
            "- do: {operation: pay, params: {amount: 1}, save: {a: '${resulted.id}'}}",
            &[PAY],
            "6:62: nothing is called `resulted` here",
        ),
        (
            "- each: {in: [1], actions: [{do: {operation: pay}}]}",
            &[PAY],
            "6:33: `do` has no place inside `each`",
        ),
        ("- do: {operation: pay, params: {amount: 1}, retry: 3}", &[PAY], "6:49: unknown key `retry`"),
    ]);
    for actions in [
        "- do: {operation: pay, params: {amount: '${params.n}'}}",
        "- do: {operation: pay, params: '${params}'}",
        "- do: {operation: pay, version: 9, params: {amount: 3, note: '${params.n}'}}",
        "- choose: [{when: 'params.n > 1', actions: [{do: {operation: pay, params: {amount: 3}}}]}]",
    ] {
        assert!(outcome(actions, &[PAY]).is_ok(), "{actions}: {:?}", outcome(actions, &[PAY]).err());
    }
}

#[test]
fn scn_19_neither_a_call_nor_a_polling_runs_what_rests() {
    let library = Library::of_files([entry(PAY)]);
    let called =
        with_actions("- log: a") + "calls: {ask: {actions: [{do: {operation: pay, params: {amount: 1}}}]}}\n";
    let faults = read_by(&called, &library).unwrap_err();
    assert!(faults[0].contains("a call cannot run an operation"), "{faults:?}");
    let polls = "scenario: s\ninitialState: a\nstates:\n  a:\n    kind: polling\n    poll: {interval: 1s, timeout: 1m}\n    actions: \
                 [{do: {operation: pay, params: {amount: 1}}}, {script: 'poll();'}]\n    on: {success: done, fail: done, timeout: done}\n  done: {kind: terminal}\n";
    let faults = read_by(polls, &library).unwrap_err();
    assert!(faults[0].contains("a polling state makes only calls that are answered at once"), "{faults:?}");
}

#[test]
fn scn_19_a_stored_scenario_runs_the_versions_that_were_decided_at_its_registration() {
    let of = |no: i32, text: &str, version: i32| {
        (no, LibraryEntry { name: "pay".into(), version: Some(version), file: None, text: text.to_owned() })
    };
    let newer = PAY.replace("log: x", "release");
    let entries = [of(7, PAY, 1), of(9, &newer, 2)];
    let used = |wanted| OperationUse { user: 12, name: "pay".into(), wanted };
    let pins = [(used(None), 7), (used(Some(2)), 9)];
    let library = Library::pinned(12, entries, pins);
    let read = |version: &str| {
        let text = with_actions(&format!("- do: {{operation: pay, params: {{amount: 1}}{version}}}"));
        read_by(&text, &library).map(|scenario| scenario.states[0].actions[4].word())
    };
    assert_eq!((read("").unwrap(), read(", version: 2").unwrap()), ("log", "release"));
    assert_eq!(
        read(", version: 1").unwrap_err()[0].split(';').next(),
        Some("6:23: there is no version 1 of the operation `pay`")
    );
    let found = operations_of(&with_actions(
        "- do: {operation: pay}\n- choose: [{when: 'true', actions: [{do: {operation: b, version: 2}}]}]",
    ));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("b".to_owned(), Some(2)), ("pay".to_owned(), None)]);
}

#[test]
fn scn_19_the_actions_of_all_operations_are_bounded() {
    let logs = "  - log: x\n".repeat(200);
    let many = format!("scenario: man\nkind: operation\nactions:\n{logs}");
    let run = |times: usize| outcome(&"- do: {operation: man}\n".repeat(times), &[&many]).map(|_| ());
    assert!(run(4).is_ok());
    let faults = run(6).unwrap_err();
    assert!(
        faults[0].contains("is too much: the operations of a scenario have 2000 actions together at most"),
        "{faults:?}"
    );
}
