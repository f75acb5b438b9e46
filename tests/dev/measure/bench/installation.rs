//! An installation of its own for measuring: two private servers and the five services, one process each, under
//! `.dev/bench/`, with an empty database for every work.
//! Never shares anything with what `./dev up` runs but the processor.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::future::join_all;
use lapin::options::QueuePurgeOptions;
use lapin::{Connection, ConnectionProperties};
use pagurus_harness::client::{Api, http};
use pagurus_harness::nodes::{Node, NodeSpec, Role};
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres::{Postgres, Stop, drop_database};
use pagurus_harness::process::{self, Identity, Signal};
use pagurus_harness::rabbit::{self, Rabbit};
use tokio_postgres::{Client, NoTls};

use super::cpu::{Meter, Part};
use super::limit;

const DATABASE: &str = "bench";
const CONFIGURATION_FILE: &str = "pagurus.yaml";
/// Orders may come, and notifications go, as the works want it.
const CONFIGURATION: &str = "intake:\n  straight_to_queue: true\nnotify:\n  allow:\n    - exchange: pagurus.notifications\n    - queue: bench.notifications\n";
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(45);
/// Workers at most.
const WORKERS: u16 = 4;
/// Number of ports: one for each service, one for each further worker, and one for the called system.
const PORTS: u16 = 5 + (WORKERS - 1) + 1;

/// The scenarios of the reference works, by name.
pub const SCENARIOS: [(&str, &str); 3] = [
    ("bench-one-action", include_str!("one-action.yaml")),
    ("bench-three-stage", include_str!("three-stage.yaml")),
    ("bench-sleeper", include_str!("sleeper.yaml")),
];

/// Servers and, between two works, services.
pub struct Installation {
    folder: PathBuf,
    programs: PathBuf,
    postgres: Postgres,
    rabbit: Rabbit,
    ports: Ports,
    nodes: Vec<Node>,
    pipeline: Option<Identity>,
    http: reqwest::Client,
    // Held so that two measurements never share a machine unnoticed.
    _lock: File,
    _server_ports: (Ports, Ports),
}

impl Installation {
    /// Starts the two servers; what an earlier run has left behind is ended first.
    pub async fn start(root: &Path, programs: PathBuf, with_statements: bool) -> Result<Self> {
        let folder = root.join(".dev/bench");
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("lock"))?;
        if lock.try_lock().is_err() {
            bail!("another ./dev bench is at work here");
        }
        end_leftovers(&folder)?;
        fs::write(folder.join(CONFIGURATION_FILE), CONFIGURATION)?;
        let owner = Owner::this_process()?;
        let (of_postgres, of_rabbit) = (Ports::reserve(1, &owner)?, Ports::reserve(rabbit::PORTS, &owner)?);
        let log = folder.join("log/postgres.log");
        let postgres = Postgres::prepare(&folder.join("postgres"), &log, of_postgres.first())?;
        let rabbit = Rabbit::prepare(&folder.join("rabbitmq"), of_rabbit.first(), false)?;
        // They would listen at the ports of the earlier run.
        postgres.stop(Stop::Fast).await?;
        rabbit.stop().await?;
        tokio::try_join!(async { rabbit.start().await.map(drop) }, async {
            postgres.start().await.map(drop)
        })?;
        let mut installation = Self {
            folder,
            programs,
            postgres,
            rabbit,
            ports: Ports::reserve(PORTS, &owner)?,
            nodes: Vec::new(),
            pipeline: None,
            http: http()?,
            _lock: lock,
            _server_ports: (of_postgres, of_rabbit),
        };
        if let Err(error) = installation.count_statements(with_statements).await {
            installation.stop().await?;
            return Err(error);
        }
        Ok(installation)
    }

    /// Loads the server's own statistics of statements, or leaves them out: they cost a little.
    async fn count_statements(&self, wanted: bool) -> Result<()> {
        let client = connect(&self.postgres.url("postgres")).await?;
        client
            .batch_execute(match wanted {
                true => "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'",
                false => "ALTER SYSTEM RESET shared_preload_libraries",
            })
            .await?;
        self.postgres.stop(Stop::Fast).await?;
        self.postgres.start().await?;
        Ok(())
    }

    /// The port kept for the called system.
    pub fn stub_port(&self) -> u16 {
        self.ports.first() + PORTS - 1
    }

    /// The folder of this installation.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The broker's address.
    pub fn amqp_url(&self) -> String {
        self.rabbit.url()
    }

    /// Address of intake, `host:port`.
    pub fn intake(&self) -> String {
        format!("127.0.0.1:{}", self.ports.first())
    }

    /// A connection to the database of the present work.
    pub async fn database(&self) -> Result<Client> {
        connect(&self.postgres.url(DATABASE)).await
    }

    /// Five fresh services on an empty database and empty queues, with the scenarios of the works.
    pub async fn renew(&mut self) -> Result<()> {
        self.clear().await?;
        for role in Role::ALL {
            self.start_node(role)?;
        }
        self.ready().await?;
        self.put_scenarios().await
    }

    /// The same with this number of workers, [`WORKERS`] at most.
    pub async fn renew_with_workers(&mut self, workers: u16) -> Result<()> {
        self.renew().await?;
        for number in 1..workers.min(WORKERS) {
            let place = NodePlace { name: format!("worker-{}", number + 1), port: 4 + number };
            self.start_process(Role::Worker, place, &[], &[])?;
        }
        self.ready().await
    }

    /// The same with all five services in one process.
    pub async fn renew_in_one_process(&mut self) -> Result<()> {
        self.clear().await?;
        self.start_process(Role::ALL[0], NodePlace::of(Role::ALL[0]), &Role::ALL[1..], &[])?;
        self.ready().await?;
        self.put_scenarios().await
    }

    async fn put_scenarios(&self) -> Result<()> {
        let api = Api::new(self.http.clone(), format!("http://{}", self.intake()));
        for (name, source) in SCENARIOS {
            api.put_scenario(name, source).await?;
        }
        Ok(())
    }

    /// The hand-written pipeline in place of the services, with claims or without, on an empty database of its own.
    pub async fn renew_for_limit(&mut self, claim: bool) -> Result<()> {
        self.clear().await?;
        let (database_url, amqp_url) = (self.postgres.url(DATABASE), self.rabbit.url());
        limit::prepare(&database_url, &amqp_url).await?;
        let stub = format!("127.0.0.1:{}", self.stub_port());
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("limit").args(limit::Options::words(&database_url, &amqp_url, &stub, claim));
        self.pipeline = Some(process::spawn(&mut command, &self.folder.join("log/limit.log"))?);
        self.note()
    }

    async fn clear(&mut self) -> Result<()> {
        self.stop_services().await?;
        drop_database(&self.postgres.url("postgres"), DATABASE).await?;
        self.postgres.create_database(DATABASE).await?;
        let connection = Connection::connect(&self.rabbit.url(), ConnectionProperties::default()).await?;
        for queue in ["pagurus.orders.in", "pagurus.callbacks.in", "pagurus.refused"] {
            let channel = connection.create_channel().await?;
            // Before the first start of the services there is no such queue.
            let _ = channel.queue_purge(queue.into(), QueuePurgeOptions::default()).await;
        }
        // The pages of the last work are written out now and not while the next is measured.
        connect(&self.postgres.url("postgres")).await?.batch_execute("CHECKPOINT").await?;
        Ok(())
    }

    fn start_node(&mut self, role: Role) -> Result<()> {
        self.start_process(role, NodePlace::of(role), &[], &[])
    }

    /// Starts one process with these roles. `own` are its own settings, beside those of all.
    fn start_process(
        &mut self,
        role: Role,
        place: NodePlace,
        also: &[Role],
        own: &[(&str, String)],
    ) -> Result<()> {
        let given = std::env::vars().filter(|(name, _)| name.starts_with("PAGURUS__"));
        let mut environment: BTreeMap<String, String> = given.collect();
        let mut set = |name: &str, value: String| environment.insert(format!("PAGURUS__{name}"), value);
        set("DATABASE__URL", self.postgres.url(DATABASE));
        set("BROKER__URL", self.rabbit.url());
        set("CONFIG__STUB", format!("http://127.0.0.1:{}", self.stub_port()));
        set("INTAKE__PUBLIC_URL", format!("http://{}", self.intake()));
        for (name, value) in own {
            set(name, value.clone());
        }
        let node = Node::start(NodeSpec {
            role,
            also: also.to_vec(),
            port: self.ports.first() + place.port,
            programs: self.programs.clone(),
            log: self.folder.join(format!("log/{}.log", place.name)),
            name: place.name,
            config: Some(self.folder.join(CONFIGURATION_FILE)),
            environment,
            detached: true,
        })?;
        self.nodes.push(node);
        self.note()
    }

    async fn ready(&self) -> Result<()> {
        for node in &self.nodes {
            node.wait_ready(&self.http, READY_TIMEOUT).await?;
        }
        Ok(())
    }

    /// Starts the node of one role again.
    pub async fn start_role(&mut self, role: Role) -> Result<()> {
        self.start_node(role)?;
        self.ready().await
    }

    /// Starts intake again, with an API that asks who calls and limits each caller to these requests a second (0: to none).
    /// Returns a token for each of these senders of orders.
    pub async fn guard<const N: usize>(&mut self, requests: u32, senders: [&str; N]) -> Result<[String; N]> {
        let api = Api::new(self.http.clone(), format!("http://{}", self.intake()));
        let mut tokens = senders.map(str::to_owned);
        for token in &mut tokens {
            let asked = serde_json::json!({"name": token.as_str(), "role": "client"});
            let made = api.post("/v1/access/tokens", &asked).await?.success()?;
            *token = made["token"].as_str().context("the answer has no token")?.to_owned();
        }
        self.stop_role(Role::Intake).await?;
        let own = [
            ("ACCESS__MODE", "token".to_owned()),
            ("INTAKE__LIMITS__REQUESTS_PER_SECOND", requests.to_string()),
        ];
        self.start_process(Role::Intake, NodePlace::of(Role::Intake), &[], &own)?;
        self.ready().await?;
        Ok(tokens)
    }

    /// Sum of a metric of the node of one role, over all its labels.
    pub async fn metric(&self, role: Role, name: &str) -> Result<f64> {
        let node = self.nodes.iter().find(|node| node.spec.role == role).context("no such node runs")?;
        let page = self.http.get(format!("{}/metrics", node.url())).send().await?.text().await?;
        let lines = page.lines().filter(|line| line.starts_with(name));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Ends the nodes of one role.
    pub async fn stop_role(&mut self, role: Role) -> Result<()> {
        for node in self.nodes.iter().filter(|node| node.spec.role == role) {
            node.stop(STOP_TIMEOUT).await?;
        }
        self.nodes.retain(|node| node.spec.role != role);
        self.note()
    }

    async fn stop_services(&mut self) -> Result<()> {
        if let Some(pipeline) = self.pipeline.take() {
            pipeline.signal(Signal::Kill)?;
            pipeline.ended(STOP_TIMEOUT).await;
        }
        let nodes = std::mem::take(&mut self.nodes);
        join_all(nodes.iter().map(|node| node.stop(STOP_TIMEOUT)))
            .await
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
        self.note()
    }

    /// Ends everything; the data stay in the folder.
    pub async fn stop(&mut self) -> Result<()> {
        self.stop_services().await?;
        self.rabbit.stop().await?;
        self.postgres.stop(Stop::Fast).await
    }

    /// A meter of all processes of this moment, and of the load, which is this process.
    pub fn meter(&self) -> Result<Meter> {
        let mut meter = Meter::default();
        for node in &self.nodes {
            let part =
                if node.spec.also.is_empty() { Part::Service(node.spec.role) } else { Part::OneProcess };
            meter.watch(part, node.identity.pid);
        }
        if let Some(pipeline) = self.pipeline {
            meter.watch(Part::OneProcess, pipeline.pid);
        }
        meter.watch(Part::Postgres, self.postgres.identity().context("Postgres has ended")?.pid);
        meter.watch(Part::Rabbit, self.rabbit.identity().context("RabbitMQ has ended")?.pid);
        meter.watch(Part::Load, std::process::id());
        Ok(meter)
    }

    /// Notes the processes that a later run has to end if this one is killed.
    fn note(&self) -> Result<()> {
        let mut all: Vec<Identity> = self.nodes.iter().map(|node| node.identity).collect();
        all.extend(self.pipeline);
        fs::write(self.folder.join("processes.json"), serde_json::to_string(&all)?)?;
        Ok(())
    }
}

/// Name of a process, and its port as counted from the first one.
struct NodePlace {
    name: String,
    port: u16,
}

impl NodePlace {
    /// The place of the first process of a role.
    fn of(role: Role) -> Self {
        let port = (0..).zip(Role::ALL).find(|(_, other)| *other == role).map_or(0, |(port, _)| port);
        Self { name: role.to_string(), port }
    }
}

fn end_leftovers(folder: &Path) -> Result<()> {
    let Ok(text) = fs::read_to_string(folder.join("processes.json")) else { return Ok(()) };
    for identity in serde_json::from_str::<Vec<Identity>>(&text).unwrap_or_default() {
        identity.signal(Signal::Kill)?;
    }
    Ok(())
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
