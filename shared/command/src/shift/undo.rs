//! The undoing of a shift.

use std::time::Instant;

use jiff::SignedDuration;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::principal::Principal;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::upkeep::shift;
use pagurus_wire::flows::ShiftOutcome;
use pagurus_wire::problem::Problem;
use serde_json::json;

use super::{BATCH, Batch, ONE_REQUEST};
use crate::Commands;
use crate::tries::Tries;

impl Commands {
    /// Moves back what is still due when the shift made it due.
    pub(super) async fn undo_shift(
        &self,
        no: i64,
        reason: &str,
        by: &Principal,
    ) -> Result<ShiftOutcome, Problem> {
        let shift = self.found_shift(no, true).await?;
        let distance = SignedDuration::try_from(shift.distance).unwrap_or(SignedDuration::MAX);
        let batch = Batch { shift: no, distance: -distance, kind: "shift_undone", reason, by };
        let begun = Instant::now();
        let mut outcome = ShiftOutcome { shift: Some(no), ..ShiftOutcome::default() };
        // Neither a stop or window that holds still nor a repeat of the request that made the shift moves anything from now on.
        let mut tries = Tries::default();
        loop {
            // Batches of a bulk operation may hold it for long.
            let ended = async { Ok(Ok(shift::undoing(&self.host.store.operations().await?, no).await?)) };
            if let Some(ended) = tries.judge(&self.host, "shift", ended.await).await {
                break ended?;
            }
        }
        let mut after = OrderNo(0);
        loop {
            let next = async { shift::moved(&self.host.store.operations().await?, no, after, BATCH).await };
            let orders = next.await.map_err(self.failed("shift"))?;
            let Some(last) = orders.last() else { break };
            after = last.no;
            outcome.orders += self.move_batch(&batch, &orders).await.map_err(self.failed("shift"))?;
            if begun.elapsed() > ONE_REQUEST {
                outcome.more = true;
                return Ok(outcome);
            }
        }
        let undone = async {
            let mut client = self.host.store.operations().await?;
            let tx = client.transaction().await?;
            shift::undone(&tx, no).await?;
            AuditEntry::new("undo_shift", (AuditKind::Flow, &shift.keyword), by, Some(reason))
                .with(&json!({"shift": no}))
                .record(&tx)
                .await?;
            Ok(tx.commit().await?)
        };
        undone.await.map_err(self.failed("shift"))?;
        Ok(outcome)
    }
}
