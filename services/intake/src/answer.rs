//! Callbacks: answers of called systems, stored in any case.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

use pagurus_domain::id::{RequestId, ScenarioNo};
use pagurus_runtime::metrics::{Count, Work};
use pagurus_runtime::scenarios::{Catalogue, Known};
use pagurus_runtime::secrets::DeploymentSecrets;
use pagurus_runtime::stats::Series;
use pagurus_runtime::{Effects, Host, costly};
use pagurus_scenario::{Concealed, holds_credentials, xml};
use pagurus_store::outside::answers::{self, Answered, CallbackVerdict, NewCallback};
use pagurus_store::{Client, Error, Patience};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Longest text kept of the name by which a callback calls its request.
const MAX_NAMED_BYTES: usize = 255;
/// Longest step status kept.
const MAX_STEP_STATUS_BYTES: usize = 1024;

/// Size of the bodies of a batch from which on masking them would hold up what else runs on the thread.
const COSTLY_BYTES: usize = 64 * 1024;

/// An answer as it came.
pub(crate) type NewAnswer = NewCallback;

/// Makes an answer of what came in, without the header fields that hold credentials. Text that the database could not
/// hold is made harmless.
pub(crate) fn new_answer(
    named: &str,
    step_status: Option<&str>,
    mut headers: Map<String, Value>,
    body: Vec<u8>,
) -> NewAnswer {
    let clean = |text: &str, max: usize| {
        let mut text = text.replace('\0', "\u{fffd}");
        text.truncate(text.floor_char_boundary(max));
        text
    };
    headers.retain(|name, _| !holds_credentials(name));
    NewCallback {
        named: clean(named, MAX_NAMED_BYTES),
        request: Uuid::try_parse(named).ok().map(RequestId),
        step_status: step_status.map(|text| clean(text, MAX_STEP_STATUS_BYTES)),
        headers: (!headers.is_empty()).then(|| Value::Object(headers).to_string().replace('\0', "\u{fffd}")),
        body,
    }
}

/// Prolongs the hand-out of an actor that sent a heartbeat. Returns its new end if it is still open.
///
/// # Errors
/// The database failed.
pub(crate) async fn heartbeat(host: &Host, pass: &str) -> Result<Option<jiff::Timestamp>, Error> {
    let Ok(pass) = Uuid::try_parse(pass) else { return Ok(None) };
    let client = host.store.work().await?;
    let until = answers::prolong(&client, RequestId(pass)).await?;
    host.metrics.count(Count::Callbacks, if until.is_some() { "heartbeat" } else { "late" }, 1);
    Ok(until)
}

/// Stores batches of answers. Cheap to clone.
#[derive(Clone)]
pub(crate) struct AnswerRecorder {
    pub host: Host,
    pub catalogue: Catalogue,
    /// Secrets that must not be stored anywhere.
    pub secrets: Arc<DeploymentSecrets>,
}

impl AnswerRecorder {
    /// Stores a batch of answers and wakes the orders whose last open request was answered. Waits for a locked order no
    /// longer than batches waited recently.
    ///
    /// # Errors
    /// The database failed: the same call may be repeated, doubles are recognized.
    pub async fn record<A>(&self, batch: &[A]) -> Result<Vec<CallbackVerdict>, Error>
    where
        A: Borrow<NewAnswer> + Sync,
    {
        let batch: Vec<&NewAnswer> = batch.iter().map(Borrow::borrow).collect();
        self.record_within(&batch, self.host.store.patience().clone()).await
    }

    /// Stores an answer whose order was locked: it holds up nobody, and waits.
    ///
    /// # Errors
    /// See [`AnswerRecorder::record`].
    pub async fn record_locked(&self, answer: &NewAnswer) -> Result<Vec<CallbackVerdict>, Error> {
        self.record_within(&[answer], Patience::default()).await
    }

    async fn record_within(
        &self,
        batch: &[&NewAnswer],
        patience: Patience,
    ) -> Result<Vec<CallbackVerdict>, Error> {
        let begun = Instant::now();
        let metrics = &self.host.metrics;
        let stored = self.store(batch, &patience).await.inspect_err(|error| patience.note(error));
        let Answered { verdicts, woken, unkept, closed, decided } = stored?;
        decided.iter().for_each(|actor| self.host.stats.count(Series::TasksDecided, actor));
        let mut effects = Effects::of_ready(&woken);
        effects.answers(closed);
        effects.send(&self.host).await;
        for verdict in &verdicts {
            metrics.count(Count::Callbacks, verdict.as_str(), 1);
        }
        metrics.count(Count::OrphansUnkept, "", unkept as u64);
        metrics.batch(Work::Answer, begun.elapsed());
        Ok(verdicts)
    }

    async fn store(&self, batch: &[&NewAnswer], patience: &Patience) -> Result<Answered, Error> {
        let mut client = self.host.store.work().await?;
        let masked = self.masked(&client, batch).await?;
        let tx = client.transaction().await?;
        patience.bound(&tx).await?;
        let max_orphans = self.host.settings().callbacks.max_orphans;
        let masked: Option<Vec<&NewAnswer>> = masked.as_ref().map(|masked| masked.iter().collect());
        let answered = answers::answer(&tx, masked.as_deref().unwrap_or(batch), max_orphans).await?;
        tx.commit().await?;
        Ok(answered)
    }

    /// Returns the batch without the secrets that were echoed, if it may hold any: each answer without those
    /// of the scenario that asked. Secrets of others stay, because a short one may be a number of a
    /// customer. An answer for nobody is gone on with by nobody, and is stored without any secret.
    async fn masked(&self, client: &Client, batch: &[&NewAnswer]) -> Result<Option<Vec<NewAnswer>>, Error> {
        if !self.secrets.has_source() {
            return Ok(None);
        }
        let asked_by = answers::scenarios(client, batch).await?;
        let scenario_of = |answer: &NewAnswer| answer.request.and_then(|id| asked_by.get(&id).copied());
        let mut secrets: HashMap<Option<ScenarioNo>, Concealed> = HashMap::new();
        for answer in batch {
            if let Entry::Vacant(new) = secrets.entry(scenario_of(answer)) {
                let named = self.secrets_named(client, *new.key()).await?;
                new.insert(named);
            }
        }
        if secrets.values().all(Concealed::is_empty) {
            return Ok(None);
        }
        let bytes: usize = batch.iter().map(|answer| answer.body.len()).sum();
        let masked = costly::run(bytes > COSTLY_BYTES, || {
            let masked = batch.iter().map(|answer| {
                let scenario = scenario_of(answer);
                let secrets = &secrets[&scenario];
                if scenario.is_some() { without(answer, secrets) } else { orphan_without(answer, secrets) }
            });
            masked.collect()
        });
        Ok(Some(masked))
    }

    /// The secrets that the scenario names; those of every scenario where nobody asked. None where this node
    /// cannot read the scenario: then nobody knows which ones they are, and what is shown is hidden as a whole.
    async fn secrets_named(&self, client: &Client, scenario: Option<ScenarioNo>) -> Result<Concealed, Error> {
        let Some(no) = scenario else {
            self.catalogue.refresh(client).await?;
            return Ok(self.secrets.concealed(&self.catalogue.hidden().secrets));
        };
        let known = self.catalogue.get(client, no).await?.and_then(Known::readable);
        Ok(known.map_or_else(Concealed::default, |scenario| self.secrets.named_by(&scenario)))
    }
}

/// Returns the answer as its order goes on with it.
fn without(answer: &NewAnswer, secrets: &Concealed) -> NewAnswer {
    masked(answer, &answer.body, secrets, |text| secrets.kept_text(text))
}

/// Returns an answer for nobody as it is shown. Of a long body no more than twice the stored length is looked at,
/// so that no secret is cut where its end is not kept.
fn orphan_without(answer: &NewAnswer, secrets: &Concealed) -> NewAnswer {
    let read = &answer.body[..answer.body.len().min(2 * answers::ORPHAN_BODY_BYTES)];
    let masked = masked(answer, read, secrets, |text| secrets.text(text));
    NewAnswer { named: secrets.excerpt(&answer.named), ..masked }
}

fn masked(answer: &NewAnswer, body: &[u8], secrets: &Concealed, mask: impl Fn(&str) -> String) -> NewAnswer {
    let (text, prefix) = readable(answer, body);
    let shown = mask(&text);
    // Up to three bytes of a character go with what is cut.
    let was_cut = |text: &str| text.len() + 3 >= MAX_STEP_STATUS_BYTES;
    let status = |text: &str| if was_cut(text) { secrets.excerpt(&mask(text)) } else { mask(text) };
    NewAnswer {
        named: answer.named.clone(),
        request: answer.request,
        step_status: answer.step_status.as_deref().map(status),
        headers: answer.headers.as_deref().map(&mask),
        // Bytes that are no text stay what they are where nothing is masked.
        body: if shown == text { body.to_vec() } else { [prefix.as_bytes(), shown.as_bytes()].concat() },
    }
}

/// The body as text, and what stands in front of it where it is stored as that: XML says by itself which encoding it has, and
/// a byte order mark counts for more.
fn readable<'b>(answer: &NewAnswer, body: &'b [u8]) -> (Cow<'b, str>, &'static str) {
    if let Ok(text) = std::str::from_utf8(body) {
        return (text.into(), "");
    }
    let headers = answer.headers.as_deref().and_then(|headers| serde_json::from_str(headers).ok());
    let headers: Value = headers.unwrap_or_default();
    let kind = headers["content-type"].as_str();
    let prefix = if kind.is_some_and(xml::is_xml_type) { "\u{FEFF}" } else { "" };
    (xml::decode(body.to_vec(), kind).into(), prefix)
}
