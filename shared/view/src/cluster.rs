//! Nodes, leases and queues.

use jiff::Timestamp;
use pagurus_store::{cluster, presence, queues};
use pagurus_wire::cluster::{LeaseLine, NodeLine, QueueLine};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;

use crate::Views;

/// Queues listed at most.
const MAX_QUEUES: i64 = 500;

impl Views {
    /// The living nodes, and those that ended within the last hour, with the stages that each has in progress beside the
    /// number that it takes at most.
    pub async fn nodes(&self) -> Result<Page<NodeLine>, Problem> {
        let nodes = async {
            let client = self.host.store.reports().await?;
            Ok((cluster::nodes(&client).await?, presence::load(&client).await?))
        };
        let (nodes, load) = nodes.await.map_err(self.failed("nodes"))?;
        let items = nodes.into_iter().map(|node| {
            let stages =
                load.iter().find(|load| load.node == node.incarnation).map_or(0, |load| load.total());
            NodeLine {
                role: node.role.as_str().to_owned(),
                incarnation: node.incarnation.0,
                name: node.name,
                address: node.address,
                version: node.version,
                status: node.status,
                started_at: node.started_at,
                ended_at: node.ended_at,
                seen_at: node.seen_at,
                concurrency: node.concurrency,
                stages,
            }
        });
        Ok(Page { items: items.collect(), next: None })
    }

    /// Leases, with their holders.
    pub async fn leases(&self) -> Result<Page<LeaseLine>, Problem> {
        let leases = async { cluster::leases(&self.host.store.api().await?).await };
        let leases = leases.await.map_err(self.failed("leases"))?.into_iter();
        let items = leases.map(|lease| LeaseLine {
            name: lease.name,
            holder: lease.holder,
            until: lease.until,
            epoch: lease.epoch.0,
        });
        Ok(Page { items: items.collect(), next: None })
    }

    /// Queues that have members, the longest first.
    pub async fn queues(&self) -> Result<Page<QueueLine>, Problem> {
        let listed = async { queues::list(&self.host.store.reports().await?, MAX_QUEUES).await };
        let listed = listed.await.map_err(self.failed("queues"))?.into_iter();
        let items = listed.map(|queue| QueueLine {
            queue: queue.name,
            holder: queue.holder,
            orders: queue.members,
            holder_registered_at: Timestamp::from_millisecond(queue.position).ok(),
        });
        Ok(Page { items: items.collect(), next: None })
    }
}
