//! Nodes and leases.

use pagurus_domain::id::Role;
use pagurus_store::cluster::{self, RegisteredNode};
use pagurus_store::presence;
use pagurus_wire::cluster::LeaseLine;
use pagurus_wire::nodes::{NodeView, OfflineView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;

use crate::Views;

fn view(node: RegisteredNode, stages: u32) -> NodeView {
    let in_hand = u32::try_from(node.in_hand).unwrap_or(0);
    let left = match (node.role, node.ended_at) {
        (Role::Worker, _) => stages,
        (_, None) => in_hand,
        // What it had in hand went back to where it came from.
        (_, Some(_)) => 0,
    };
    NodeView {
        name: node.name,
        role: node.role.as_str().to_owned(),
        incarnation: node.incarnation.0,
        address: node.address,
        version: node.version,
        status: node.status,
        status_since: node.status_since,
        started_at: node.started_at,
        ended_at: node.ended_at,
        seen_at: node.seen_at,
        concurrency: node.concurrency,
        stages,
        left,
        offline: node.mark.map(|mark| OfflineView {
            since: mark.at,
            reason: mark.reason,
            by: serde_json::from_str(&mark.by).unwrap_or_default(),
        }),
    }
}

impl Views {
    /// The living nodes, those that ended within the last hour, and those that are out of service, with the stages that each
    /// has in progress beside the number that it takes at most.
    pub async fn nodes(&self) -> Result<Page<NodeView>, Problem> {
        let nodes = async {
            let client = self.host.store.reports().await?;
            Ok((cluster::nodes(&client).await?, presence::load(&client).await?))
        };
        let (nodes, load) = nodes.await.map_err(self.failed("nodes"))?;
        let items = nodes.into_iter().map(|node| {
            let stages =
                load.iter().find(|load| load.node == node.incarnation).map_or(0, |load| load.total());
            view(node, stages)
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
}
