//! Renders calls and messages from their templates.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pagurus_domain::document::parse_duration;
use pagurus_domain::system::host_and_path;
use serde_json::Value;

use super::super::markup::XmlTemplate;
use super::super::script::RunError;
use super::super::source::reader::{LONGEST_CALL, in_largest_unit};
use super::super::value::{Template, Url, percent_encode};
use super::super::xml::SoapVersion;
use super::super::{AmqpAction, Auth, Body, HttpAction, Lapse, Soap};
use super::need::{HttpBody, HttpCall, Publication};
use super::{StageRun, StageTurn};

/// Refuses a segment of dots, which would be taken out of the path on the way, with the segment before it: a
/// parameter must not lead to another path, and encoding the dots does not help (RFC 3986).
fn keeps_its_path(url: &str) -> Result<(), RunError> {
    let (_, path) = host_and_path(url);
    let dots =
        |segment: &&str| matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..");
    match path.split('/').find(dots) {
        None => Ok(()),
        Some(segment) => Err(RunError::new(format!(
            "the path of the URL has a segment `{segment}`, which would lead to another path"
        ))),
    }
}

impl StageRun {
    /// Computes a length of time when the order comes to it: more than nothing, and no more than
    /// `longest`.
    pub(super) fn lapse(
        &self,
        lapse: &Lapse,
        longest: Duration,
        turn: &StageTurn<'_>,
    ) -> Result<Duration, RunError> {
        match self.lapse_or_zero(lapse, longest, turn)? {
            Duration::ZERO => Err(RunError::new("a time-out is longer than nothing")),
            duration => Ok(duration),
        }
    }

    /// The same; zero counts.
    pub(super) fn lapse_or_zero(
        &self,
        lapse: &Lapse,
        longest: Duration,
        turn: &StageTurn<'_>,
    ) -> Result<Duration, RunError> {
        let template = match lapse {
            Lapse::Known(duration) => return Ok(*duration),
            Lapse::Computed(template) => template,
        };
        let text = template.render_text(&self.context, &turn.settings.scripting)?;
        let duration = parse_duration(&text).map_err(RunError::new)?;
        if duration > longest {
            let most = in_largest_unit(longest);
            return Err(RunError::new(format!(
                "`{text}` is longer than `{most}`, the most that is possible here"
            )));
        }
        Ok(duration)
    }

    pub(super) fn render_http(&self, http: &HttpAction, turn: &StageTurn<'_>) -> Result<HttpCall, RunError> {
        let mut call = self.render_without_auth(http, turn)?;
        let text = |template: &Template| template.render_text(&self.context, &turn.settings.scripting);
        let auth = match &http.auth {
            None => return Ok(call),
            Some(Auth::Bearer(token)) => format!("Bearer {}", header_text(text(token)?)?),
            Some(Auth::Basic { username, password }) => {
                format!("Basic {}", BASE64.encode(format!("{}:{}", text(username)?, text(password)?)))
            }
        };
        call.headers.push(("Authorization".into(), auth));
        Ok(call)
    }

    /// Renders a call without the field of its credentials.
    pub(super) fn render_without_auth(
        &self,
        http: &HttpAction,
        turn: &StageTurn<'_>,
    ) -> Result<HttpCall, RunError> {
        let scripting = &turn.settings.scripting;
        let context = &self.context;
        let Url { text: mut url, host_of_order } = http.url.render_url(context, scripting)?;
        keeps_its_path(&url)?;
        for (name, value) in &http.query {
            let value = value.render_text(context, scripting)?;
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&format!("{}={}", percent_encode(name), percent_encode(&value)));
        }
        let mut headers = Vec::with_capacity(http.headers.len() + 1);
        for (name, value) in &http.headers {
            headers.push((name.clone(), header_text(value.render_text(context, scripting)?)?));
        }
        let body = match &http.soap {
            Some(soap) => Some(self.render_soap(http, soap, &mut headers, turn)?),
            None => http.body.as_ref().map(|body| self.render_body(body, turn)).transpose()?,
        };
        let timeout =
            http.timeout.as_ref().map(|timeout| self.lapse(timeout, LONGEST_CALL, turn)).transpose()?;
        Ok(HttpCall {
            method: http.method,
            url,
            host_of_order,
            headers,
            body,
            timeout: turn.call_timeout(timeout),
            idempotency_key: self.idempotency_key(turn),
            request: None,
            certificate: http.certificate.clone(),
            secrets: http.secrets.clone(),
        })
    }

    fn render_body(&self, body: &Body, turn: &StageTurn<'_>) -> Result<HttpBody, RunError> {
        let scripting = &turn.settings.scripting;
        Ok(match body {
            Body::Json(template) => HttpBody {
                content_type: "application/json".into(),
                bytes: template.render(&self.context, scripting)?.to_string().into_bytes(),
            },
            Body::Text(template) => HttpBody {
                content_type: "text/plain; charset=utf-8".into(),
                bytes: template.render_text(&self.context, scripting)?.into_bytes(),
            },
            Body::Xml(xml) => HttpBody {
                content_type: "application/xml; charset=utf-8".into(),
                bytes: xml.render(&self.context, scripting)?.into_bytes(),
            },
            Body::Form(fields) => {
                let mut pairs = Vec::with_capacity(fields.len());
                for (name, value) in fields {
                    let value = value.render_text(&self.context, scripting)?;
                    pairs.push(format!("{}={}", percent_encode(name), percent_encode(&value)));
                }
                HttpBody {
                    content_type: "application/x-www-form-urlencoded".into(),
                    bytes: pairs.join("&").into_bytes(),
                }
            }
        })
    }

    /// Renders the envelope of a SOAP call; of SOAP 1.1, the action is a header field.
    fn render_soap(
        &self,
        http: &HttpAction,
        soap: &Soap,
        headers: &mut Vec<(String, String)>,
        turn: &StageTurn<'_>,
    ) -> Result<HttpBody, RunError> {
        let scripting = &turn.settings.scripting;
        let text = |xml: &XmlTemplate| xml.render(&self.context, scripting);
        let header = soap.header.as_ref().map(text).transpose()?;
        let body = match &http.body {
            Some(Body::Xml(xml)) => text(xml)?,
            _ => String::new(),
        };
        let action =
            soap.action.as_ref().map(|action| action.render_text(&self.context, scripting)).transpose()?;
        let action = action.map(header_text).transpose()?.map(|text| in_quotes(&text));
        let content_type = match (soap.version, action) {
            (SoapVersion::V11, action) => {
                headers.push(("SOAPAction".into(), action.unwrap_or_else(|| in_quotes(""))));
                "text/xml; charset=utf-8".into()
            }
            (SoapVersion::V12, None) => "application/soap+xml; charset=utf-8".into(),
            (SoapVersion::V12, Some(action)) => {
                format!("application/soap+xml; charset=utf-8; action={action}").into()
            }
        };
        let envelope = soap.version.envelope(header.as_deref(), &body, &http.namespaces);
        Ok(HttpBody { content_type, bytes: envelope.into_bytes() })
    }

    pub(super) fn render_amqp(
        &self,
        amqp: &AmqpAction,
        turn: &StageTurn<'_>,
    ) -> Result<Publication, RunError> {
        let scripting = &turn.settings.scripting;
        let mut headers = Vec::with_capacity(amqp.headers.len());
        for (name, value) in &amqp.headers {
            headers.push((name.clone(), value.render_text(&self.context, scripting)?));
        }
        let body = amqp.body.as_ref().map(|body| body.render(&self.context, scripting)).transpose()?;
        let (content_type, body) = match body {
            None => ("application/json", Vec::new()),
            Some(Value::String(text)) => ("text/plain; charset=utf-8", text.into_bytes()),
            Some(value) => ("application/json", value.to_string().into_bytes()),
        };
        Ok(Publication {
            exchange: amqp.exchange.render_text(&self.context, scripting)?,
            key: amqp.key.render_text(&self.context, scripting)?,
            headers,
            body,
            content_type,
            vhost: amqp
                .vhost
                .as_ref()
                .map(|vhost| vhost.render_text(&self.context, scripting))
                .transpose()?,
            message_id: self.idempotency_key(turn),
            request: None,
            secrets: amqp.secrets.clone(),
        })
    }
}

/// A quoted string, as header fields have them.
fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text that a header field can hold.
pub(super) fn header_text(text: String) -> Result<String, RunError> {
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return Err(RunError::new("a header field must not contain control characters"));
    }
    Ok(text)
}
