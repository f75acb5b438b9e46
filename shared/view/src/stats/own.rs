//! Figures for those who see the orders of their tenants alone: the statuses of these. What is counted of all orders together
//! is not theirs to see, and is left out.

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::order::Status;
use pagurus_domain::search::Search;
use pagurus_store::lists::search::{SearchKey, SearchWalk};
use pagurus_store::{Client, Error};
use pagurus_wire::problem::Problem;
use pagurus_wire::stats::{NamedCount, StatsCount, StatsNow, StatsRates, StatsView};

use crate::Views;

/// Orders that are looked at for the figures, at most, of those that have not ended, and of those that failed.
const MOST_LOOKED_AT: usize = 20_000;

impl Views {
    /// Orders of the scope by their status: those that have not ended, and those that failed.
    pub(super) async fn own_stats(&self, since: Timestamp, step_seconds: u64) -> Result<StatsView, Problem> {
        let read = async {
            let client = self.host.store.reports().await?;
            let open = Status::ALL.iter().copied().filter(|status| !status.is_final()).collect();
            let mut statuses = self.counted(&client, open).await?;
            statuses.extend(self.counted(&client, vec![Status::Fail]).await?);
            Ok(statuses)
        };
        let statuses = read.await.map_err(self.failed("stats"))?;
        Ok(StatsView {
            at: Timestamp::now(),
            since,
            step_seconds,
            now: StatsNow { statuses, ..StatsNow::default() },
            rates: StatsRates::default(),
            steps: Vec::new(),
            scenarios: Vec::new(),
            errors: Vec::new(),
            systems: Vec::new(),
        })
    }

    async fn counted(&self, client: &Client, statuses: Vec<Status>) -> Result<Vec<NamedCount>, Error> {
        let search = Search { statuses, ..Search::default() };
        let Some(walk) = SearchWalk::begin(client, search, &self.scope, None).await? else {
            return Ok(Vec::new());
        };
        let counted = walk.count(client, [SearchKey::Status, SearchKey::Nothing], MOST_LOOKED_AT).await?;
        let estimated = !counted.is_complete;
        let groups = counted.groups.into_iter().map(|group| NamedCount {
            name: group.keys.into_iter().next().flatten().unwrap_or_default(),
            count: StatsCount { count: saturated(group.orders), estimated },
        });
        Ok(groups.collect())
    }
}
