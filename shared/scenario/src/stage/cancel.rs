//! The call that gives a request up: rendered when the request is registered, or when its first answer is there, and stored
//! without the values of secrets. These are put in when the call is made, each as its place wants it (SCN-15, SCN-22).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pagurus_domain::classes::SECRET_MISSING;
use pagurus_domain::folded::Folded;
use pagurus_domain::id::RequestId;
use pagurus_domain::order::stage::Then;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::script::RunError;
use super::super::value::{Expression, Secrets, Template, percent_encode};
use super::super::xml::escape_attribute;
use super::super::{Action, Auth, Body, HttpAction, Method, StatusRange};
use super::need::{HttpBody, HttpCall};
use super::render::header_text;
use super::{StageEnd, StageRun, StageTurn};

/// The way in which a request is given up, when it is registered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cancel {
    /// Without a word to anybody.
    #[default]
    Never,
    /// By a call that is known when the answer to what is sent is there.
    Later,
    /// By this call, as JSON.
    By(String),
}

impl Cancel {
    /// The call, where it is known.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        match self {
            Self::By(call) => Some(call),
            Self::Never | Self::Later => None,
        }
    }
}

/// Form of a body, by which a text is written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum BodyForm {
    Json,
    Form,
    Text,
    Xml,
}

/// Credentials without the values of secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredAuth {
    Bearer(String),
    Basic(String, String),
}

/// A call as it is stored. What it says of secrets and of its request are marks, which nobody can guess.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelCall {
    method: String,
    url: String,
    #[serde(default)]
    host_of_order: bool,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: Option<(BodyForm, String, String)>,
    #[serde(default)]
    auth: Option<StoredAuth>,
    timeout_ms: u64,
    #[serde(default)]
    expect: Vec<(u16, u16)>,
    #[serde(default)]
    certificate: Option<String>,
    /// The mark of the id of the request.
    request: String,
    /// Names of secrets by their marks.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
}

impl CancelCall {
    /// Reads a stored call.
    ///
    /// # Errors
    /// A text that no version has stored.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// True for a status by which the called system has taken it.
    #[must_use]
    pub fn is_taken(&self, status: u16) -> bool {
        status < 400 || self.expect.iter().any(|(from, to)| (*from..=*to).contains(&status))
    }

    /// The call to be made now: for this request, under this key, with these secrets.
    ///
    /// # Errors
    /// The deployment has no such secret, or one that no header field can hold.
    pub fn call(&self, request: RequestId, key: Uuid, secrets: &dyn Secrets) -> Result<HttpCall, String> {
        let id = request.to_string();
        let mut values = Vec::new();
        for (mark, name) in &self.secrets {
            let value = secrets.secret(name);
            let value =
                value.ok_or_else(|| format!("the deployment has no secret `{name}` ({SECRET_MISSING})"))?;
            values.push((mark.as_str(), value));
        }
        let filled = |text: &str, write: &dyn Fn(&str) -> String| {
            let text = text.replace(&self.request, &id);
            values.iter().fold(text, |text, (mark, value)| {
                if text.contains(mark) { text.replace(mark, &write(value)) } else { text }
            })
        };
        let plain = |text: &str| filled(text, &str::to_owned);
        let in_header = |text: String| header_text(text).map_err(|error| error.message);
        let mut headers = Vec::with_capacity(self.headers.len() + 1);
        for (name, value) in &self.headers {
            headers.push((name.clone(), in_header(plain(value))?));
        }
        let auth = self.auth.as_ref().map(|auth| match auth {
            StoredAuth::Bearer(token) => format!("Bearer {}", plain(token)),
            StoredAuth::Basic(user, password) => {
                format!("Basic {}", BASE64.encode(format!("{}:{}", plain(user), plain(password))))
            }
        });
        if let Some(auth) = auth {
            headers.push(("Authorization".to_owned(), in_header(auth)?));
        }
        let body = self.body.as_ref().map(|(form, content_type, text)| {
            let text = match form {
                BodyForm::Text => plain(text),
                BodyForm::Form => filled(text, &percent_encode),
                BodyForm::Xml => filled(text, &escape_attribute),
                // A secret is a text, and so stands inside of quotes.
                BodyForm::Json => filled(text, &|value| {
                    let quoted = json!(value).to_string();
                    quoted[1..quoted.len() - 1].to_owned()
                }),
            };
            HttpBody { content_type: content_type.clone().into(), bytes: text.into_bytes() }
        });
        Ok(HttpCall {
            method: self.method.parse().unwrap_or(Method::Post),
            url: filled(&self.url, &percent_encode),
            host_of_order: self.host_of_order,
            headers,
            body,
            timeout: Duration::from_millis(self.timeout_ms),
            idempotency_key: key,
            request: None,
            certificate: self.certificate.clone(),
            secrets: self.secrets.values().cloned().collect(),
        })
    }
}

/// Marks in the place of secrets: digits and letters alone, which are spelled the same wherever they stand.
#[derive(Debug)]
struct Marks {
    seed: Uuid,
    /// Names by their marks.
    given: Mutex<BTreeMap<String, String>>,
}

impl Secrets for Marks {
    fn secret(&self, name: &str) -> Option<String> {
        let mark = Uuid::new_v5(&self.seed, name.as_bytes()).simple().to_string();
        self.given.lock().unwrap_or_else(PoisonError::into_inner).insert(mark.clone(), name.to_owned());
        Some(mark)
    }
}

impl Action {
    /// The call by which its request is given up.
    #[must_use]
    pub fn cancel(&self) -> Option<&HttpAction> {
        match self {
            Self::Http(http) => http.cancel.as_deref(),
            Self::Amqp(amqp) => amqp.cancel.as_deref(),
            _ => None,
        }
    }
}

/// True if the call says something of the answer to what its action sends.
fn needs_answer(action: &Action, cancel: &HttpAction) -> bool {
    let mut names = false;
    cancel.each_sent(&mut |template: &Template| {
        template.each_expression(&mut |expression| {
            names |= match expression {
                Expression::Path(path) => path[0] == "response",
                Expression::Code(code) => code.may_name("response"),
                Expression::Secret(_) => false,
            };
        });
    });
    // A message has no answer of its own.
    names && matches!(action, Action::Http(_))
}

impl StageRun {
    /// Returns the way in which the request of an action is given up, as far as it is known when that is registered.
    pub(super) fn cancel_of(&mut self, action: &Action, turn: &StageTurn<'_>) -> Result<Cancel, RunError> {
        let Some(cancel) = action.cancel() else { return Ok(Cancel::Never) };
        if needs_answer(action, cancel) {
            return Ok(Cancel::Later);
        }
        self.render_cancel(cancel, turn).map(|call| Cancel::By(call.to_string()))
    }

    /// The same for the request under the cursor, if it is one, whose answer is the last one.
    pub(super) fn note_cancel_of_sent(&mut self, turn: &StageTurn<'_>) {
        let Some(action) = self.present(turn).filter(|action| action.cancel().is_some()) else { return };
        // It was noted last.
        if let Some(id) = self.cursor.requests.last().map(|open| open.id) {
            self.note_cancel(action, id, self.context.response.clone(), turn);
        }
    }

    /// Renders what needs the answer that has come, for the request under this id. One that cannot be rendered is logged: the
    /// request was sent.
    pub(super) fn note_cancel(
        &mut self,
        action: &Action,
        id: RequestId,
        answer: Option<Folded>,
        turn: &StageTurn<'_>,
    ) {
        let Some(cancel) = action.cancel().filter(|cancel| needs_answer(action, cancel)) else { return };
        let before = std::mem::replace(&mut self.context.response, answer);
        let rendered = self.render_cancel(cancel, turn);
        self.context.response = before;
        match rendered {
            Ok(call) => {
                if let Some(open) = self.cursor.requests.iter_mut().find(|open| open.id == id) {
                    open.cancel = Some(call);
                }
            }
            Err(error) => {
                self.end.log(turn.now, format!("`cancel` cannot be rendered: {}", error.message));
            }
        }
    }

    /// The end of the stage with the ways in which its open requests are given up.
    pub(super) fn with_cancels(&self, end: StageEnd, turn: &StageTurn<'_>) -> StageEnd {
        if !turn.scenario.cancels() {
            return end;
        }
        let around = self.cursor.operations.iter().flat_map(|operation| &operation.requests_around);
        let open = self.cursor.requests.iter().chain(around);
        let cancels = open.filter_map(|open| Some((open.id, open.cancel.as_ref()?.to_string()))).collect();
        let gives_up = matches!(end.then, Then::End { .. });
        let mut end = StageEnd { cancels, gives_up, ..end };
        // What is over has been waiting for this alone.
        let around = end.snapshot.operations.iter_mut().map(|operation| &mut operation.requests_around);
        for requests in around.chain([&mut end.snapshot.requests]) {
            requests.retain(|open| !open.over);
        }
        end
    }

    fn render_cancel(&mut self, cancel: &HttpAction, turn: &StageTurn<'_>) -> Result<Value, RunError> {
        // Of chance, because a mark that a client could guess would bring a secret to where the client wants it.
        let key = self.idempotency_key(turn);
        let seed = Uuid::new_v5(&key, &turn.dice.to_bits().to_be_bytes());
        let marks = Arc::new(Marks { seed, given: Mutex::default() });
        let request = Uuid::new_v5(&seed, b"\0request").simple().to_string();
        let url = format!("{}/v1/callbacks/{request}", turn.settings.callback_base);
        let secrets = std::mem::replace(&mut self.context.secrets, marks.clone());
        let before = self.context.request.replace(json!({"id": request, "url": url}));
        let rendered = self.rendered_parts(cancel, turn);
        self.context.request = before;
        self.context.secrets = secrets;
        let (call, auth) = rendered?;
        let form = match (&cancel.body, &cancel.soap) {
            (Some(Body::Xml(_)), _) | (_, Some(_)) => BodyForm::Xml,
            (Some(Body::Form(_)), _) => BodyForm::Form,
            (Some(Body::Text(_)), _) => BodyForm::Text,
            _ => BodyForm::Json,
        };
        let body = call.body.map(|body| {
            (form, body.content_type.into_owned(), String::from_utf8_lossy(&body.bytes).into_owned())
        });
        let stored = CancelCall {
            method: call.method.to_string(),
            url: call.url,
            host_of_order: call.host_of_order,
            headers: call.headers,
            body,
            auth,
            timeout_ms: u64::try_from(call.timeout.as_millis()).unwrap_or(u64::MAX),
            expect: cancel.expect.iter().map(|StatusRange { from, to }| (*from, *to)).collect(),
            certificate: call.certificate,
            request,
            secrets: marks.given.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let stored = self.end.kept(json!(stored));
        let (bytes, most) = (stored.to_string().len(), turn.settings.bounds.max_vars_bytes);
        if bytes > most {
            return Err(RunError::new(format!("`cancel` has {bytes} bytes, more than {most}")));
        }
        Ok(stored)
    }

    /// Renders a call, with its credentials apart: encoded, nobody could put secrets into them.
    fn rendered_parts(
        &self,
        cancel: &HttpAction,
        turn: &StageTurn<'_>,
    ) -> Result<(HttpCall, Option<StoredAuth>), RunError> {
        let text = |template: &Template| template.render_text(&self.context, &turn.settings.scripting);
        let auth = match &cancel.auth {
            None => None,
            Some(Auth::Bearer(token)) => Some(StoredAuth::Bearer(text(token)?)),
            Some(Auth::Basic { username, password }) => {
                Some(StoredAuth::Basic(text(username)?, text(password)?))
            }
        };
        Ok((self.render_without_auth(cancel, turn)?, auth))
    }
}
