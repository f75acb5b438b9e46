//! Three brokers as one cluster. Their processes, ports and data are their own; the port mapper is that of the first.
//! Never moves a queue: which node leads which is the broker's business.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{PORTS, Rabbit};
use crate::of_test::OfTest;

/// Number of consecutive ports that a cluster needs.
pub const CLUSTER_PORTS: u16 = 3 * PORTS;
/// File of the secret by which nodes of one cluster know each other.
const COOKIE: &str = ".erlang.cookie";

/// The nodes of a cluster, which end with this value.
#[derive(Debug)]
pub struct RabbitCluster {
    /// All three, the first one first.
    pub nodes: Vec<OfTest<Rabbit>>,
}

impl RabbitCluster {
    /// Starts three nodes, one after the other (20 to 30 s).
    ///
    /// # Errors
    /// A node does not start, or does not find the first.
    pub async fn start(folder: &Path, first_port: u16) -> Result<Self> {
        let first = OfTest(Rabbit::named("one", &folder.join("one"), first_port, false, None)?);
        first.start().await?;
        let mut nodes = vec![first];
        for (name, offset) in [("two", PORTS), ("three", 2 * PORTS)] {
            let first = &nodes[0];
            let node =
                OfTest(Rabbit::named(name, &folder.join(name), first_port + offset, false, Some(first))?);
            fs::copy(first.folder.join(COOKIE), node.folder.join(COOKIE))
                .context("the first node keeps no cookie")?;
            node.start().await?;
            nodes.push(node);
        }
        Ok(Self { nodes })
    }

    /// `host:port` of each node, for a balancer before them.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect()
    }

    /// Ends all nodes in order, the last one first.
    ///
    /// # Errors
    /// A node did not end in time.
    pub async fn stop(&self) -> Result<()> {
        for node in self.nodes.iter().rev() {
            node.stop().await?;
        }
        Ok(())
    }
}

/// Lines of the configuration by which a node finds the cluster at its first start.
pub(super) fn formation(first: &Rabbit, own: &Rabbit) -> String {
    let nodes = [first, own].into_iter().enumerate();
    let nodes = nodes.map(|(number, node)| {
        format!("cluster_formation.classic_config.nodes.{} = {}\n", number + 1, node.node_name())
    });
    let backend = "cluster_formation.peer_discovery_backend = classic_config\n";
    std::iter::once(backend.to_owned()).chain(nodes).collect()
}
