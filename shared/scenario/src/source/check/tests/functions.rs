//! Bad examples of code that calls what is not there.

use super::{HEAD, check, faults};

#[test]
fn scn_1_calls_of_functions_that_do_not_exist_are_reported_with_their_place() {
    let ends = "  d: {kind: terminal}\n";
    let on = "on: {success: d, fail: d}";
    let found = faults(&format!(
        "{HEAD}  a:\n    actions:\n      - script: |\n          if params.x {{\n            sucess()\n          }}\n          result()\n      - log: 'got ${{params.a}}, ${{lne(params.b)}} and ${{success()}}'\n    {on}\n{ends}"
    ));
    assert_eq!(
        found,
        [
            "8:13: there is no function `sucess`; did you mean `success`?",
            "10:11: `result` takes 1 argument, not 0",
            "11:34: there is no function `lne`; did you mean `len`?",
            "11:55: there is no function `success`; a `script` says this; an expression only has a value",
        ]
    );
    check(&[
        (
            &format!("  a: {{actions: [{{script: 'fail(1, 2, 3)'}}], {on}}}\n{ends}"),
            "4:27: `fail` takes 0, 1 or 2 arguments, not 3",
        ),
        (
            &format!(
                "  a: {{actions: [{{choose: [{{when: 'params.a.contians(1)', actions: [release]}}]}}], {on}}}\n{ends}"
            ),
            "4:44: there is no function `contians`; did you mean `contains`?",
        ),
    ]);
}
