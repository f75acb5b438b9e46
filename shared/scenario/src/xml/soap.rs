//! SOAP 1.1 and 1.2: envelopes, and the faults in them.

use pagurus_domain::depth::{MAX_DEPTH, is_within};
use serde_json::{Map, Value, json};

use super::mapping::{Namespaces, TEXT, without_prefix};
use super::read::{NoXml, read_with, too_deep};
use super::version::SoapVersion;

impl SoapVersion {
    /// The envelope around this content of header and body, with the namespaces of the action declared.
    #[must_use]
    pub fn envelope(self, header: Option<&str>, body: &str, namespaces: &Namespaces) -> String {
        // No prefix of an action begins so.
        const PREFIX: &str = "soap-envelope";
        let mut out = String::with_capacity(body.len() + header.map_or(0, str::len) + 256);
        out.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        out.push_str(&format!("<{PREFIX}:Envelope xmlns:{PREFIX}=\"{}\"", self.namespace()));
        out.push_str(&namespaces.declarations(|_| true));
        out.push('>');
        if let Some(header) = header {
            out.push_str(&format!("<{PREFIX}:Header>{header}</{PREFIX}:Header>"));
        }
        out.push_str(&format!("<{PREFIX}:Body>{body}</{PREFIX}:Body></{PREFIX}:Envelope>"));
        out
    }
}

/// Content of an envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct SoapAnswer {
    /// Content of its header: a map of elements.
    pub header: Option<Value>,
    /// Content of its body: a map of elements, or an empty text.
    pub body: Value,
    /// The fault in its body.
    pub fault: Option<SoapFault>,
}

/// A fault, the same for both versions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SoapFault {
    /// The code without its prefix: `Server`, `Receiver`.
    pub code: String,
    /// The codes inside of it, without their prefixes.
    pub subcodes: Vec<String>,
    /// Text for people.
    pub reason: String,
    /// Finder.
    pub role: Option<String>,
    /// Detail for programs.
    pub detail: Value,
}

impl SoapFault {
    /// The fault as `response.fault` shows it.
    #[must_use]
    pub fn value(&self) -> Value {
        json!({
            "code": self.code,
            "subcodes": self.subcodes,
            "reason": self.reason,
            "role": self.role,
            "detail": self.detail,
        })
    }

    /// The text in which rules look for keywords: codes, reason and role, each on a line, and the detail as JSON.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![self.code.clone()];
        lines.extend(self.subcodes.iter().cloned());
        lines.push(self.reason.clone());
        lines.extend(self.role.clone());
        if !self.detail.is_null() {
            lines.push(self.detail.to_string());
        }
        lines.join("\n")
    }
}

/// Reads an envelope of either version.
///
/// # Errors
/// A text that is no document, or a document that is no envelope.
pub fn read_answer(text: &str, namespaces: &Namespaces) -> Result<SoapAnswer, NoXml> {
    let (mut version, mut header, mut body) = (None, None, None);
    let mut fault_key = None;
    read_with(text, namespaces, &mut |element| {
        let Some(of) = element.namespace.and_then(SoapVersion::of_namespace) else { return };
        match (element.level, element.local) {
            (0, "Envelope") => version = Some(of),
            (1, "Header") => header = element.value.take(),
            (1, "Body") => body = element.value.take(),
            (2, "Fault") => fault_key = Some(element.key.to_owned()),
            _ => {}
        }
    })?;
    let (Some(_), Some(body)) = (version, body) else {
        return Err(NoXml::new("it is no SOAP envelope with a body"));
    };
    let header = header.filter(Value::is_object);
    if !is_within(&body, MAX_DEPTH - 1) || !header.iter().all(|header| is_within(header, MAX_DEPTH - 1)) {
        return Err(too_deep());
    }
    let fault = fault_key.and_then(|key| body.get(&key)).map(fault);
    Ok(SoapAnswer { header, body, fault })
}

/// The fault in a text, where it is an envelope with one. Quick for all other texts.
#[must_use]
pub fn fault_of(text: &str) -> Option<SoapFault> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if !text.trim_start().starts_with('<') || !text.contains("Fault") {
        return None;
    }
    read_answer(text, &Namespaces::default()).ok()?.fault
}

fn fault(fault: &Value) -> SoapFault {
    if let Some(code) = member(fault, "faultcode") {
        return SoapFault {
            code: code_of(code),
            subcodes: Vec::new(),
            reason: member(fault, "faultstring").map(text_of).unwrap_or_default(),
            role: member(fault, "faultactor").map(text_of).filter(|role| !role.is_empty()),
            detail: member(fault, "detail").cloned().unwrap_or(Value::Null),
        };
    }
    let code = member(fault, "Code");
    let mut subcodes = Vec::new();
    let mut inner = code.and_then(|code| member(code, "Subcode"));
    // As deep as values are.
    while let Some(subcode) = inner {
        subcodes.extend(member(subcode, "Value").map(code_of));
        inner = member(subcode, "Subcode");
    }
    SoapFault {
        code: code.and_then(|code| member(code, "Value")).map(code_of).unwrap_or_default(),
        subcodes,
        reason: member(fault, "Reason")
            .and_then(|reason| member(reason, "Text"))
            .map(reason)
            .unwrap_or_default(),
        role: member(fault, "Role").map(text_of).filter(|role| !role.is_empty()),
        detail: member(fault, "Detail").cloned().unwrap_or(Value::Null),
    }
}

/// A child by its local name.
fn member<'v>(value: &'v Value, local: &str) -> Option<&'v Value> {
    let members: &Map<String, Value> = value.as_object()?;
    members.iter().find(|(key, _)| without_prefix(key) == local).map(|(_, value)| value)
}

/// The reason in English, or else the first.
fn reason(texts: &Value) -> String {
    let all = match texts {
        Value::Array(texts) => texts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let is_english = |text: &&Value| text["@xml:lang"].as_str().is_some_and(|lang| lang.starts_with("en"));
    all.iter().find(is_english).or(all.first()).map(text_of).unwrap_or_default()
}

fn text_of(value: &Value) -> String {
    let text = value.as_str().or_else(|| value.get(TEXT)?.as_str());
    text.unwrap_or_default().trim().to_owned()
}

fn code_of(value: &Value) -> String {
    without_prefix(&text_of(value)).to_owned()
}
