//! Reported places of faults inside of code, for every way to write a text.

use super::{check_actions, check_table};

#[test]
fn scn_5_faults_in_code_are_reported_where_they_stand_in_the_file() {
    check_actions(&[
        ("- script: |\n    let a = 1;\n    let b = ;", "8:17: "),
        ("- script: |\n    // ünï\n    vars.a = 1 +* 2;", "8:21: Unexpected '*'"),
        ("- script: |\n    if true {\n      vars.a = parms.b;\n    }", "8:20: Undefined variable"),
        ("- script: >-\n    vars.a =\n    parms.b;", "8:9: Undefined variable"),
        ("- script: vars.a = parms.b;", "6:24: Undefined variable"),
        ("- script: \"vars.a = \\\"x\\\" + parms.b;\"", "6:33: Undefined variable"),
        ("- script: 'vars.a = ''x'' + parms.b;'", "6:33: "),
        ("- script: |2\n     vars.a = parms.b;", "7:19: Undefined variable"),
        ("- script: 5", "6:15: `script` must be a text, not a whole number"),
        ("- log: x ${parms.b} y", "6:16: nothing is called `parms` here; there are: params"),
        ("- log: \"x ${params.b\"", "6:15: `${` without its `}`"),
        ("- http: {url: 'http://h', body: {a: [1, '${1 +}']}}", "6:51: Script is incomplete"),
    ]);
    let json = "{\"scenario\": \"s\", \"initialState\": \"a\", \"states\": {\"a\": {\"actions\": \
                [{\"script\": \"let a = 1;\\nlet b = parms.c;\"}], \"on\": {\"success\": \"d\", \
                \"fail\": \"d\"}}, \"d\": {\"kind\": \"terminal\"}}}";
    let column = json.find("parms").unwrap() + 1;
    check_table(&[(json, &format!("1:{column}: Undefined variable"))]);
}
