//! Tests of concealment: secrets and texts in, texts without them out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use proptest::prelude::*;

use super::*;

#[test]
fn scn_15_what_an_order_goes_on_with_is_not_changed_by_a_short_secret_in_it() {
    let mut concealed = Concealed::default();
    for secret in ["2024", "a-long-secret"] {
        concealed.add(secret);
    }
    let kept = concealed.kept(&serde_json::json!({
        "id": 120_245, "text": "79112024567", "whole": "2024", "number": 2024, "in": ["x a-long-secret y"]
    }));
    let expected = serde_json::json!({
        "id": 120_245, "text": "79112024567", "whole": MASKED, "number": MASKED, "in": [format!("x {MASKED} y")]
    });
    assert_eq!(kept, expected);
}

#[test]
fn scn_15_a_body_is_masked_by_value_and_keeps_its_form_where_it_holds_no_secret() {
    let mut concealed = Concealed::default();
    for secret in ["2024", "12345678", "a-long-secret"] {
        concealed.add(secret);
    }
    for (body, kept) in [
        (r#"{"a" : "x a-long-secret", "n": 2024}"#, r#"{"a":"x ***","n":"***"}"#),
        (r#"["\u0061-long-secret"]"#, r#"["***"]"#),
        (r#""a-long-secret""#, r#""***""#),
        ("token=a-long-secret&n=120245", "token=***&n=120245"),
        (r#"{"cut": "a-long-secret"#, r#"{"cut": "***"#),
        ("12345678", MASKED),
        ("2024", MASKED),
    ] {
        assert_eq!(concealed.kept_text(body), kept, "{body}");
    }
    for body in ["", "{\"n\" :  1.50, \"id\": \"79112024567\"}", " [1e2]", "20245", "plain", "{\"a\""] {
        assert_eq!(concealed.kept_text(body), body);
    }
}

#[test]
fn scn_15_a_secret_inside_a_login_in_base64_is_kept_out() {
    let mut concealed = Concealed::default();
    concealed.add("p4ss-w0rd");
    for user in ["u", "us", "use", "user"] {
        for after in ["", "!", "more"] {
            let login = BASE64.encode(format!("{user}:p4ss-w0rd{after}"));
            let masked = concealed.text(&format!("got Basic {login}"));
            assert!(masked.contains(MASKED) && !masked.contains(&login), "{user}: {masked}");
        }
    }
    assert_eq!(concealed.text("an answer without it"), "an answer without it");
}

/// A secret with characters that each spelling spells in a way of its own.
const SECRET: &str = "s3cr3t/Väl ue+%41&x-98765😀\"\\?>~";

fn assert_kept(masked: &str, from: &str) {
    for part in ["s3cr3t", "98765", "czNj", "VäL", "V%C3"] {
        assert!(!masked.contains(part), "`{part}` of {from} in {masked}");
    }
    assert!(masked.contains(MASKED), "{from}: {masked}");
}

#[test]
fn scn_15_a_secret_is_found_however_it_is_spelled() {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};
    let mut concealed = Concealed::default();
    concealed.add(SECRET);
    let ascii = |text: &str, upper: bool| -> String {
        let units = text.encode_utf16().map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ if upper => format!("\\u{unit:04X}"),
            _ => format!("\\u{unit:04x}"),
        });
        units.collect()
    };
    let json = serde_json::to_string(SECRET).unwrap_or_default();
    let percent = crate::value::percent_encode(SECRET);
    let spellings = [
        SECRET.to_owned(),
        json.clone(),
        ascii(&json, false),
        ascii(&json, true),
        // PHP.
        ascii(&json.replace('/', "\\/"), false),
        SECRET
            .chars()
            .flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec())
            .map(|u| format!("\\u{u:04x}"))
            .collect(),
        percent.clone(),
        percent.to_lowercase().replace("s3cr3t%2fv", "s3cr3t%2fV"),
        percent.replace("%20", "+"),
        SECRET.bytes().map(|byte| format!("%{byte:02x}")).collect(),
        STANDARD.encode(SECRET),
        URL_SAFE.encode(SECRET),
        URL_SAFE_NO_PAD.encode(format!("me:{SECRET}")),
        STANDARD.encode(format!("{SECRET}!")).replace('/', "\\/"),
        crate::value::percent_encode(&STANDARD.encode(SECRET)),
    ];
    for spelling in &spellings {
        for (before, after) in [("", ""), ("got ", " at /x"), ("{\"a\": \"", "\""), ("key=", "&b=1")] {
            let text = format!("{before}{spelling}{after}");
            assert_kept(&concealed.text(&text), &text);
        }
        // JSON whose text is JSON, and as a value.
        let inner = serde_json::json!({"said": spelling, "n": 1}).to_string();
        let outer = serde_json::json!({"body": inner});
        assert_kept(&concealed.text(&outer.to_string()), spelling);
        assert_kept(&concealed.value(&outer).to_string(), spelling);
        assert_kept(&concealed.text(&format!("answered 500: {outer}")), spelling);
    }
}

#[test]
fn scn_15_what_holds_no_secret_stays_as_it_is() {
    let mut concealed = Concealed::default();
    concealed.add(SECRET);
    concealed.add("12345678");
    for text in ["", "plain", "{\"a\" :  1.50}", "s3cr3t/V", "\\u00", "%", "%4", "a%20b+c\\\\", "\\"] {
        assert_eq!(concealed.text(text), text);
    }
    let value = serde_json::json!({"n": 12_345_678, "list": [1.5, null, true, "x"]});
    assert_eq!(concealed.value(&value), serde_json::json!({"n": "***", "list": [1.5, null, true, "x"]}));
}

#[test]
fn scn_15_a_secret_that_is_not_ascii_is_found_as_latin_1_makes_it() {
    let mut concealed = Concealed::default();
    concealed.add("pässwörd-€-7");
    let echoed: String = "pässwörd-€-7".bytes().map(char::from).collect();
    let json = serde_json::json!({"got": format!("Bearer {echoed}")});
    for text in [format!("got {echoed}!"), json.to_string(), crate::value::percent_encode(&echoed)] {
        let masked = concealed.text(&text);
        assert!(!masked.contains("ssw") && masked.contains(MASKED), "{text}: {masked}");
    }
    assert_eq!(concealed.kept(&json), serde_json::json!({"got": "Bearer ***"}));
}

#[test]
fn scn_15_an_excerpt_ends_before_the_beginning_of_a_secret() {
    let mut concealed = Concealed::default();
    concealed.add("s3cr3t/Väl&98765");
    for (text, masked) in [
        ("got s3cr3t/V", "got ***"),
        ("got s3cr3t/Vä", "got ***"),
        ("got s3cr3t/V&auml;l&am", "got ***"),
        ("got s3cr3t/V%C3%A4l%2", "got ***"),
        ("got s3cr3t%2FV%C3", "got ***"),
        ("got s3cr3t/V\\u00", "got ***"),
        ("got s3cr3t/", "got s3cr3t/"),
        ("got s3cr3t/V here", "got s3cr3t/V here"),
        ("s3cr3t/Väl&98765 and s3cr3t/Vä", "*** and ***"),
    ] {
        assert_eq!(concealed.excerpt(text), masked, "{text}");
    }
    assert_eq!(concealed.text("got s3cr3t/V"), "got s3cr3t/V", "what is whole is not cut");
}

#[test]
fn scn_15_of_secrets_that_overlap_and_of_members_of_one_name_nothing_stays() {
    let mut concealed = Concealed::default();
    concealed.add("abcd-efgh");
    concealed.add("efgh-ijklm");
    assert_eq!(concealed.text("<abcd-efgh-ijklm>"), "<***>");
    for masked in [
        concealed.text("{\"a\":\"abcd-efgh\",\"a\":1}"),
        concealed.kept_text("{\"a\":\"abcd-efgh\",\"a\":1}"),
    ] {
        assert_eq!(masked, "{\"a\":\"***\",\"a\":1}");
    }
}

#[test]
fn scn_15_constants_that_are_secrets_are_kept_out_like_others() {
    let constants = serde_json::json!({"crm": {"url": "http://crm.example", "api_key": "k-canary-1"}});
    let mut concealed = Concealed::of_constants(&constants);
    assert_eq!(concealed.text("k-canary-1 of http://crm.example"), "*** of http://crm.example");
    let mut other = Concealed::default();
    other.add("s-canary-2");
    concealed.join(&other);
    assert_eq!(concealed.text("k-canary-1, s-canary-2"), "***, ***");
    assert_eq!(format!("{concealed:?}").find("canary"), None);
}

/// A character as one of the ways of HTML writes it.
fn html(character: char, way: u8) -> String {
    let number = character as u32;
    match way {
        0 => format!("&#{number};"),
        1 => format!("&#0{number};"),
        2 => format!("&#x{number:x};"),
        3 => format!("&#X{number:04X};"),
        4 => format!("&amp;#{number};"),
        5 | 6 => match entity::name_of(character) {
            Some(name) => format!("&{name};"),
            None => format!("&#{number};"),
        },
        _ if "&<>\"'".contains(character) => format!("&#{number};"),
        _ => character.to_string(),
    }
}

/// The text as JSON writes it, without the quotes around it.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Makes a text of a secret, by dice.
type Spelling = fn(&str, &[u8]) -> String;

/// The list of spellings by which a secret is found: each makes a text of it, by dice.
const SPELLINGS: [(&str, Spelling); 14] = [
    ("as it is", |text, _| text.to_owned()),
    ("JSON", |text, _| json(text)),
    ("escapes of JSON", |text, dice| {
        let unit = |(unit, upper)| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        text.encode_utf16().zip(dice.iter().cycle().map(|way| way % 2 == 0)).map(unit).collect()
    }),
    ("percent", |text, _| crate::value::percent_encode(text)),
    ("percent, every byte", |text, dice| {
        let byte = |(byte, upper)| if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
        text.bytes().zip(dice.iter().cycle().map(|way| way % 2 == 0)).map(byte).collect()
    }),
    ("a form", |text, _| crate::value::percent_encode(text).replace("%20", "+")),
    ("percent twice", |text, _| crate::value::percent_encode(&crate::value::percent_encode(text))),
    ("a form twice", |text, _| {
        let once = crate::value::percent_encode(text).replace("%20", "+");
        crate::value::percent_encode(&once)
    }),
    ("percent of JSON", |text, _| crate::value::percent_encode(&json(text))),
    ("HTML", |text, dice| {
        text.chars().zip(dice.iter().cycle()).map(|(character, way)| html(character, way % 12)).collect()
    }),
    ("HTML of JSON", |text, dice| {
        json(text)
            .chars()
            .zip(dice.iter().cycle())
            .map(|(character, way)| html(character, 5 + way % 7))
            .collect()
    }),
    ("hexadecimal", |text, _| text.bytes().map(|byte| format!("{byte:02x}")).collect()),
    ("hexadecimal in capitals", |text, _| text.bytes().map(|byte| format!("{byte:02X}")).collect()),
    ("Base64", |text, _| base64::engine::general_purpose::STANDARD.encode(format!("me:{text}"))),
];

/// A character of a secret: ASCII with its marks, Latin-1, or any other that is no control.
fn character() -> impl Strategy<Value = char> {
    let any = any::<char>().prop_filter("a control character", |character| !character.is_control());
    prop_oneof![4 => proptest::char::range(' ', '~'), 2 => proptest::char::range('\u{a0}', 'ÿ'), 1 => any]
}

fn text(least: usize, most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(character(), least..most).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn scn_15_no_secret_stands_in_what_is_shown_by_any_spelling(
        secret in text(8, 40),
        before in text(0, 30),
        after in text(0, 30),
        dice in proptest::collection::vec(any::<u8>(), 1..16),
        latin in any::<bool>(),
        spelling in 0..SPELLINGS.len(),
    ) {
        let mut concealed = Concealed::default();
        concealed.add(&secret);
        let (name, spell) = SPELLINGS[spelling];
        // Digits and Base64 are made of bytes, which nobody has read as Latin-1 before.
        let by_bytes = spelling >= SPELLINGS.len() - 3;
        let read = if latin && !by_bytes { secret.bytes().map(char::from).collect() } else { secret.clone() };
        let spelled = spell(&read, &dice);
        // What stands around it in a text is a part of no spelling.
        let (before, after) = (format!("{before}\u{1}"), format!("\u{1}{after}"));
        let whole = format!("{before}{spelled}{after}");
        for masked in [concealed.text(&whole), concealed.excerpt(&whole), concealed.kept_text(&whole)] {
            prop_assert!(!masked.contains(&spelled), "{name}: {masked}");
            if name != "Base64" {
                prop_assert_eq!(&masked, &format!("{before}***{after}"), "{}", name);
            }
        }
        let value = serde_json::json!({"said": whole, "list": [1, {"deep": spelled}]});
        for masked in [concealed.value(&value), concealed.kept(&value)] {
            prop_assert!(!masked.to_string().contains(&serde_json::Value::from(spelled.clone()).to_string()));
            prop_assert!(masked["said"].as_str().is_some_and(|said| said.contains(MASKED)), "{}: {}", name, masked);
        }
    }

    #[test]
    fn scn_15_a_text_without_the_secret_is_shown_as_it_is(
        pieces in proptest::collection::vec(
            prop_oneof![
                text(0, 8),
                "[\\\\%&+;#xu0-9a-fA-F]{0,12}",
                "(&amp;|&#x?[0-9a-f]{1,9};?|%25|%[0-9a-f]{2}|\\\\u[0-9a-fA-F]{0,4}){0,6}",
                Just("s3cr3t/V".to_owned()),
            ],
            0..12,
        ),
    ) {
        let mut concealed = Concealed::default();
        concealed.add(SECRET);
        let text = pieces.concat();
        prop_assert_eq!(&concealed.text(&text), &text);
        prop_assert_eq!(&concealed.kept_text(&text), &text);
        let value = serde_json::json!({"text": text});
        prop_assert_eq!(&concealed.value(&value), &value);
    }
}
