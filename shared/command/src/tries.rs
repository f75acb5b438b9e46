//! Repeated tries of a command while other processes change its orders.

use std::time::Duration;

use pagurus_runtime::Host;
use pagurus_runtime::trouble::store_problem;
use pagurus_store::Error;
use pagurus_wire::problem::{Problem, Type};

/// Tries for an order that changes while it is being locked.
const TRIES: u32 = 8;

/// Count of tries.
#[derive(Debug, Default)]
pub(crate) struct Tries(u32);

impl Tries {
    /// True where there was a try before, which may have been carried out: the answer to its commit may be
    /// what was lost.
    pub const fn is_again(&self) -> bool {
        self.0 > 0
    }

    /// The result of a try; after a pause, `None` if there is to be another.
    pub async fn judge<T>(
        &mut self,
        host: &Host,
        operation: &str,
        outcome: Result<Result<T, Problem>, Error>,
    ) -> Option<Result<T, Problem>> {
        let error = match outcome {
            Ok(outcome) => return Some(outcome),
            Err(error) => error,
        };
        self.0 += 1;
        if error.is_transient() && self.0 < TRIES {
            tokio::time::sleep(Duration::from_millis(10 << self.0)).await;
            return None;
        }
        if matches!(error, Error::Contended) {
            let message = "the order changes too fast to be acted on; try again";
            return Some(Err(Problem::new(Type::Busy, message)));
        }
        Some(Err(store_problem(host, operation, &error)))
    }
}
