//! Reads what an `http` action says of XML and SOAP.

use super::super::reader::{Fields, ScenarioReader, Spot, quoted};
use crate::markup::{XmlShape, XmlTemplate};
use crate::value::Template;
use crate::xml::{LONGEST_PREFIX, MOST_NAMESPACES, Namespaces, SoapVersion};
use crate::{Body, Method, Soap};

/// The key under `body` that says that it is XML.
pub(super) const XML: &str = "xml";
const _: () = assert!(MOST_NAMESPACES == 32);
/// Longest name of a namespace, in bytes.
const LONGEST_NAMESPACE: usize = 1000;

/// Namespaces that the action declares.
pub(super) fn namespaces(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) -> Namespaces {
    let mut namespaces = Namespaces::default();
    let Some(spot) = fields.get("namespaces") else { return namespaces };
    if spot.node.as_map().is_none() {
        let fault = spot.must_be("a mapping of prefixes to namespaces");
        reader.push(fault.hint("write it like `namespaces: {o: \"http://shop.example/orders\"}`"));
    }
    for (index, (mark, member)) in spot.entries().enumerate() {
        let prefix = member.label.as_str();
        if index == MOST_NAMESPACES {
            let fault = mark.fault("an action declares 32 namespaces at most");
            reader.push(fault.hint("remove those that nothing is written or read by"));
            break;
        }
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if prefix.len() > LONGEST_PREFIX
            || !prefix.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            || !prefix.chars().all(is_letter)
            || prefix.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("xml"))
            || prefix == "soap-envelope"
        {
            let fault = mark.fault(format!("{} is no prefix", quoted(prefix)));
            reader.push(fault.hint(format!(
                "write a letter or `_`, then letters, digits, `_` and `-`, {LONGEST_PREFIX} characters at most; \
                 prefixes that begin with `xml` belong to XML"
            )));
            continue;
        }
        let Some(uri) = reader.text(&member) else { continue };
        if uri.is_empty()
            || uri.len() > LONGEST_NAMESPACE
            || uri.contains(|c: char| c.is_control() || c == ' ')
        {
            let fault = member.fault(format!("{} is not a namespace", quoted(uri)));
            reader.push(fault.hint("write the text that the other side declares, to the letter"));
        } else if uri.starts_with("http://www.w3.org/2000/xmlns")
            || uri.starts_with("http://www.w3.org/XML/1998")
        {
            let fault = member.fault(format!("the namespace {} belongs to XML", quoted(uri)));
            reader.push(fault.hint("remove it: its prefixes are always known"));
        } else {
            namespaces.add(prefix.to_owned(), uri.to_owned());
        }
    }
    namespaces
}

/// Reads `soap`, `soapAction` and `soapHeader`.
pub(super) fn soap(
    reader: &mut ScenarioReader<'_>,
    fields: &Fields<'_>,
    namespaces: &Namespaces,
) -> Option<Soap> {
    let Some(spot) = fields.get("soap") else {
        for key in ["soapAction", "soapHeader"] {
            if let Some((mark, _)) = fields.entry(key) {
                let fault = mark.fault(format!("`{key}` says nothing without `soap`"));
                reader.push(fault.hint("add `soap: \"1.1\"` or `soap: \"1.2\"`"));
            }
        }
        return None;
    };
    let word = match (spot.node.as_str(), spot.node.to_json()) {
        (Some(text), _) => text.to_owned(),
        (None, serde_json::Value::Number(number)) => number.to_string(),
        (None, _) => String::new(),
    };
    let version = word.parse::<SoapVersion>().ok();
    if version.is_none() {
        let fault = spot.fault("`soap` is the version of SOAP");
        reader.push(fault.hint("write `soap: \"1.1\"` or `soap: \"1.2\"`"));
    }
    let action = fields.get("soapAction").and_then(|spot| reader.text_template(spot));
    let header =
        fields.get("soapHeader").and_then(|spot| template(reader, spot, XmlShape::Content, namespaces));
    other_words(reader, fields);
    Some(Soap { version: version?, action, header })
}

/// Reports what cannot stand beside `soap`.
fn other_words(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) {
    for key in ["form", "text"] {
        if let Some((mark, _)) = fields.entry(key) {
            let fault = mark.fault(format!("`{key}` and `soap` exclude each other"));
            reader.push(fault.hint("write the content of the envelope as `body: {xml: …}`"));
        }
    }
    if let Some(body) = fields.get("body").filter(|body| xml_of(body).is_none()) {
        let fault = body.fault("the body of a SOAP call is XML");
        reader.push(fault.hint("write the content of the envelope as `body: {xml: …}`"));
    }
    let method = fields.get("method").filter(|method| method.node.as_str() != Some(Method::Post.as_str()));
    if let Some(method) = method {
        reader.push(method.fault("a SOAP call is made by `POST`").hint("remove `method`"));
    }
    for (mark, header) in fields.get("headers").into_iter().flat_map(Spot::entries) {
        if header.label.eq_ignore_ascii_case("soapaction") {
            let fault = mark.fault("this header field is written by the engine");
            reader.push(fault.hint("write `soapAction: …` in the action"));
        }
    }
}

/// The value under `xml`, where the body is XML.
pub(super) fn xml_of<'s>(body: &Spot<'s>) -> Option<Spot<'s>> {
    let mut entries = body.entries();
    let (_, first) = entries.next()?;
    (first.label == XML && entries.next().is_none()).then_some(first)
}

/// Reads `body: {xml: …}`.
pub(super) fn body(
    reader: &mut ScenarioReader<'_>,
    spot: &Spot<'_>,
    is_soap: bool,
    namespaces: &Namespaces,
) -> Option<Body> {
    let shape = if is_soap { XmlShape::Content } else { XmlShape::Document };
    template(reader, spot, shape, namespaces).map(Body::Xml)
}

fn template(
    reader: &mut ScenarioReader<'_>,
    spot: &Spot<'_>,
    shape: XmlShape,
    namespaces: &Namespaces,
) -> Option<XmlTemplate> {
    let Some(text) = spot.node.as_str() else {
        let fault = spot.must_be("a text of XML");
        reader.push(
            fault.hint("write it like `xml: <order><id>${params.id}</id></order>`; values are escaped"),
        );
        return None;
    };
    let template: Template = reader.text_template(spot)?;
    match XmlTemplate::compile(template, shape, namespaces) {
        Ok(template) => Some(template),
        Err(fault) => {
            reader.code_faults(spot, text, vec![fault]);
            None
        }
    }
}
