//! Nodes, leases and queues.

use jiff::Timestamp;
use pagurus_store::{cluster, queues};
use pagurus_wire::cluster::{LeaseLine, NodeLine, QueueLine};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;

use crate::Views;

/// Queues listed at most.
const MAX_QUEUES: i64 = 500;

impl Views {
    /// The living nodes, and those that ended within the last hour.
    pub async fn nodes(&self) -> Result<Page<NodeLine>, Problem> {
        let nodes = async { cluster::nodes(&self.host.store.reports().await?).await };
        let nodes = nodes.await.map_err(self.failed("nodes"))?.into_iter();
        let items = nodes.map(|node| NodeLine {
            address: node.address,
            concurrency: node.concurrency,
            ended_at: node.ended_at,
            incarnation: node.incarnation.0,
            name: node.name,
            role: node.role.as_str().to_owned(),
            seen_at: node.seen_at,
            started_at: node.started_at,
            status: node.status,
            version: node.version,
        });
        Ok(Page { items: items.collect(), next: None })
    }

    /// Leases, with their holders.
    pub async fn leases(&self) -> Result<Page<LeaseLine>, Problem> {
        let leases = async { cluster::leases(&self.host.store.api().await?).await };
        let leases = leases.await.map_err(self.failed("leases"))?.into_iter();
        let items = leases.map(|lease| LeaseLine {
            epoch: lease.epoch.0,
            holder: lease.holder,
            name: lease.name,
            until: lease.until,
        });
        Ok(Page { items: items.collect(), next: None })
    }

    /// Queues that have members.
    pub async fn queues(&self) -> Result<Page<QueueLine>, Problem> {
        let listed = async { queues::list(&self.host.store.reports().await?, MAX_QUEUES).await };
        let listed = listed.await.map_err(self.failed("queues"))?.into_iter();
        let items = listed.map(|queue| QueueLine {
            holder: queue.holder,
            holder_registered_at: Timestamp::from_millisecond(queue.position).ok(),
            orders: queue.members,
            queue: queue.name,
        });
        Ok(Page { items: items.collect(), next: None })
    }
}
