//! Refused messages: taken out of their broker queue when somebody asks for them, shown, sent again, or dropped (AMQP-1).
//!
//! They are taken and not looked at where they lie: a broker queue shows its messages only by handing them out, counts that,
//! and gives up what it has handed out too often.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_broker::refused::{NewRefusal, replayed_message, stored_form};
use pagurus_broker::{ConsumeSpec, Delivery, Message, Published, QueueSource};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::number::saturated;
use pagurus_domain::order::amendment::MAX_REASON_BYTES;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::time;
use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::refused::{self, NewRefused, RefusedSelection, StoredRefused};
use pagurus_store::{Client, Error, Tx};
use pagurus_view::refused_view;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::refused::{RefusedDecision, RefusedDropped, RefusedLine, RefusedView, ReplayBody};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use uuid::Uuid;

/// Messages that are taken at a time.
const BATCH: u16 = 100;
/// Messages that one request takes; the next one takes more.
const MOST: usize = 5_000;
/// Messages of a selection that one request drops, in one transaction.
const AT_ONCE: i64 = 1_000;
/// Bytes that are stored before the oldest are removed: as much more than the bound is kept for a moment.
const TRIM_AFTER: usize = 64 * 1024 * 1024;
/// Silence after which a queue counts as empty; the first message may need a connection.
const EMPTY_AFTER: Duration = Duration::from_millis(300);
const FIRST_WITHIN: Duration = Duration::from_millis(1500);

/// The refused messages. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RefusedMessages {
    host: Host,
    /// Held while messages are taken: two would share the messages between them, and each believe that it had all.
    taking: Arc<Mutex<()>>,
}

impl RefusedMessages {
    pub(crate) fn of(host: Host) -> Self {
        Self { host, taking: Arc::default() }
    }

    /// Returns messages of a selection with smaller numbers than this, the newest first, and their numbers.
    pub(crate) async fn list(
        &self,
        selection: &RefusedSelection,
        below: i64,
        limit: i64,
    ) -> Result<Vec<(i64, RefusedLine)>, Problem> {
        self.take().await?;
        let found = async { refused::list(&self.host.store.api().await?, selection, below, limit).await };
        found.await.map_err(self.failed())
    }

    /// Takes what lies in the broker queue, if there is anything: only then it is known which of it waits for a decision.
    /// A verdict does not wait longer than this; what could not be taken stays where it is.
    pub(crate) async fn take_within(&self, patience: Duration) {
        // A failure of the database is in the verdict.
        let _ = tokio::time::timeout(patience, self.take()).await;
    }

    /// True where the broker says that its queue has no messages. A consumer would have to wait for them to see that.
    async fn is_empty(&self) -> bool {
        let depth = self.host.broker.depth_of(&self.host.broker.names().refused_queue, EMPTY_AFTER);
        // The question may get no answer at all while the connection is lost.
        let depth = tokio::time::timeout(EMPTY_AFTER, depth).await;
        depth.is_ok_and(|depth| depth.is_ok_and(|depth| depth.is_none_or(|(messages, _)| messages == 0)))
    }

    /// Returns one message.
    pub(crate) async fn show(&self, id: &str) -> Result<RefusedView, Problem> {
        let no = read_id(id)?;
        let look = async || refused::show(&self.host.store.api().await?, no).await;
        let mut found = look().await.map_err(self.failed())?;
        if found.is_none() {
            self.take().await?;
            found = look().await.map_err(self.failed())?;
        }
        found.map(refused_view).ok_or_else(|| nothing(id))
    }

    /// Sends a message again to where it had been published, and drops it.
    pub(crate) async fn replay(
        &self,
        id: &str,
        asked: &ReplayBody,
        by: &Principal,
    ) -> Result<RefusedDecision, Problem> {
        let (mut client, no) = self.begin(id, &asked.reason).await?;
        let tx = client.transaction().await.map_err(Error::from).map_err(self.failed())?;
        let stored = refused::lock(&tx, no).await.map_err(self.failed())?.ok_or_else(|| nothing(id))?;
        let message = self.again(&stored, asked)?;
        // Sent before it is dropped: whatever dies between is sent twice, never lost. Ids of orders keep that harmless.
        let published = self.host.broker.publish_many(vec![message]).await;
        match published.first() {
            Some(Published::Confirmed) => {}
            Some(Published::Unroutable { .. }) => {
                let text = "the broker has no queue for this exchange and key; the message is still kept";
                return Err(Problem::new(Type::Refused, text));
            }
            _ => {
                let text = "the broker is not reachable; the message is still kept, repeat the same request";
                return Err(Problem::new(Type::Unavailable, text));
            }
        }
        let detail = json!({"edited": asked.body.is_some(), "key": asked.key, "withoutReceipt": asked.without_receipt,
            "refused": stored.line.reason});
        self.decide(tx, no, ("replay", id), by, &asked.reason, &detail).await?;
        Ok(RefusedDecision { id: id.to_owned(), status: "replayed".to_owned() })
    }

    /// Drops a message that nobody needs.
    pub(crate) async fn drop_one(
        &self,
        id: &str,
        reason: &str,
        by: &Principal,
    ) -> Result<RefusedDecision, Problem> {
        let (mut client, no) = self.begin(id, reason).await?;
        let tx = client.transaction().await.map_err(Error::from).map_err(self.failed())?;
        let stored = refused::lock(&tx, no).await.map_err(self.failed())?.ok_or_else(|| nothing(id))?;
        let detail = json!({"refused": stored.line.reason, "bytes": stored.line.bytes});
        self.decide(tx, no, ("drop", id), by, reason, &detail).await?;
        Ok(RefusedDecision { id: id.to_owned(), status: "dropped".to_owned() })
    }

    /// Drops the oldest messages of a selection, a bounded number: the same request again drops more.
    pub(crate) async fn drop_selected(
        &self,
        selection: &RefusedSelection,
        reason: &str,
        by: &Principal,
    ) -> Result<RefusedDropped, Problem> {
        must_have(reason)?;
        self.take().await?;
        let drop = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            let dropped = refused::drop_selected(&tx, selection, AT_ONCE).await?;
            if dropped > 0 {
                let detail = json!({"dropped": dropped, "answered": selection.answered,
                    "reasonType": selection.reason_type, "refusedBefore": selection.before});
                let entry = AuditEntry::new("drop", (AuditKind::Message, "a selection"), by, Some(reason))
                    .with(&detail);
                entry.record(&tx).await?;
            }
            tx.commit().await?;
            Ok(RefusedDropped { dropped, more: dropped == saturated::<u64>(AT_ONCE) })
        };
        drop.await.map_err(self.failed())
    }

    async fn begin(&self, id: &str, reason: &str) -> Result<(Client, Uuid), Problem> {
        must_have(reason)?;
        let no = read_id(id)?;
        Ok((self.host.store.operations().await.map_err(self.failed())?, no))
    }

    async fn decide(
        &self,
        tx: Tx<'_>,
        no: Uuid,
        (action, id): (&str, &str),
        by: &Principal,
        reason: &str,
        detail: &Value,
    ) -> Result<(), Problem> {
        let decide = async {
            refused::drop_locked(&tx, no).await?;
            AuditEntry::new(action, (AuditKind::Message, id), by, Some(reason))
                .with(detail)
                .record(&tx)
                .await?;
            Ok(tx.commit().await?)
        };
        decide.await.map_err(self.failed())
    }

    /// Returns the message as it is sent again.
    fn again(&self, stored: &StoredRefused, asked: &ReplayBody) -> Result<Message, Problem> {
        let StoredRefused { line, properties, body } = stored;
        let names = self.host.broker.names();
        let (exchange, key) = (line.exchange.as_str(), asked.key.as_deref().unwrap_or(&line.key));
        let direct =
            exchange.is_empty() && [&names.orders_in, &names.callbacks_in].iter().any(|queue| *queue == key);
        if !direct && ![&names.orders, &names.callbacks].iter().any(|known| *known == exchange) {
            let text =
                format!("the message came by the exchange `{exchange}`, to which intake does not send");
            return Err(Problem::new(Type::Refused, text));
        }
        let body = asked.body.as_ref().map_or_else(|| body.clone(), |text| text.clone().into_bytes());
        let mut message = replayed_message(exchange, key, properties, body)
            .map_err(|why| Problem::new(Type::Invalid, why))?;
        if asked.without_receipt {
            message.properties.reply_to = None;
        }
        Ok(message)
    }

    /// Takes what lies in the broker queue.
    async fn take(&self) -> Result<(), Problem> {
        let _alone = self.taking.lock().await;
        if self.is_empty().await {
            return Ok(());
        }
        let spec = ConsumeSpec {
            queue: QueueSource::Named(self.host.broker.names().refused_queue.clone()),
            prefetch: BATCH,
            ack_on_take: false,
            own_connection: false,
        };
        let consumer = match self.host.broker.consume(spec) {
            Ok(consumer) => consumer,
            // Those that were taken before are shown all the same.
            Err(error) => {
                tracing::warn!(error = chain(&error), "refused messages cannot be taken now");
                return Ok(());
            }
        };
        let (mut taken, mut patience, mut untrimmed) = (0, FIRST_WITHIN, 0);
        while taken < MOST {
            let next = consumer.next_batch(usize::from(BATCH));
            let Ok(batch) = tokio::time::timeout(patience, next).await else { break };
            patience = EMPTY_AFTER;
            self.store(&batch).await.map_err(self.failed())?;
            // Only now: what was not stored goes back with the end of the consumer.
            consumer.ack_many(&batch.iter().map(|delivery| delivery.tag).collect::<Vec<_>>()).await;
            taken += batch.len();
            untrimmed += batch.iter().map(|delivery| delivery.body.len()).sum::<usize>();
            if untrimmed >= TRIM_AFTER {
                self.trim().await.map_err(self.failed())?;
                untrimmed = 0;
            }
        }
        if taken > 0 {
            self.trim().await.map_err(self.failed())?;
        }
        Ok(())
    }

    /// Removes the oldest messages if there are too many bytes, and logs their number.
    async fn trim(&self) -> Result<(), Error> {
        let most = self.host.settings().records.refused_max_bytes;
        let trimmed = refused::trim(&self.host.store.operations().await?, most).await?;
        if trimmed.messages > 0 {
            self.host.metrics.count(Count::RefusedForgotten, "", trimmed.messages);
            tracing::warn!(
                messages = trimmed.messages,
                bytes = trimmed.bytes,
                "the oldest refused messages were removed: all together have more than `refused.max_bytes`"
            );
        }
        Ok(())
    }

    async fn store(&self, batch: &[Delivery]) -> Result<(), Error> {
        let messages: Vec<NewRefused> =
            batch.iter().map(|delivery| stored(stored_form(self.host.broker.names(), delivery))).collect();
        let mut client = self.host.store.operations().await?;
        let tx = client.transaction().await?;
        refused::take(&tx, &messages).await?;
        Ok(tx.commit().await?)
    }

    fn failed(&self) -> impl Fn(Error) -> Problem + Copy {
        |error| store_problem(&self.host, "refused", &error)
    }
}

fn must_have(reason: &str) -> Result<(), Problem> {
    if reason.trim().is_empty() || reason.contains('\0') {
        return Err(Problem::of_field("/reason", "is missing: say why"));
    }
    if reason.len() > MAX_REASON_BYTES {
        return Err(Problem::of_field(
            "/reason",
            format!("is longer than {MAX_REASON_BYTES} bytes of UTF-8"),
        ));
    }
    Ok(())
}

fn stored(refusal: NewRefusal) -> NewRefused {
    // The database holds no NUL in texts; the body is bytes.
    let text = |text: String| text.replace('\0', "\u{fffd}");
    NewRefused {
        id: refusal.id,
        reason: text(refusal.reason),
        refused_at: text(refusal.refused_at.unwrap_or_else(|| time::shown(Timestamp::now()))),
        answered: refusal.answered,
        exchange: text(refusal.exchange),
        key: text(refusal.key),
        properties: refusal.properties.to_string(),
        body: refusal.body,
    }
}

fn read_id(id: &str) -> Result<Uuid, Problem> {
    id.parse().map_err(|_| nothing(id))
}

fn nothing(id: &str) -> Problem {
    let shown: String = id.chars().take(64).collect();
    Problem::new(
        Type::NotFound,
        format!("there is no refused message `{shown}`; somebody may have decided about it"),
    )
}
