//! Tests of XML: documents and values in, values and documents out.

#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod hostile;
mod soap;

fn namespaces(declared: &[(&str, &str)]) -> Namespaces {
    let mut namespaces = Namespaces::default();
    declared.iter().for_each(|(prefix, uri)| namespaces.add((*prefix).to_owned(), (*uri).to_owned()));
    namespaces
}

fn value(text: &str) -> Value {
    read(text, &Namespaces::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn scn_20_a_document_is_a_value() {
    for (text, expected) in [
        ("<a>x</a>", json!({"a": "x"})),
        ("<a> x </a>", json!({"a": " x "})),
        ("<a/>", json!({"a": ""})),
        ("<a></a>", json!({"a": ""})),
        ("<a>1.10</a>", json!({"a": "1.10"})),
        ("<a b='1' c=\"2\"/>", json!({"a": {"@b": "1", "@c": "2"}})),
        ("<a b='1'>x</a>", json!({"a": {"@b": "1", "#text": "x"}})),
        ("<a><b>1</b><c/></a>", json!({"a": {"b": "1", "c": ""}})),
        (
            "<a><b>1</b><c/><b x='y'>2</b><b/></a>",
            json!({"a": {"b": ["1", {"@x": "y", "#text": "2"}, ""], "c": ""}}),
        ),
        ("<a>\n  <b>1</b>\n  <b>2</b>\n</a>\n", json!({"a": {"b": ["1", "2"]}})),
        ("<a>one <b>two</b> three</a>", json!({"a": {"#text": "one  three", "b": "two"}})),
        ("<a>x &lt;&amp;&gt;&quot;&apos; &#65;&#x42;</a>", json!({"a": "x <&>\"' AB"})),
        ("<a b='&lt; &#10;\n'>x</a>", json!({"a": {"@b": "< \n ", "#text": "x"}})),
        ("<a><![CDATA[<b>&amp;</b>]]> y</a>", json!({"a": "<b>&amp;</b> y"})),
        ("<a>1<!-- c -->2<?pi x?>3</a>", json!({"a": "123"})),
        ("<a>1\r\n2\r3</a>", json!({"a": "1\n2\n3"})),
        (
            "\u{FEFF}<?xml version='1.0' encoding='UTF-8'?>\n<!-- c -->\n<a>ä</a>\n<!-- d -->",
            json!({"a": "ä"}),
        ),
        ("<a xml:lang='en'>x</a>", json!({"a": {"@xml:lang": "en", "#text": "x"}})),
        ("<товар>хлеб</товар>", json!({"товар": "хлеб"})),
        ("<a.b><c-d/></a.b>", json!({"a.b": {"c-d": ""}})),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn scn_20_nil_is_null_and_what_speaks_to_parsers_alone_is_left_out() {
    let xsi = "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'";
    for (text, expected) in [
        (
            format!("<a {xsi}><b xsi:nil='true'/><c xsi:nil='1'> </c><d xsi:nil='false'/></a>"),
            json!({"a": {"b": null, "c": null, "d": ""}}),
        ),
        (format!("<a {xsi} xsi:schemaLocation='u v' xsi:type='T'>x</a>"), json!({"a": "x"})),
        (format!("<a {xsi}><b>1</b><b xsi:nil='true'/></a>"), json!({"a": {"b": ["1", null]}})),
        ("<a nil='true'>x</a>".to_owned(), json!({"a": {"@nil": "true", "#text": "x"}})),
    ] {
        assert_eq!(value(&text), expected, "{text}");
    }
    let declared = namespaces(&[("i", "http://www.w3.org/2001/XMLSchema-instance")]);
    let text = format!("<a {xsi} xsi:type='T'>x</a>");
    assert_eq!(read(&text, &declared).unwrap(), json!({"a": {"@i:type": "T", "#text": "x"}}));
}

#[test]
fn scn_20_names_have_the_prefixes_that_the_action_declares() {
    let text = "<o:order xmlns:o='urn:orders' xmlns='urn:lines' o:id='7' plain='8'>\
                <line>1</line><x:line xmlns:x='urn:other'>2</x:line><line xmlns=''>3</line></o:order>";
    for (declared, expected) in [
        (namespaces(&[]), json!({"order": {"@id": "7", "@plain": "8", "line": ["1", "2", "3"]}})),
        (
            namespaces(&[("n", "urn:orders")]),
            json!({"n:order": {"@n:id": "7", "@plain": "8", "line": ["1", "2", "3"]}}),
        ),
        (
            namespaces(&[("n", "urn:orders"), ("l", "urn:lines"), ("y", "urn:other")]),
            json!({"n:order": {"@n:id": "7", "@plain": "8", "l:line": "1", "y:line": "2", "line": "3"}}),
        ),
        (
            namespaces(&[("n", "urn:nobody")]),
            json!({"order": {"@id": "7", "@plain": "8", "line": ["1", "2", "3"]}}),
        ),
    ] {
        assert_eq!(read(text, &declared).unwrap(), expected, "{declared:?}");
    }
    // Two attributes with one local name: that without a prefix counts, wherever it stands.
    for text in ["<a xmlns:p='u' p:b='1' b='2'/>", "<a xmlns:p='u' b='2' p:b='1'/>"] {
        assert_eq!(value(text), json!({"a": {"@b": "2"}}), "{text}");
    }
}

#[test]
fn scn_20_bytes_are_read_in_the_encoding_that_they_say() {
    let utf_16 = |text: &str| -> Vec<u8> {
        let words = std::iter::once(0xFEFF).chain(text.encode_utf16());
        words.flat_map(u16::to_be_bytes).collect()
    };
    let latin =
        |text: &str| -> Vec<u8> { text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect() };
    let cyrillic = b"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xF5\xEB\xE5\xE1</a>".to_vec();
    for (bytes, kind, expected) in [
        ("<a>ä</a>".as_bytes().to_vec(), Some("text/xml"), "<a>ä</a>"),
        (latin("<a>ä</a>"), Some("text/xml; charset=ISO-8859-1"), "<a>ä</a>"),
        (latin("<a>ä</a>"), Some("application/soap+xml; charset=\"iso-8859-1\"; action=\"x\""), "<a>ä</a>"),
        (cyrillic, Some("application/xml"), "<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>хлеб</a>"),
        (utf_16("<a>ä</a>"), Some("text/xml; charset=utf-8"), "<a>ä</a>"),
        ("\u{FEFF}<a>ä</a>".as_bytes().to_vec(), Some("text/xml; charset=windows-1251"), "\u{FEFF}<a>ä</a>"),
        (
            "<?xml encoding='utf-16'?><a/>".as_bytes().to_vec(),
            Some("text/xml"),
            "<?xml encoding='utf-16'?><a/>",
        ),
        ("ä".as_bytes().to_vec(), Some("text/xml; charset=nonsense"), "ä"),
        // What is no XML is UTF-8, as ever.
        (latin("ä"), Some("text/plain; charset=iso-8859-1"), "\u{FFFD}"),
        (latin("ä"), None, "\u{FFFD}"),
    ] {
        assert_eq!(decode(bytes, kind), expected, "{kind:?}");
    }
}

#[test]
fn scn_20_content_types_of_xml_are_known() {
    for (kind, is_xml) in [
        ("text/xml", true),
        ("Text/XML; charset=utf-8", true),
        ("application/xml", true),
        ("application/soap+xml; action=\"a\"", true),
        ("application/problem+xml", true),
        ("text/html", false),
        ("application/json", false),
        ("application/xml-dtd", false),
        ("multipart/related; type=\"text/xml\"", false),
        ("", false),
    ] {
        assert_eq!(is_xml_type(kind), is_xml, "{kind}");
    }
}
