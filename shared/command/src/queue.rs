//! Release of a queue by hand (ORD-13).

use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::Mode;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Effects;
use pagurus_store::Error;
use pagurus_store::hot::control;
use pagurus_store::hot::history;
use pagurus_store::hot::queues;
use pagurus_store::hot::stages;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_wire::message::Left;
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use crate::request::RequestKey;
use crate::tries::Tries;
use crate::{Commands, caused};

/// Kind of the event that a release leaves in the history of the order.
const EVENT: &str = "queue_released";

/// Queue that is to be released.
struct Release<'a> {
    queue: &'a str,
    by: &'a Principal,
    reason: &'a str,
    key: RequestKey,
}

impl Commands {
    /// Releases a queue by hand: its owner goes on, but owns the queue no longer (ORD-13). The id of
    /// the order that owned it.
    ///
    /// # Errors
    /// The problem to answer with.
    pub async fn release_queue(&self, queue: &str, by: &Principal, reason: &str) -> Result<String, Problem> {
        let mut tries = Tries::default();
        let release = Release { queue, by, reason, key: RequestKey::of_our_own() };
        let mut former = None;
        let (id, no) = loop {
            let outcome = self.try_release(&release, &mut former).await;
            if let Some(done) = tries.judge(&self.host, "release", outcome).await {
                break done?;
            }
        };
        self.note("released", by.door, 1);
        let left = vec![Left { no, attempt: None, queue: Some(queue.to_owned()) }];
        Effects { left, ..Effects::default() }.send(&self.host).await;
        Ok(id)
    }

    /// Tries once to release; `former` is the owner that the try before took on.
    async fn try_release(
        &self,
        release: &Release<'_>,
        former: &mut Option<String>,
    ) -> Result<Result<(String, i64), Problem>, Error> {
        let Release { queue, by, reason, key } = release;
        let mut client = self.host.store.recovery().await?;
        // A release whose answer was lost is not to cost the next owner the queue.
        if let Some(id) = former.clone() {
            let tx = client.transaction().await?;
            if let Some(order) = control::lock(&tx, &id).await?
                && !history::of_key(&tx, &[order.head.no.0], &[EVENT], &key.name).await?.is_empty()
            {
                return Ok(Ok((id, order.head.no.0)));
            }
        }
        let nobody = || Problem::new(Type::NotFound, format!("nobody is in queue `{queue}`"));
        let Some(queues::QueueHolder { id, .. }) = queues::holder(&client, queue).await? else {
            return Ok(Err(nobody()));
        };
        *former = Some(id.clone());
        let tx = client.transaction().await?;
        let Some(order) = control::lock(&tx, &id).await? else { return Ok(Err(nobody())) };
        // It may have slept since and stand at the tail, or have left: then the queue has another owner.
        if queues::holder(&tx, queue).await?.is_none_or(|holder| holder.id != id) {
            return Err(Error::Contended);
        }
        debug_assert!(order.head.mode == Mode::Sequential, "only sequential orders are in queues");
        stages::leave_queue(&tx, order.head.no).await?;
        queues::leave(&tx, &[order.head.no.0]).await?;
        let detail = caused(json!({"queue": queue, "reason": reason, "key": key.name}), by);
        history::append(&tx, order.head.no, EVENT, by.source(), &detail.to_string()).await?;
        AuditEntry::new("release", (AuditKind::Queue, queue), by, Some(reason))
            .with(&json!({"order": id}))
            .record(&tx)
            .await?;
        tx.commit().await?;
        Ok(Ok((id, order.head.no.0)))
    }
}
