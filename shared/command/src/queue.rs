//! Release of a queue by hand (ORD-13).

use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::Mode;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Effects;
use pagurus_store::hot::control::{self, Locked};
use pagurus_store::hot::history;
use pagurus_store::hot::queues;
use pagurus_store::hot::stages;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::lists::scope;
use pagurus_store::{Error, Tx};
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
    pub async fn release_queue(
        &self,
        queue: &str,
        (by, scope): (&Principal, &AccessScope),
        reason: &str,
    ) -> Result<String, Problem> {
        let mut tries = Tries::default();
        let release = Release { queue, by, reason, key: RequestKey::of_our_own() };
        let mut former = None;
        let (id, no) = loop {
            let outcome = self.try_release(&release, scope, &mut former).await;
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
        scope: &AccessScope,
        former: &mut Option<String>,
    ) -> Result<Result<(String, i64), Problem>, Error> {
        let Release { queue, key, .. } = release;
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
        if scope::names_of(&tx, &id).await?.is_none_or(|names| !names.are_in(scope)) {
            let message = "it is held by an order of a tenant that is not yours (`access.tenants`)";
            return Ok(Err(Problem::new(Type::Forbidden, message)));
        }
        release.take(tx, &order).await?;
        Ok(Ok((id, order.head.no.0)))
    }

    /// Takes its queue from an order, if it owns it now, once under this key.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(crate) async fn release_order(
        &self,
        id: &str,
        by: &Principal,
        reason: &str,
        key: &RequestKey,
    ) -> Result<(), Problem> {
        let mut tries = Tries::default();
        let released = loop {
            let outcome = self.try_release_order(id, by, reason, key).await;
            if let Some(done) = tries.judge(&self.host, "release", outcome).await {
                break done?;
            }
        };
        if let Some(left) = released {
            self.note("released", by.door, 1);
            Effects { left: vec![left], ..Effects::default() }.send(&self.host).await;
        }
        Ok(())
    }

    /// Tries once; `None` if it was done before.
    async fn try_release_order(
        &self,
        id: &str,
        by: &Principal,
        reason: &str,
        key: &RequestKey,
    ) -> Result<Result<Option<Left>, Problem>, Error> {
        let mut client = self.host.store.recovery().await?;
        let tx = client.transaction().await?;
        let Some(order) = control::lock(&tx, id).await? else { return Ok(Err(Problem::no_order(id))) };
        let no = order.head.no.0;
        if !history::of_key(&tx, &[no], &[EVENT], &key.name).await?.is_empty() {
            return Ok(Ok(None));
        }
        let holder = match &order.queue {
            Some(queue) => queues::holder(&tx, queue).await?.map(|holder| (queue, holder.id)),
            None => None,
        };
        let Some((queue, _)) = holder.filter(|(_, holder)| holder == id) else {
            return Ok(Err(Problem::new(Type::Refused, "the order owns no queue now")));
        };
        let release = Release { queue, by, reason, key: key.clone() };
        release.take(tx, &order).await?;
        Ok(Ok(Some(Left { no, attempt: None, queue: Some(queue.clone()) })))
    }
}

impl Release<'_> {
    /// Takes the queue from the locked order that owns it, and commits.
    async fn take(&self, tx: Tx<'_>, order: &Locked) -> Result<(), Error> {
        let Self { queue, by, reason, key } = self;
        let head = &order.head;
        debug_assert!(head.mode == Mode::Sequential, "only sequential orders are in queues");
        stages::leave_queue(&tx, head.no).await?;
        queues::leave(&tx, &[head.no.0]).await?;
        let detail = caused(json!({"queue": queue, "reason": reason, "key": key.name}), by);
        history::append(&tx, head.no, EVENT, by.source(), &detail.to_string()).await?;
        AuditEntry::new("release", (AuditKind::Queue, queue), by, Some(reason))
            .with(&json!({"order": head.id}))
            .record(&tx)
            .await?;
        Ok(tx.commit().await?)
    }
}
