//! A fault of code at run time names file, line, state and action (SCN-18).

use super::*;

const SCENARIO: &str = "scenario: s
initialState: a
calls:
  c: {actions: [{script: 'log(event.body.x)'}]}
states:
  a:
    actions:
      - log: \"begins\"
      - script: |
          let n = params.n;

          fn deep(n) { n.missing }
          if n == 7 { deep(params) }
    on: {success: b, fail: b}
  b:
    actions:
      - choose: [{when: \"params.n > 1\", actions: [{log: x}]}]
      - http:
          url: 'http://h'
          body: {text: \"so: ${error.message} ${1 +
            params.absent}\"}
    on: {success: c, fail: c}
  c:
    actions:
      - each: {in: [1, 2], actions: [{script: 'item.x'}]}
    on: {success: d, fail: d}
  d: {actions: [{sleep: {for: '${params.none}'}}], on: {sleep: e, fail: done}}
  e: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
";

fn failures(file: Option<&str>) -> Vec<String> {
    let mut play = Play::whole(SCENARIO);
    Arc::get_mut(&mut play.scenario).unwrap().file = file.map(str::to_owned);
    let played = play.go(&[]);
    let log = played.ends.iter().flat_map(|end| &end.log);
    log.filter_map(|line| line.text.strip_prefix("failed (script.error): ").map(str::to_owned)).collect()
}

#[test]
fn scn_18_a_fault_of_code_names_file_line_state_and_action() {
    let found = failures(Some("shop/s.yaml"));
    let starts = [
        "`shop/s.yaml`, line 12, column 26, state `a`, action 2 (`script`): there is no field `missing`;",
        "`shop/s.yaml`, line 21, column 20, state `b`, action `http`: there is no field `absent`;",
        "element 0: `shop/s.yaml`, line 25, column 53, state `c`, action 1 (`each`): a number has no field `x`",
        "`shop/s.yaml`, line 27, column 34, state `d`, action 1 (`sleep`): there is no `params.none`",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (text, start) in found.iter().zip(starts) {
        assert!(text.starts_with(start), "{text}\nand not\n{start}");
    }
    assert!(failures(None)[0].starts_with("scenario `s`, line 12, column 26, state `a`"));
}
