//! Texts of XML with expressions, and the values that stand in them.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::script::Limits;
use crate::xml::read;

fn namespaces(declared: &[(&str, &str)]) -> Namespaces {
    let mut namespaces = Namespaces::default();
    declared.iter().for_each(|(prefix, uri)| namespaces.add((*prefix).to_owned(), (*uri).to_owned()));
    namespaces
}

fn value(text: &str) -> Value {
    read(text, &Namespaces::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn compiled(text: &str, shape: XmlShape, declared: &Namespaces) -> Result<XmlTemplate, String> {
    let scripting = Scripting::new(Limits::default());
    let template = Template::compile(text, &scripting).unwrap();
    XmlTemplate::compile(template, shape, declared)
        .map_err(|error| format!("{}: {}", error.line, error.message))
}

fn rendered(text: &str, params: Value) -> Result<String, String> {
    let template = compiled(text, XmlShape::Document, &Namespaces::default())?;
    let context = Context { params: params.into(), config: Arc::new(json!({})), ..Context::default() };
    template.render(&context, &Scripting::new(Limits::default())).map_err(|error| error.message)
}

#[test]
fn scn_20_values_are_escaped_by_their_place_and_their_type() {
    let hostile = "</a><b c=\"'&]]>\n\t\r";
    for (text, params, expected) in [
        ("<a>${params.v}</a>", json!({"v": "x"}), "<a>x</a>"),
        ("<a>${params.v}</a>", json!({"v": hostile}), "<a>&lt;/a&gt;&lt;b c=\"'&amp;]]&gt;\n\t&#13;</a>"),
        (
            "<a b='${params.v}'/>",
            json!({"v": hostile}),
            "<a b='&lt;/a&gt;&lt;b c=&quot;&apos;&amp;]]&gt;&#10;&#9;&#13;'/>",
        ),
        ("<a b='x${params.v}y'>${params.v}!</a>", json!({"v": 1.5}), "<a b='x1.5y'>1.5!</a>"),
        ("<a>${params.v}</a>", json!({"v": true}), "<a>true</a>"),
        ("<a b='${params.v}'>${params.v}</a>", json!({"v": null}), "<a b=''></a>"),
        (
            "<a>${params.v}</a>",
            json!({"v": {"b": 1, "c": ["x", {"@d": 2, "#text": "<"}]}}),
            "<a><b>1</b><c>x</c><c d=\"2\">&lt;</c></a>",
        ),
        ("<a>${params.v}</a>", json!({"v": [{"c": 1}, {"b": 2}]}), "<a><c>1</c><b>2</b></a>"),
        ("<a>${params.v}</a>", json!({"v": {"b": []}}), "<a></a>"),
        ("<a>${params.v}</a>", json!({"v": {"b": {}}}), "<a><b></b></a>"),
        (
            "<a>${params.v}</a>",
            json!({"v": {"b": null}}),
            "<a><b xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"/></a>",
        ),
        ("${params.v}", json!({"v": {"o": {"@id": 1, "l": [1, 2]}}}), "<o id=\"1\"><l>1</l><l>2</l></o>"),
    ] {
        assert_eq!(rendered(text, params.clone()).as_deref(), Ok(expected), "{text} {params}");
    }
}

#[test]
fn scn_20_a_value_that_xml_cannot_hold_is_an_error() {
    for (text, params) in [
        ("<a b='${params.v}'/>", json!({"v": [1]})),
        ("<a b='${params.v}'/>", json!({"v": {}})),
        ("<a>${params.v}</a>", json!({"v": "\u{0}"})),
        ("<a b='${params.v}'/>", json!({"v": "\u{1F}"})),
        ("<a>${params.v}</a>", json!({"v": {"no name": 1}})),
        ("<a>${params.v}</a>", json!({"v": {"a><b": 1}})),
        ("<a>${params.v}</a>", json!({"v": {"": 1}})),
        ("<a>${params.v}</a>", json!({"v": {"b": {"@x y": 1}}})),
        ("<a>${params.v}</a>", json!({"v": {"@b": 1}})),
        ("<a>${params.v}</a>", json!({"v": {"b": [[1]]}})),
        ("${params.v}", json!({"v": "<a/>"})),
        ("${params.v}", json!({"v": {"a": 1, "b": 2}})),
        ("${params.v}", json!({"v": {"a": [1, 2]}})),
        ("${params.v}", json!({"v": {}})),
        ("<a>${params.none}</a>", json!({})),
    ] {
        assert!(rendered(text, params.clone()).is_err(), "{text} {params}");
    }
}

#[test]
fn scn_20_a_text_that_is_no_xml_is_found_before_any_order_runs() {
    let declared = namespaces(&[("o", "urn:o")]);
    for (text, line) in [
        ("<a>", 1),
        ("<a>\n</b>", 2),
        ("<a/>\n<b/>", 2),
        ("text", 1),
        ("<a>${params.x}</a>${params.y}", 1),
        ("<${params.x}/>", 1),
        ("<a ${params.x}='1'/>", 1),
        ("<a ${params.x}/>", 1),
        ("<a b=${params.x}/>", 1),
        ("<a>\n<!-- ${params.x} --></a>", 2),
        ("<a><![CDATA[${params.x}]]></a>", 1),
        ("<a><?p ${params.x}?></a>", 1),
        ("<a b='1' b='2'/>", 1),
        ("<a b='<'/>", 1),
        ("<a>&nbsp;</a>", 1),
        ("<a b='&nbsp;'/>", 1),
        ("<x:a/>", 1),
        ("<a x:b='1'/>", 1),
        ("<!DOCTYPE a><a/>", 1),
        ("<?xml version='1.0' encoding='windows-1251'?><a/>", 1),
        ("<a/><?xml version='1.0'?>", 1),
        ("<1a/>", 1),
        ("<a>\u{1}</a>", 1),
        ("<a>\u{FFFF}</a>", 1),
        ("", 1),
    ] {
        let error = compiled(text, XmlShape::Document, &declared).err();
        let error = error.unwrap_or_else(|| panic!("{text} is taken"));
        assert!(error.starts_with(&format!("{line}: ")), "{text}: {error}");
        assert!(!error.contains('\u{FFFF}'), "{error}");
    }
    for text in
        ["</soap-fragment><soap-fragment>", "<a/>text<b/>&#0;", "<a></a></a>", "<?xml version='1.0'?><a/>"]
    {
        assert!(compiled(text, XmlShape::Content, &declared).is_err(), "{text}");
    }
    for text in ["", "<a/><b/>", "text", "<o:a/>", "${params.x}", "<a/>${params.x}"] {
        assert!(compiled(text, XmlShape::Content, &declared).is_ok(), "{text}");
    }
}

#[test]
fn scn_20_namespaces_that_are_declared_are_written_where_they_are_not() {
    let declared = namespaces(&[("o", "urn:o?a&b"), ("p", "urn:p")]);
    let render = |text: &str| {
        let template = compiled(text, XmlShape::Document, &declared).unwrap();
        template.render(&Context::default(), &Scripting::new(Limits::default())).unwrap()
    };
    assert_eq!(
        render("<?xml version=\"1.0\"?>\n<!-- c --> <o:a id='${now}'><p:b/></o:a>").split(" id=").next(),
        Some("<?xml version=\"1.0\"?>\n<!-- c --> <o:a xmlns:o=\"urn:o?a&amp;b\" xmlns:p=\"urn:p\"")
    );
    assert_eq!(render("<a xmlns:o='urn:x'/>"), "<a xmlns:p=\"urn:p\" xmlns:o='urn:x'/>");
    let text = render("<o:a><p:b>1</p:b></o:a>");
    assert_eq!(read(&text, &declared).unwrap(), json!({"o:a": {"p:b": "1"}}));
}

/// Values that are the same when they come back: texts, and maps and lists as XML has them.
fn comes_back() -> impl Strategy<Value = Value> {
    let text = "([ -~]|[äхⅷ]|\n|\t|\r|<|&|>|\"|'|\\]\\]>){0,12}";
    let leaf = prop_oneof![text.prop_map(Value::String), Just(Value::Null)];
    let name = "[a-zä_][a-z0-9._-]{0,6}";
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let child = prop_oneof![
            inner.clone(),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Value::Array),
        ];
        let members = proptest::collection::btree_map(name, child, 1..4);
        let attributes = proptest::collection::btree_map("@[a-zä_][a-z0-9._-]{0,4}", text, 0..3);
        (members, attributes).prop_map(|(members, attributes)| {
            let attributes = attributes.into_iter().map(|(key, text)| (key, Value::String(text)));
            Value::Object(members.into_iter().chain(attributes).collect())
        })
    })
}

proptest! {
    #[test]
    fn scn_20_a_value_that_is_written_comes_back(inner in comes_back()) {
        let text = rendered("<a><b>${params.v}</b></a>", json!({"v": {"c": inner.clone()}})).unwrap();
        prop_assert_eq!(&value(&text)["a"]["b"]["c"], &inner, "{}", text);
    }

    #[test]
    fn scn_20_a_text_comes_back_from_every_place(text in any::<String>()) {
        let params = json!({"v": text});
        match rendered("<a b=\"${params.v}\" c='${params.v}'>${params.v}</a>", params) {
            Ok(written) => {
                let read = value(&written);
                prop_assert_eq!(&read["a"]["@b"], &json!(text));
                prop_assert_eq!(&read["a"]["@c"], &json!(text));
                let inside = read["a"].get("#text").cloned().unwrap_or_else(|| json!(""));
                prop_assert_eq!(inside, json!(text));
            }
            Err(_) => prop_assert!(text.chars().any(|c| !is_legal(c))),
        }
    }

    #[test]
    fn scn_20_no_text_makes_the_check_of_a_template_panic(
        text in "(<|>|/|!|\\?|\\[|\\]|&|;|#|'|\"|=|a|b:|xmlns|CDATA|\\$\\{params\\.x\\}| |\n|\u{FFFF}|ä){0,40}"
    ) {
        for shape in [XmlShape::Document, XmlShape::Content] {
            let Ok(template) = compiled(&text, shape, &Namespaces::default()) else { continue };
            let context = Context { params: json!({"x": "<&'\">"}).into(), ..Context::default() };
            let Ok(written) = template.render(&context, &Scripting::new(Limits::default())) else { continue };
            let written = if shape == XmlShape::Content { format!("<x>{written}</x>") } else { written };
            prop_assert!(read(&written, &Namespaces::default()).is_ok(), "{}", written);
        }
    }
}
