//! Nodes and leases.

use pagurus_domain::id::Role;
use pagurus_domain::number::saturated;
use pagurus_store::recovery::cluster::{self, RegisteredNode};
use pagurus_store::recovery::leases;
use pagurus_store::recovery::presence;
use pagurus_wire::cluster::LeaseLine;
use pagurus_wire::nodes::{NodeView, OfflineView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;

use crate::Views;
use crate::query::{ListQuery, page, strange_cursor};

fn view(node: RegisteredNode, stages: u32) -> NodeView {
    let in_hand = saturated::<u32>(node.in_hand);
    let left = match (node.role, node.ended_at) {
        (Role::Worker, _) => stages,
        (_, None) => in_hand,
        // What it had in hand went back to where it came from.
        (_, Some(_)) => 0,
    };
    NodeView {
        name: node.name,
        role: node.role.as_str().to_owned(),
        layer: node.role.layer().to_owned(),
        transport: node.transport,
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

/// The word by which a page of nodes begins behind this one: nodes are in the order of role, name and life.
fn cursor_of(node: &RegisteredNode) -> String {
    format!("{}.{}.{}", node.role.as_str(), node.incarnation.0, node.name)
}

/// Place of a node in their order, as a cursor tells it.
fn place_of(cursor: &str) -> Option<(&str, &str, i64)> {
    let mut words = cursor.splitn(3, '.');
    let (role, incarnation, name) = (words.next()?, words.next()?, words.next()?);
    Some((role, name, incarnation.parse().ok()?))
}

impl Views {
    /// The living nodes, those that ended within the last hour, and those that are out of service, with the stages that each
    /// has in progress beside the number that it takes at most.
    pub async fn nodes(&self, query: &ListQuery) -> Result<Page<NodeView>, Problem> {
        let limit = query.limit()?;
        let behind = query.cursor().map(|cursor| place_of(cursor).ok_or_else(strange_cursor)).transpose()?;
        let nodes = async {
            let client = self.host.store.reports().await?;
            Ok((cluster::nodes(&client).await?, presence::load(&client).await?))
        };
        let (nodes, load) = nodes.await.map_err(self.failed("nodes"))?;
        let is_behind = |node: &RegisteredNode| {
            behind.is_none_or(|place| (node.role.as_str(), node.name.as_str(), node.incarnation.0) > place)
        };
        let nodes: Vec<RegisteredNode> = nodes.into_iter().filter(is_behind).take(limit).collect();
        Ok(page(nodes, limit, cursor_of, |node| {
            let stages =
                load.iter().find(|load| load.node == node.incarnation).map_or(0, |load| load.total());
            view(node, stages)
        }))
    }

    /// Leases, with their holders.
    pub async fn leases(&self, query: &ListQuery) -> Result<Page<LeaseLine>, Problem> {
        let (limit, behind) = (query.limit()?, query.cursor());
        let leases = async { leases::all(&self.host.store.api().await?).await };
        let leases = leases.await.map_err(self.failed("leases"))?.into_iter();
        let leases = leases.filter(|lease| behind.is_none_or(|behind| lease.name.as_str() > behind));
        Ok(page(leases.take(limit).collect(), limit, |lease| lease.name.clone(), |lease| lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_a_cursor_of_nodes_tells_a_place_whatever_the_name_holds() {
        assert_eq!(place_of("worker.7.a.b c"), Some(("worker", "a.b c", 7)));
        assert_eq!(place_of("worker.x.a"), None);
        assert_eq!(place_of("worker"), None);
    }
}
