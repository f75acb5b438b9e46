//! Bodies of a play: what requests say, and how their answers are written.

use super::*;

/// Form of a request and of its answer.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Json,
    Xml,
    Soap,
}

impl Form {
    pub fn of(call: &HttpCall) -> Self {
        let is_xml = call.body.as_ref().is_some_and(|body| body.content_type.contains("xml"));
        match (is_xml, call.headers.iter().any(|(name, _)| name == "SOAPAction")) {
            (_, true) => Self::Soap,
            (true, false) => Self::Xml,
            (false, false) => Self::Json,
        }
    }

    /// The answer of this status with this number.
    pub fn answer(self, status: u16, number: i64) -> Response {
        let (status, body) = match (self, status) {
            (Self::Json, _) => (status, json!({"n": number}).to_string()),
            (Self::Xml, _) => (status, format!("<n>{number}</n>")),
            (Self::Soap, 200) => (200, envelope(&format!("<n>{number}</n>"))),
            // A fault says by its words that it is busy.
            (Self::Soap, 503) => (200, envelope(&fault("Server", "busy"))),
            (Self::Soap, _) => (500, envelope(&fault("Client", "no such thing"))),
        };
        let kind = if self == Self::Json { "application/json" } else { "text/xml; charset=utf-8" };
        Response {
            status,
            headers: vec![("content-type".into(), kind.into())],
            body,
            duration: Duration::ZERO,
        }
    }

    /// The number that a request says.
    pub fn said(self, call: &HttpCall) -> Option<i64> {
        let text = String::from_utf8(call.body.as_ref()?.bytes.clone()).unwrap();
        if self == Self::Json {
            let value: Value = serde_json::from_str(&text).unwrap();
            return value.as_i64().or_else(|| value.as_str()?.parse().ok());
        }
        let sent = crate::xml::read_answer(&text, &crate::xml::Namespaces::default());
        let body = sent.map_or_else(|_| Value::String(text.clone()), |sent| sent.body);
        let number = body.pointer("/n").and_then(Value::as_str).map(str::to_owned);
        let plain = || text.strip_prefix("<n>")?.strip_suffix("</n>").map(str::to_owned);
        number.or_else(plain)?.parse().ok()
    }
}

pub(super) fn envelope(content: &str) -> String {
    format!(
        "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body>{content}</s:Body></s:Envelope>"
    )
}

pub(super) fn fault(code: &str, reason: &str) -> String {
    format!("<s:Fault><faultcode>s:{code}</faultcode><faultstring>{reason}</faultstring></s:Fault>")
}
