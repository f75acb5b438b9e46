//! Bound of the log of an order (ORD-25): what a scenario says too much of is left out, and harms nobody.

use serde_json::{Value, json};

use crate::installation::Installation;

/// Returns a scenario that logs a line that is too long, lines of twelve scripts, one line more, and one in a stage of its own.
fn talkative() -> String {
    let script = |number: u32| {
        format!("      - script: 'for n in 1..=200 {{ log(\"line \" + ({number} * 100 + n)); }}'\n")
    };
    let scripts: String = (0..12).map(script).collect();
    format!(
        r#"initialState: talks
states:
  talks:
    actions:
      - script: 'let s = "x"; for n in 0..2000 {{ s += "é"; }} log(s)'
{scripts}      - log: too late
      - sleep: {{for: 100ms}}
    on: {{sleep: rests, fail: failed}}
  rests: {{kind: sleeping, on: {{timeout: ends}}}}
  ends: {{actions: [{{log: a new stage}}], on: {{success: done}}}}
  done: {{kind: terminal}}
  failed: {{kind: terminal, outcome: fail}}
"#
    )
}

#[tokio::test]
async fn ord_25_a_stage_keeps_a_thousand_lines_a_script_a_hundred_and_a_line_two_thousand_bytes() {
    // By the clock a script may take long on a machine that does other things.
    let patient = [("PAGURUS__SCENARIO__SCRIPT__MAX_DURATION", "30s")];
    let engine = Installation::with("ord_25_much", &patient).await;
    engine.scenario("talks", &talkative()).await;
    engine.run(json!({"id": "a", "scenario": "talks"}), "success").await;
    let log = engine.part("a", "log?size=10000").await;
    let lines: Vec<&str> =
        log.as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    let left_out = "(lines after the first 100 are left out)";
    // A line is never cut inside a letter.
    let mut expected = vec![format!("x{}", "é".repeat(999))];
    for script in 0..12 {
        expected.extend((1..=100).map(|n| format!("line {}", script * 100 + n)));
        expected.push(left_out.to_owned());
    }
    assert_eq!(lines[2..5], expected[..3]);
    assert!(lines[2..1002] == expected[..1000], "the first of each are kept: {:?}", &lines[95..110]);
    // The moves and the ends of stages are logged nonetheless, and the next stage has room of its own.
    assert_eq!(lines[1002..1004], ["talks --sleep--> rests", "stage ended: sleep"]);
    assert!(lines.contains(&"a new stage"), "{:?}", &lines[1000..]);
    let page = engine.part("a", "log?fromLine=1001&size=2").await;
    let page: Vec<&Value> = page.as_array().unwrap().iter().map(|line| &line["line"]).collect();
    assert_eq!(page, [&json!(1001), &json!(1002)]);
}
