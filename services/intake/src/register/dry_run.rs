//! Dry runs of registrations: the same checks and the same statements, in a transaction that is taken back. So a dry run says
//! what a registration would, also of orders that exist already and of orders that would wait for themselves.

use std::collections::HashMap;

use pagurus_domain::order::Status;
use pagurus_store::Error;

use super::{End, Registrar, RegistrationOutcome, Submission};

/// Orders of earlier parts of the same request that would have been registered: the digest and the status of each.
pub(crate) type Earlier = HashMap<String, ([u8; 32], Status)>;

impl Registrar {
    /// Returns the outcomes that a part of a request would have, after its earlier parts. Nothing is kept, counted or sent.
    ///
    /// # Errors
    /// The database failed.
    pub async fn dry_run(
        &self,
        batch: &[Submission],
        earlier: &mut Earlier,
    ) -> Result<Vec<RegistrationOutcome>, Error> {
        let (client, known) = self.scenarios_of(batch).await?;
        let (mut outcomes, _) = self.judge(client, batch, known, End::TakeBack).await?;
        for (outcome, submission) in outcomes.iter_mut().zip(batch) {
            let request = &submission.request;
            match (earlier.get(&request.id), &*outcome) {
                (Some((digest, status)), _) if *digest == request.digest => {
                    *outcome = RegistrationOutcome::Duplicate(*status);
                }
                (Some((_, status)), _) => *outcome = RegistrationOutcome::Conflict(*status),
                (None, RegistrationOutcome::Accepted { status, .. }) => {
                    earlier.insert(request.id.clone(), (request.digest, *status));
                }
                (None, _) => {}
            }
        }
        Ok(outcomes)
    }
}
