//! Heads of queues, noted in the database now and then by the workers that claim from them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pagurus_runtime::Host;
use pagurus_runtime::metrics::Count;
use pagurus_runtime::node::chain;
use pagurus_store::Client;
use pagurus_store::hot::queues;
use pagurus_store::hot::stages::Claimed;

/// Claims of a queue after which its head is noted: a look-up walks over at most about this many entries of members that have
/// left, under whatever snapshot.
const CLAIMS: u32 = 500;
/// Queues whose claims are counted at the same time; beyond that counting begins again.
const MOST: usize = 100_000;

/// Claims of each queue by this node since its head was noted last.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueHeads(Arc<Mutex<HashMap<String, u32>>>);

impl QueueHeads {
    /// Counts claims, and notes the heads of queues of which enough were claimed. What cannot be noted is noted after as many
    /// claims again: look-ups are slower until then.
    pub async fn note(&self, host: &Host, client: &Client, claimed: &[Claimed]) {
        for queue in self.count(claimed) {
            if let Err(error) = queues::raise_head(client, &queue).await {
                host.metrics.count(Count::StoreErrors, "queue_heads", 1);
                tracing::warn!(queue, error = chain(&error), "the head of a queue could not be noted");
            }
        }
    }

    /// Counts claims; returns the queues whose heads are to be noted now.
    fn count(&self, claimed: &[Claimed]) -> Vec<String> {
        let queues = claimed.iter().filter_map(|stage| stage.queue.as_deref());
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        for queue in queues {
            if counts.len() >= MOST {
                counts.clear();
            }
            let count = match counts.get_mut(queue) {
                Some(count) => count,
                None => counts.entry(queue.to_owned()).or_default(),
            };
            *count += 1;
            if *count >= CLAIMS {
                counts.remove(queue);
                due.push(queue.to_owned());
            }
        }
        due
    }
}
