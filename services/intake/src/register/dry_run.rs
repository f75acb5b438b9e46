//! Dry runs of registrations: the same checks and the same statements, in a transaction that is taken back. So a dry run says
//! what a registration would, also of orders that exist already and of orders that would wait for themselves.

use std::collections::HashMap;

use pagurus_domain::order::Status;
use pagurus_store::Error;

use super::{End, Outcome, Registrar, Submission};

/// Orders of earlier parts of the same request that would have been registered: the digest and the status of each.
pub(crate) type Earlier = HashMap<String, ([u8; 32], Status)>;

impl Registrar {
    /// Tells what would become of a part of a request, whose other parts have been looked at. Nothing is kept, counted or told to anybody.
    ///
    /// # Errors
    /// The database failed.
    pub async fn dry_run(&self, batch: &[Submission], earlier: &mut Earlier) -> Result<Vec<Outcome>, Error> {
        let (client, known) = self.scenarios_of(batch).await?;
        let (mut outcomes, _) = self.judge(client, batch, known, End::TakeBack).await?;
        for (outcome, submission) in outcomes.iter_mut().zip(batch) {
            let request = &submission.request;
            match (earlier.get(&request.id), &*outcome) {
                (Some((digest, status)), _) if *digest == request.digest => {
                    *outcome = Outcome::Duplicate(*status);
                }
                (Some((_, status)), _) => *outcome = Outcome::Conflict(*status),
                (None, Outcome::Accepted { status, .. }) => {
                    earlier.insert(request.id.clone(), (request.digest, *status));
                }
                (None, _) => {}
            }
        }
        Ok(outcomes)
    }
}
