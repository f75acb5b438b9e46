//! Answers as scenarios see them: bodies by their content type, the content of SOAP envelopes, and the faults in these.

use pagurus_domain::classes::{SOAP_FAULT, SOAP_INVALID};
use pagurus_domain::retry::ErrorClass;
use pagurus_domain::system::host_and_path;
use serde_json::{Map, Value, json};

use super::super::value::body_value_in;
use super::super::xml::{self, SoapAnswer, SoapFault};
use super::super::{Action, Folded, HttpAction, Scenario};
use super::sample::FailureNature;
use super::{Callback, Response};

/// The answer as `response` shows it.
pub(super) fn response_value(http: &HttpAction, response: &Response) -> Folded {
    let headers: Map<String, Value> =
        response.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let kind = response.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map(|(_, kind)| kind.as_str());
    let mut value = json!({
        "status": response.status,
        "headers": headers,
        "durationMs": u64::try_from(response.duration.as_millis()).unwrap_or(u64::MAX),
    });
    if let Value::Object(map) = &mut value {
        match envelope(http, &response.body) {
            Some(answer) => insert_envelope(map, answer),
            // Moved, not copied: the tree of a long answer is large.
            None => {
                map.insert("body".into(), body_value_in(&response.body, kind, &http.namespaces));
            }
        }
    }
    let of_headers: usize = response.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    Folded::about(value, response.body.len() + of_headers)
}

/// Returns the called place in words.
pub(super) fn called(http: &HttpAction, url: &str) -> String {
    let (host, path) = host_and_path(url);
    format!("{} {host}{path}", http.method)
}

/// The envelope in the answer to a SOAP call; `None` if there is none.
fn envelope(http: &HttpAction, body: &str) -> Option<SoapAnswer> {
    http.soap.as_ref()?;
    xml::read_answer(body, &http.namespaces).ok()
}

fn insert_envelope(map: &mut Map<String, Value>, answer: SoapAnswer) {
    map.insert("body".into(), answer.body);
    if let Some(header) = answer.header {
        map.insert("soapHeader".into(), header);
    }
    if let Some(fault) = answer.fault {
        map.insert("fault".into(), fault.value());
    }
}

/// Fault of an answer to a SOAP call, beyond its status.
pub(super) enum SoapFailure {
    /// SOAP fault.
    Fault(SoapFault),
    /// A success by its status that is no envelope.
    NoEnvelope(String),
}

impl SoapFailure {
    /// Looks at an answer of a status that may carry an envelope.
    pub(super) fn of(http: &HttpAction, response: &Response) -> Option<Self> {
        http.soap.as_ref()?;
        let is_success = (200..300).contains(&response.status);
        if !is_success && response.status < 400 {
            return None;
        }
        // What was only accepted has no answer yet, and a message that has none has no envelope.
        if is_success && response.body.trim().is_empty() {
            return None;
        }
        match xml::read_answer(&response.body, &http.namespaces) {
            Ok(answer) => answer.fault.map(Self::Fault),
            Err(error) => is_success.then(|| Self::NoEnvelope(error.to_string())),
        }
    }

    /// The failure in words, behind the status.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Fault(fault) => format!("with the SOAP fault {}: {}", fault.code, fault.reason),
            Self::NoEnvelope(why) => format!("without a SOAP envelope: {why}"),
        }
    }

    /// The text in which rules look for keywords of faults.
    pub(super) fn fault_text(&self) -> Option<String> {
        match self {
            Self::Fault(fault) => Some(fault.text()),
            Self::NoEnvelope(_) => None,
        }
    }

    /// Returns what it says of the called system. SOAP 1.1 has one status for every fault, so that the code tells whose it is.
    pub(super) fn nature(&self, status: u16) -> FailureNature {
        let is_of_caller = |code: &str| {
            ["Client", "Sender", "VersionMismatch", "MustUnderstand", "DataEncodingUnknown"].iter().any(
                |known| code == *known || code.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')),
            )
        };
        match (FailureNature::of_status(status), self) {
            (built_in @ FailureNature::BuiltIn(_), _) => built_in,
            (_, Self::Fault(fault)) if is_of_caller(&fault.code) => FailureNature::Business,
            _ => FailureNature::Technical,
        }
    }

    /// The class that it has where no rule gives it one.
    pub(super) fn class(&self) -> ErrorClass {
        ErrorClass::from(match self {
            Self::Fault(_) => SOAP_FAULT,
            Self::NoEnvelope(_) => SOAP_INVALID,
        })
    }
}

impl Callback {
    /// The same as the action sees it that registered its request: by the namespaces that it declares, without the envelope
    /// where it is a SOAP call.
    pub(super) fn read_again(mut self, scenario: &Scenario) -> Self {
        // Those of the elements of an `each` have a number behind the name.
        let name = self.name.split('.').next().unwrap_or(&self.name);
        let Some(http) = scenario.http_with_request(name) else { return self };
        // Most say nothing of XML, and the tree of a large answer is made for nobody.
        if http.soap.is_none() && http.namespaces.is_empty() {
            return self;
        }
        let kind = self.value.value()["headers"]["content-type"].as_str();
        let body = body_value_in(&self.body, kind, &http.namespaces);
        let answer = kind.filter(|kind| xml::is_xml_type(kind)).and_then(|_| envelope(http, &self.body));
        let mut value = self.value.value().clone();
        if let Value::Object(map) = &mut value {
            match answer {
                Some(answer) => insert_envelope(map, answer),
                None => {
                    map.insert("body".into(), body);
                }
            }
        }
        self.value = Folded::from(value).folded();
        self
    }
}

impl Scenario {
    /// The `http` action that registers requests of this name.
    fn http_with_request(&self, name: &str) -> Option<&HttpAction> {
        self.actions().find_map(|action| match action {
            Action::Http(http) if http.request.as_deref() == Some(name) => Some(&**http),
            _ => None,
        })
    }
}
