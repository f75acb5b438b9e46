//! Environment of a soak: two private servers and two nodes of every role under `.dev/soak/`, each node behind
//! proxies of its own. Never shares anything with what `./dev up` or `./dev test` run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use pagurus_harness::client::Api;
use pagurus_harness::env::{Env, Servers};
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{Postgres, Stop, create_database, drop_database, migrate};
use pagurus_harness::proxy::{Proxy, host_of};
use pagurus_harness::rabbit::{self, Rabbit};
use pagurus_harness::world::World;
use tokio_postgres::{Client, NoTls};

use super::kinds::Kind;

/// The database, and the prefix of all names on the broker.
const NAME: &str = "soak";
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running installation.
pub struct Ground {
    folder: PathBuf,
    env: Arc<Env>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The proxies of the nodes to PostgreSQL, in the same order.
    pub databases: Vec<Proxy>,
    /// Proxies to RabbitMQ.
    pub brokers: Vec<Proxy>,
    /// The database server.
    pub postgres: Postgres,
    /// The broker.
    pub rabbit: Rabbit,
    // Held so that two soaks never share a folder.
    _lock: File,
    _ports: [Ports; 3],
}

impl Ground {
    /// Starts everything, with scenarios; what an earlier soak has left is removed first.
    pub async fn start(root: &Path, programs: &Path) -> Result<Self> {
        let folder = root.join(".dev/soak");
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("lock"))?;
        if lock.try_lock().is_err() {
            bail!("another ./dev soak is at work here");
        }
        let owner = Owner::this_process()?;
        let ports =
            [Ports::reserve(1, &owner)?, Ports::reserve(rabbit::PORTS, &owner)?, Ports::reserve(1, &owner)?];
        let programs = copied(programs, &folder.join("programs"))?;
        let data = folder.join("postgres");
        let postgres = Postgres::prepare(&data, &folder.join("log/postgres.log"), ports[0].first())?;
        postgres.stop(Stop::Immediate).await?;
        let of_broker = folder.join("rabbitmq");
        if of_broker.join("pid").exists() {
            Rabbit::prepare(&of_broker, ports[1].first(), false)?.stop().await?;
        }
        let _ = fs::remove_dir_all(&of_broker);
        let rabbit = Rabbit::prepare(&of_broker, ports[1].first(), false)?;
        tokio::try_join!(async { rabbit.start().await.map(drop) }, async {
            postgres.start().await.map(drop)
        })?;
        match populate(&folder, programs, &postgres, &rabbit, ports[2].first()).await {
            Ok((env, nodes)) => {
                let (mut started, mut databases, mut brokers) = (Vec::new(), Vec::new(), Vec::new());
                for (node, database, broker) in nodes {
                    started.push(node);
                    databases.push(database);
                    brokers.push(broker);
                }
                let (env, nodes) = (Arc::new(env), started);
                let (_lock, _ports) = (lock, ports);
                Ok(Self { folder, env, nodes, databases, brokers, postgres, rabbit, _lock, _ports })
            }
            Err(error) => {
                tokio::join!(rabbit.stop(), postgres.stop(Stop::Fast)).0?;
                Err(error)
            }
        }
    }

    /// Folder of everything that a soak leaves.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Nodes, settings, and the world.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// The same, for a task beside.
    pub fn shared_env(&self) -> Arc<Env> {
        Arc::clone(&self.env)
    }

    /// The APIs of the intakes.
    pub fn apis(&self) -> Vec<Api> {
        let intakes = self.nodes.iter().filter(|node| node.spec.role == Role::Intake);
        intakes.map(|node| self.env().api(node)).collect()
    }

    /// A session of the database, past all proxies.
    pub async fn session(&self) -> Result<Client> {
        session(&self.postgres.url(NAME)).await
    }

    /// Database that [`session`] connects to.
    pub fn database_url(&self) -> String {
        self.postgres.url(NAME)
    }

    /// The places of the nodes of a role.
    pub fn of(&self, role: Role) -> Vec<usize> {
        let all = self.nodes.iter().enumerate();
        all.filter(|(_, node)| node.spec.role == role).map(|(index, _)| index).collect()
    }

    /// Starts a node again that has ended, and waits until it is ready.
    pub async fn again(&mut self, index: usize) -> Result<()> {
        self.nodes[index] = self.env().restart(&self.nodes[index]).await?;
        Ok(())
    }

    /// Ends nodes and servers.
    pub async fn stop(&mut self) -> Result<()> {
        let stopping = self.nodes.iter().map(|node| node.stop(STOP_TIMEOUT));
        // A node that does not end in time is killed below.
        let _ = futures_util::future::join_all(stopping).await;
        self.nodes.iter().try_for_each(Node::kill_now)?;
        let ended = tokio::join!(self.rabbit.stop(), self.postgres.stop(Stop::Fast));
        ended.0.and(ended.1)
    }
}

/// A node, and its proxies to PostgreSQL and to RabbitMQ.
type Proxied = (Node, Proxy, Proxy);

/// Two nodes of every role on these servers, with scenarios and an empty database.
async fn populate(
    folder: &Path,
    programs: PathBuf,
    postgres: &Postgres,
    rabbit: &Rabbit,
    port: u16,
) -> Result<(Env, Vec<Proxied>)> {
    drop_database(&postgres.url("postgres"), NAME).await?;
    let world = World::start_on(port, false).await?;
    create_database(&postgres.url("postgres"), NAME).await?;
    migrate(&programs, &postgres.url(NAME), true).await?;
    let servers = Servers {
        template: None,
        has_roles: true,
        database_url: postgres.url("postgres"),
        amqp_url: rabbit.url(),
        programs,
        logs: folder.join("log"),
        management_url: None,
    };
    // What a soak found wrong is looked at afterwards.
    let env = Env::on(servers, NAME.to_owned(), world, true).await?;
    let _ = fs::remove_dir_all(env.logs());
    env.configure(include_str!("pagurus.yaml"))?;
    let mut nodes = Vec::new();
    for role in Role::ALL {
        for number in 1..=2 {
            nodes.push(proxied(&env, role, &format!("{role}-{number}")).await?);
        }
    }
    for kind in Kind::ALL {
        env.api(&nodes[0].0).put_scenario(&kind.scenario(), &kind.text()).await?;
    }
    Ok((env, nodes))
}

/// Starts a node behind proxies of its own.
async fn proxied(env: &Env, role: Role, name: &str) -> Result<Proxied> {
    let database = Proxy::start(&host_of(&env.database_url())).await?;
    let broker = Proxy::start(&host_of(env.amqp_url())).await?;
    let database_url = database.url(&env.database_url());
    let broker_url = format!("{}?heartbeat=4", broker.url(env.amqp_url()));
    let settings =
        [("PAGURUS__DATABASE__URL", database_url.as_str()), ("PAGURUS__BROKER__URL", broker_url.as_str())];
    Ok((env.start_with(role, name, &settings).await?, database, broker))
}

/// A session of a database.
pub async fn session(url: &str) -> Result<Client> {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.context("cannot connect to PostgreSQL")?;
    // It ends by itself when the client is dropped.
    tokio::spawn(connection);
    Ok(client)
}

/// Copies the program, so that a build meanwhile changes nothing of what runs.
fn copied(programs: &Path, to: &Path) -> Result<PathBuf> {
    fs::create_dir_all(to)?;
    let name = "pagurus";
    // The old one may be a link to what is built now.
    let _ = fs::remove_file(to.join(name));
    fs::copy(programs.join(name), to.join(name)).with_context(|| format!("{name} is not built"))?;
    Ok(to.to_path_buf())
}
