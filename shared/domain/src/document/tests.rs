//! Tests of the tree and its helpers; texts in, trees and faults out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::time::Duration;

use super::*;

fn read(text: &str) -> DocumentNode {
    parse(text, &DocumentLimits::default()).unwrap()
}

fn fault(text: &str) -> Fault {
    parse(text, &DocumentLimits::default()).unwrap_err().remove(0)
}

fn fault_line(text: &str) -> String {
    fault(text).to_string()
}

#[test]
fn every_value_and_every_key_has_its_place() {
    let tree = read("a: 1\nbé: {c: [x, 'y']}\ntext: |\n  first\n  second\n");
    let (key, value) = tree.entry("bé").unwrap();
    assert_eq!((key.at.to_string(), value.at.to_string()), ("2:1".into(), "2:5".into()));
    let items = value.get("c").unwrap().as_list().unwrap();
    assert_eq!(items[1].at, Position { line: 2, column: 13 });
    assert_eq!(tree.get("text").unwrap().at, Position { line: 4, column: 3 });
    assert_eq!(tree.get("text").unwrap().as_str(), Some("first\nsecond\n"));
}

#[test]
fn words_that_other_readers_take_for_booleans_stay_texts() {
    let tree = read("on: no\noff: yes\nn: true\n");
    assert_eq!(tree.get("on").unwrap().as_str(), Some("no"));
    assert_eq!(tree.get("off").unwrap().as_str(), Some("yes"));
    assert_eq!(tree.get("n").unwrap().as_bool(), Some(true));
}

#[test]
fn numbers_that_lose_their_text_are_noticed() {
    let cases = [
        ("079", true),
        ("1.50", true),
        ("0x1f", true),
        ("0o17", true),
        ("1_000", true),
        ("+5", true),
        ("0", false),
        ("-7", false),
        ("0.5", false),
        ("1.0", false),
        ("2.25", false),
        ("'079'", false),
        ("no", false),
    ];
    for (text, expected) in cases {
        let tree = read(&format!("v: {text}\n"));
        assert_eq!(tree.get("v").unwrap().changed_by_typing(), expected, "{text}");
    }
    assert_eq!(read("v: 079").get("v").unwrap().source_text(), Some("079"));
}

#[test]
fn json_is_read_too() {
    let text = "{\n\t\"a\": \"\\ud83d\\ude00\",\n\t\"b\": [1, 2.5, null, {}]\n}";
    assert_eq!(read(text).to_json(), serde_json::from_str::<serde_json::Value>(text).unwrap());
}

#[test]
fn an_empty_text_is_nothing() {
    assert!(read("").is_null());
    assert!(read("# a comment\n").is_null());
}

#[test]
fn faults_of_form_have_a_place_and_a_remedy() {
    let cases = [
        ("a: 1\na: 2\n", "2:1: the key `a` is given twice; remove one of the two"),
        ("a: &x 1\nb: *x\n", "1:7: anchors and aliases (`&`, `*`) are not allowed; write the value out"),
        ("<<: {a: 1}\n", "1:1: merge keys (`<<`) are not allowed; write the keys out"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document starts here; a file may contain only one document"),
        ("a: .nan\n", "1:4: `.nan` is not a finite number; put it in quotes if it is a text"),
        ("a: 1e999\n", "1:4: `1e999` is not a finite number; put it in quotes if it is a text"),
        ("a: !foo 3\n", "1:9: the tag `!foo` is not allowed; remove it"),
        ("? [1]\n: 2\n", "1:3: a key must be a plain word or a text in quotes"),
        (
            "a: 99999999999999999999\n",
            "1:4: the number 99999999999999999999 does not fit 64 bits; put it in quotes to keep it",
        ),
        (
            "a: 18446744073709551615\n",
            "1:4: the number 18446744073709551615 does not fit 64 bits; put it in quotes",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(fault_line(text), expected, "{text:?}");
    }
    for text in ["a:\n\tb: 1\n", "a: [1, 2\n", "a: b: c\n", "\"a", "a: \u{0}", "a: 'x'\n  b: 1"] {
        assert!(fault(text).at.is_some(), "{text:?}");
    }
}

#[test]
fn bombs_are_refused_at_once() {
    let limits = DocumentLimits::default();
    let deep = |levels: usize| format!("{}x{}", "{a: ".repeat(levels), "}".repeat(levels));
    assert!(parse(&deep(limits.depth), &limits).is_ok());
    assert_eq!(fault(&deep(limits.depth + 1)).message, "nested deeper than 32 levels");
    for text in ["[".repeat(500_000), "- ".repeat(500_000), "? ".repeat(100_000), "- 1\n".repeat(100_001)] {
        fault(&text);
    }
    assert!(parse(&"- 1\n".repeat(90_000), &limits).is_ok());
    assert_eq!(
        fault_line(&"#".repeat(limits.bytes + 1)),
        "the document has 1048577 bytes, 1048576 are allowed"
    );
    let mut aliases = String::from("a0: &a0 x\n");
    for level in 1..30 {
        let before = level - 1;
        aliases.push_str(&format!("a{level}: &a{level} [*a{before}, *a{before}]\n"));
    }
    fault(&aliases);
}

#[test]
fn the_nearest_name_is_near() {
    let known = ["worker.concurrency", "worker.http", "shutdown.grace", "states"];
    assert_eq!(nearest("worker.concurency", known), Some("worker.concurrency"));
    assert_eq!(nearest("satets", known), Some("states"));
    assert_eq!(nearest("States", known), Some("states"));
    assert_eq!(nearest("elephant", known), None);
    assert_eq!(nearest("", known), None);
}

#[test]
fn durations_have_units() {
    let cases = [
        ("0", 0),
        ("500ms", 500),
        ("5s", 5_000),
        ("10m", 600_000),
        ("1h30m", 5_400_000),
        ("2d", 172_800_000),
        ("1s500ms", 1_500),
    ];
    for (text, milliseconds) in cases {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
    }
    for text in [
        "",
        "5",
        "s",
        "5 s",
        "-5s",
        "1.5h",
        "30m1h",
        "1h1h",
        "99999999999999999999s",
        "5S",
        "213503982335d1h",
    ] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn a_fault_says_where_what_and_how() {
    let tree = read("retires: 5\n");
    let (key, value) = tree.entry("retires").unwrap();
    let fault = Fault::unknown_key(key, "/a~b", ["retries", "mode"]);
    assert_eq!(fault.to_string(), "1:1: unknown key `retires`; did you mean `retries`?");
    assert_eq!(fault.pointer, "/a~b/retires");
    assert_eq!(Fault::new(value, "/x", "too small").to_string(), "1:10: too small");
    assert_eq!(pointer_to("/a", "b/c~d"), "/a/b~1c~0d");
    assert_eq!(Fault::placed(None, "/x", "bad").to_string(), "x: bad");
}

#[test]
fn qlt_8_a_fault_names_its_field_as_a_person_writes_it() {
    let cases = [
        ("/scenario", "is missing", "scenario is missing"),
        ("/notify/url", "queue `x` is not allowed here", "notify.url: queue `x` is not allowed here"),
        ("/after/0/order", "must be text", "after[0].order must be text"),
        ("/params/a~1b~0c", "is not known", "params.a/b~c is not known"),
        ("/since", "since is a time", "since is a time"),
        ("", "must be a JSON object", "the body must be a JSON object"),
        ("", "an order must be a JSON object", "an order must be a JSON object"),
        ("", "cannot read `x`: gone", "cannot read `x`: gone"),
        ("PAGURUS__X", "PAGURUS__X: no text", "PAGURUS__X: no text"),
    ];
    for (pointer, message, wanted) in cases {
        assert_eq!(Fault::placed(None, pointer, message).sentence(), wanted);
    }
}

// SCN-1: the place is the reader's, the remedy names what most probably led there.
#[test]
fn scn_1_a_fault_of_form_has_its_remedy() {
    let cases = [
        ("a: 1\n   b: 2\n", "indent both alike"),
        ("a: b: c\n", "put a text that contains `: ` in quotes"),
        ("a:\n\t- b\n", "indent with spaces"),
        ("a: \"x\nb: \"POST\"\nc: 1\n", "a `\"` that opens in line 1 is not closed there"),
        ("s:\n  - a: \"x\n    b: \"POST\"\n    c: 1\n", "a `\"` that opens in line 2 is not closed there"),
        ("a: \"x\" y\n", "put the whole text in quotes"),
    ];
    for (text, remedy) in cases {
        let line = fault_line(text);
        assert!(line.contains(remedy), "{text:?}: {line}");
    }
}

/// A duration as people write it, with every unit that it has.
fn written(duration: std::time::Duration) -> String {
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (unit, length) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
        if left >= length {
            text.push_str(&format!("{}{unit}", left / length));
            left %= length;
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

proptest::proptest! {
    #[test]
    fn qlt_9_no_text_is_a_duration_by_chance_and_one_that_is_written_is_read_again(
        text in proptest::prop_oneof!["[0-9dhms ]{0,12}", crate::any::text()],
        ms in 0_u64..4_000_000_000_000,
    ) {
        if let Ok(read) = parse_duration(&text) {
            proptest::prop_assert_eq!(parse_duration(&written(read)), Ok(read));
        }
        let duration = std::time::Duration::from_millis(ms);
        proptest::prop_assert_eq!(parse_duration(&written(duration)), Ok(duration));
    }

    #[test]
    fn qlt_9_no_text_breaks_the_reader_and_every_fault_has_a_place_in_it(
        text in proptest::prop_oneof!["[a-c:{}\\[\\],&*!|>'\"#\n\t -]{0,40}", crate::any::text()],
    ) {
        match parse(&text, &DocumentLimits::default()) {
            Ok(tree) => drop(tree.to_json()),
            Err(faults) => {
                proptest::prop_assert!(!faults.is_empty());
                let lines = text.matches(['\n', '\r']).count() + 1;
                proptest::prop_assert!(faults.iter().all(|fault| fault.at.is_none_or(|at| at.line as usize <= lines)));
            }
        }
    }
}
