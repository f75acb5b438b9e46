//! Orders that wait for the decision of an actor: nobody takes its tasks, or those who do have others in hand.

use pagurus_domain::order::Status;
use pagurus_domain::order::wait_reason::WaitReason;
use pagurus_store::hot::requests;
use pagurus_store::lists::actors;
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_store::{Client, Error};

use super::{ACTOR, WaitSentence};
use crate::Views;
use crate::actors::ActorQueue;

impl Views {
    /// Returns the reason, and a further clause, if an order waits for the decision of an actor that does not have its task.
    pub(super) async fn of_actor(
        &self,
        client: &Client,
        row: &Row,
        reason: WaitReason,
    ) -> Result<Option<WaitSentence>, Error> {
        if row.status != Status::Wait || reason != WaitReason::Wait {
            return Ok(None);
        }
        let awaited = requests::awaited(client, row.no).await?;
        let Some(actor) = awaited.iter().find_map(|name| name.strip_prefix(ACTOR)) else { return Ok(None) };
        // A broker that does not answer says nothing about the order.
        let Some(ActorQueue { queued, consumers }) = self.actor_queue(actor).await else { return Ok(None) };
        if consumers == 0 {
            let clause = format!("; no program takes tasks of actor `{actor}`: start one");
            return Ok(Some((WaitReason::Wait, clause)));
        }
        // The newest tasks of an actor are those that still stand in its queue.
        if queued == 0 || actors::newer_tasks(client, actor, row.no).await? >= i64::from(queued) {
            return Ok(None);
        }
        let clause = format!(
            "; its task is one of {queued} in the queue of actor `{actor}`; {consumers} programs are connected to it, but they work \
             on other tasks, or take none (`pagurus actors show {actor}`)"
        );
        Ok(Some((WaitReason::ActorBusy, clause)))
    }
}
