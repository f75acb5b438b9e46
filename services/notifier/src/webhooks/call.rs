//! A call to a receiver: signed, bounded in time, and judged by its answer.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Method};
use pagurus_domain::number::saturated;
use pagurus_domain::order::notification::{
    ReceiverAnswer, SigningSecrets, Target, WebhookPattern, WebhookUrl,
};
use pagurus_domain::trace::TraceContext;
use pagurus_http::{Broken, HttpReply};
use pagurus_runtime::config::Settings;
use pagurus_runtime::traces::{SpanKind, TraceSpan};
use pagurus_scenario::value::Secrets as _;
use pagurus_store::hot::outbox::sending::Notification;

use super::Webhooks;
use crate::form::{EncodedNotification, type_of};
use crate::traced;

/// An answer is read as far as this, so that its connection can be used again.
const READ: usize = 64 * 1024;

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WebhookOutcome {
    /// The receiver has it.
    Delivered,
    /// The receiver wants no more.
    Gone,
    /// Only a person can help: the word of the reason, and the reason.
    Parked(&'static str, String),
    /// The receiver refused this one.
    Refused(String),
    /// The receiver is in trouble.
    Trouble {
        /// For people.
        error: String,
        /// The pause that it asks for.
        retry_after: Option<Duration>,
    },
    /// The call was not sent, for a reason of this deployment.
    Ours(String),
}

impl WebhookOutcome {
    /// The word for metrics.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Gone => "gone",
            Self::Parked(word, _) => word,
            Self::Refused(_) => "refused",
            Self::Trouble { .. } => "failed",
            Self::Ours(_) => "not_sent",
        }
    }
}

/// Call of a receiver that the settings permit.
struct PermittedCall<'s> {
    url: WebhookUrl,
    /// Entry of `notify.allow` that permits it.
    entry: &'s WebhookPattern,
    /// Name of what it is signed with.
    signing: String,
    /// Secrets of that name.
    secrets: SigningSecrets,
}

impl Webhooks {
    /// Calls a receiver, and shows it as a span.
    pub(super) async fn call(&self, notification: &Notification) -> WebhookOutcome {
        let mut span = traced::notification(&self.host, notification, SpanKind::Client);
        let outcome = self.try_call(notification, &mut span).await;
        match &outcome {
            WebhookOutcome::Delivered => {}
            WebhookOutcome::Gone => span.fail("gone", "the receiver wants no more"),
            WebhookOutcome::Parked(word, error) => span.fail(word, error),
            WebhookOutcome::Refused(error)
            | WebhookOutcome::Trouble { error, .. }
            | WebhookOutcome::Ours(error) => {
                span.fail(outcome.word(), error);
            }
        }
        outcome
    }

    async fn try_call(&self, notification: &Notification, span: &mut TraceSpan) -> WebhookOutcome {
        let settings = self.host.settings();
        let permitted = match self.permitted(&settings, notification) {
            Ok(permitted) => permitted,
            Err(outcome) => return outcome,
        };
        let form = EncodedNotification::of(notification, &settings.notify.source, span.context());
        let headers = match fields(notification, &form, &permitted.secrets, seconds_now(), span.context()) {
            Ok(headers) => headers,
            Err(error) => return WebhookOutcome::Parked("unsendable", error),
        };
        let timeout = settings.notify.webhook.timeout;
        let answered = self.send(&permitted, headers, form.body.into(), span);
        match tokio::time::timeout(timeout, answered).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(Broken::Forbidden(error) | Broken::Secret(error))) => {
                WebhookOutcome::Parked("not_allowed", error)
            }
            Ok(Err(Broken::Files(error))) => WebhookOutcome::Ours(error),
            Ok(Err(broken)) => WebhookOutcome::Trouble { error: broken.to_string(), retry_after: None },
            Err(_) => {
                WebhookOutcome::Trouble { error: format!("no answer within {timeout:?}"), retry_after: None }
            }
        }
    }

    /// Returns what a call of the receiver needs. Checked again at each call: the configuration may have become stricter since the order
    /// was registered.
    fn permitted<'s>(
        &self,
        settings: &'s Settings,
        notification: &Notification,
    ) -> Result<PermittedCall<'s>, WebhookOutcome> {
        let not_allowed = |error: String| WebhookOutcome::Parked("not_allowed", error);
        let Target::Webhook(url) = Target::stored(&notification.target).map_err(not_allowed)? else {
            return Err(not_allowed("it is no webhook".to_owned()));
        };
        let entry = settings.notify.allow.webhook(&url).map_err(not_allowed)?;
        let name = notification.secret.as_deref().unwrap_or(&entry.secret);
        let Some(text) = self.secrets.secret(name) else {
            return Err(WebhookOutcome::Ours(format!(
                "the secret `{name}` is not there: see `secrets.folder`, or PAGURUS_SECRET_…"
            )));
        };
        let secrets =
            SigningSecrets::parse(&text).map_err(|why| WebhookOutcome::Ours(format!("`{name}`: {why}")))?;
        let signing = name.to_owned();
        Ok(PermittedCall { url, entry, signing, secrets })
    }

    async fn send(
        &self,
        permitted: &PermittedCall<'_>,
        headers: HeaderMap,
        body: Bytes,
        span: &mut TraceSpan,
    ) -> Result<WebhookOutcome, Broken> {
        let client = self.present_client();
        // What is signed with a secret is a use of it, which is tied to its hosts as the secret itself.
        let address = client.address(permitted.url.as_str())?.holding([permitted.signing.clone()].into());
        let address = address.showing(permitted.entry.certificate.clone())?;
        traced::addressed(span, &address);
        let reply = client.send(address, Method::POST, headers, body).await?;
        let retry_after = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let status = reply.status();
        span.set("http.response.status_code", i64::from(status));
        let answer = ReceiverAnswer::of(status, retry_after);
        if answer == ReceiverAnswer::Delivered {
            // The head says it all: the rest is read in its own time.
            tokio::spawn(tokio::time::timeout(Duration::from_secs(1), read(reply)));
        }
        let text = format!("the receiver answered {status}");
        Ok(match answer {
            ReceiverAnswer::Delivered => WebhookOutcome::Delivered,
            ReceiverAnswer::Gone => WebhookOutcome::Gone,
            ReceiverAnswer::Refused => WebhookOutcome::Refused(text),
            ReceiverAnswer::Busy { retry_after } => WebhookOutcome::Trouble { error: text, retry_after },
        })
    }
}

/// Reads an answer to its end, if that is near: then its connection serves the next call.
async fn read(mut reply: HttpReply) {
    let mut left = READ;
    while let Ok(Some(chunk)) = reply.chunk().await {
        let Some(rest) = left.checked_sub(chunk.len()) else { return };
        left = rest;
    }
}

/// The header fields of a call, by Standard Webhooks.
fn fields(
    notification: &Notification,
    form: &EncodedNotification,
    secrets: &SigningSecrets,
    seconds: i64,
    trace: Option<&TraceContext>,
) -> Result<HeaderMap, String> {
    let id = notification.message_id.to_string();
    let mut fields = HeaderMap::new();
    let mut add = |name: &str, value: &str| -> Result<(), String> {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| format!("{name}: {error}"))?;
        let value = HeaderValue::from_str(value).map_err(|error| format!("{name}: {error}"))?;
        fields.insert(name, value);
        Ok(())
    };
    add(CONTENT_TYPE.as_str(), form.content_type)?;
    add("webhook-id", &id)?;
    add("webhook-timestamp", &seconds.to_string())?;
    add("webhook-signature", &secrets.sign(&id, seconds, form.body.as_bytes()))?;
    add("pagurus-type", type_of(notification))?;
    if let Some(number) = notification.number {
        add("pagurus-sequence", &number.to_string())?;
    }
    for (name, text) in trace.into_iter().flat_map(TraceContext::headers) {
        add(name, &text)?;
    }
    for (name, value) in form.fields() {
        add(&name, &value)?;
    }
    Ok(fields)
}

/// Seconds since 1970, by which receivers refuse what is old.
fn seconds_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    saturated::<i64>(since.as_secs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use pagurus_domain::order::notification::NotifyFormat;

    use super::*;
    use crate::form::tests::notification;

    #[test]
    fn ord_18_a_call_is_signed_over_its_id_time_and_body() {
        let secrets = SigningSecrets::parse(&"s".repeat(24)).unwrap();
        let notification = notification(NotifyFormat::CloudEventsBinary);
        let form = EncodedNotification::of(&notification, "/p", None);
        let fields = fields(&notification, &form, &secrets, 1_700_000_000, None).unwrap();
        let id = notification.message_id.to_string();
        assert_eq!(fields["webhook-id"], id);
        assert_eq!(fields["webhook-timestamp"], "1700000000");
        assert_eq!(fields["webhook-signature"], secrets.sign(&id, 1_700_000_000, form.body.as_bytes()));
        assert_eq!(fields["content-type"], "application/json");
        assert_eq!(
            (&fields["pagurus-type"], &fields["ce-id"]),
            (&"order.transition".parse().unwrap(), &id.parse().unwrap())
        );
    }
}
