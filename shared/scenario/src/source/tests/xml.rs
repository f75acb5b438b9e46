//! What actions say of XML, of SOAP, and of requests that are given up.

use super::actions::http;
use super::{faults, outcome, with_actions};
use crate::{Body, Method};

#[test]
fn scn_20_what_is_said_of_xml_and_soap_is_checked() {
    let call = |more: &str| format!("- http: {{url: 'http://h', {more}}}");
    let faults = [
        ("body: {xml: '<a>'}", "it is no XML: an element does not end"),
        ("body: {xml: '<a>${params.x}</b>'}", "it is no XML: "),
        (
            "body: {xml: '<${params.x}/>'}",
            "an expression stands between tags or in the value of an attribute",
        ),
        ("body: {xml: '<o:a/>'}", "the prefix `o` is declared nowhere; write `namespaces: {o: "),
        ("body: {xml: {a: 1}}", "`xml` must be a text of XML, not a mapping; write it like `xml: <order>"),
        ("namespaces: {xmlns: 'urn:a'}", "`xmlns` is no prefix; write a letter or `_`"),
        ("namespaces: {'a:b': 'urn:a'}", "`a:b` is no prefix"),
        ("namespaces: {a: ''}", "`` is not a namespace"),
        ("namespaces: {a: 'http://www.w3.org/2000/xmlns/'}", "belongs to XML"),
        ("namespaces: [a]", "`namespaces` must be a mapping of prefixes to namespaces"),
        ("soap: '1.3'", "`soap` is the version of SOAP; write `soap: \"1.1\"` or `soap: \"1.2\"`"),
        ("soap: true", "`soap` is the version of SOAP"),
        ("soapAction: a", "`soapAction` says nothing without `soap`"),
        ("soapHeader: '<a/>'", "`soapHeader` says nothing without `soap`"),
        ("soap: '1.1', body: {a: 1}", "the body of a SOAP call is XML; write the content of the envelope"),
        ("soap: '1.1', text: x", "`text` and `soap` exclude each other"),
        ("soap: '1.1', method: GET", "a SOAP call is made by `POST`; remove `method`"),
        (
            "soap: '1.1', headers: {SOAPAction: x}",
            "this header field is written by the engine; write `soapAction: ",
        ),
        ("soap: '1.1', soapHeader: '<a>'", "it is no XML: "),
    ];
    for (more, expected) in faults {
        let found = faults_of(&with_actions(&call(more)));
        assert!(found.iter().any(|fault| fault.contains(expected)), "{more}: {found:?}");
    }
    let many: String = (0..33).map(|n| format!("n{n}: urn:{n}, ")).collect();
    let found = faults_of(&with_actions(&call(&format!("namespaces: {{{many}}}"))));
    assert!(found[0].contains("an action declares 32 namespaces at most"), "{found:?}");
    let read = http(&call("soap: 1.2, soapAction: x, namespaces: {o: 'urn:o'}, body: {xml: '<o:a/><o:b/>'}"));
    assert_eq!((read.method, read.soap.map(|soap| soap.version.as_str())), (Method::Post, Some("1.2")));
    assert!(matches!(read.body, Some(Body::Xml(_))));
    // JSON with more than that name, or with another.
    let read = http(&call("body: {xml: 1, a: 2}"));
    assert!(matches!(read.body, Some(Body::Json(_))));
}

#[test]
fn scn_20_a_fault_of_a_text_of_xml_names_its_line_in_the_file() {
    let text = with_actions(
        "- http:\n    url: 'http://h'\n    body:\n      xml: |\n        <a>\n          <b>${params.x}</b>\n        </c>",
    );
    let found = faults_of(&text);
    assert!(found[0].starts_with("12:"), "{found:?}");
}

fn faults_of(text: &str) -> Vec<String> {
    faults(text).iter().map(ToString::to_string).collect()
}

#[test]
fn scn_22_a_call_that_gives_a_request_up_is_checked() {
    let call = |more: &str| format!("- http: {{url: 'http://h', {more}}}");
    for (more, expected) in [
        ("cancel: {http: {url: 'http://h'}}", "`cancel` says nothing without `request`; add `request: NAME`"),
        ("request: r, cancel: {}", "`http` is missing; write `http: {method: DELETE, url: …}`"),
        ("request: r, cancel: {http: {}}", "`url` is missing"),
        ("request: r, cancel: {http: {url: 'http://h', save: {a: 1}}}", "unknown key `save`"),
        ("request: r, cancel: {http: {url: 'http://h', request: r}}", "unknown key `request`"),
        ("request: r, cancel: {amqp: {}}", "unknown key `amqp`"),
    ] {
        let found = faults_of(&with_actions(&call(more)));
        assert!(found.iter().any(|fault| fault.contains(expected)), "{more}: {found:?}");
    }
    let text = with_actions(&call(
        "request: r, body: {to: '${request.url}'}, cancel: {http: {url: 'http://h/${request.id}', headers: {K: '${secret.key}'}}}",
    ));
    let scenario = outcome(&text).unwrap();
    assert!(scenario.cancels());
    assert_eq!(scenario.secrets().flatten().collect::<Vec<_>>(), ["key"]);
}
