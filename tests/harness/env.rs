//! Environment of a test with real services: a database, a name prefix, nodes and a world, all of its own.
//! Never starts servers: the run shares one Postgres and one RabbitMQ. Never ends a process that it did not start.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use uuid::Uuid;

use crate::client::amqp::Amqp;
use crate::client::{Api, http, lock};
use crate::nodes::{Node, NodeSpec, Role};
use crate::ports::{Owner, Ports};
use crate::postgres;
use crate::world::World;

/// Longest time until a node is ready; it includes its migrations on a machine busy with other tests.
pub const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// The grace of a node, and a little more.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(40);

/// The ground under one test; all of it goes when it is dropped.
#[derive(Debug)]
pub struct Env {
    name: String,
    servers: Servers,
    kept: bool,
    http: reqwest::Client,
    world: World,
    settings: Mutex<BTreeMap<String, String>>,
    nodes: Mutex<Vec<(Node, Ports)>>,
}

/// The servers and programs that an engine stands on.
#[derive(Clone, Debug)]
pub struct Servers {
    /// Any database of the server.
    pub database_url: String,
    /// The broker.
    pub amqp_url: String,
    /// The folder of the built programs.
    pub programs: PathBuf,
    /// The folder of all logs.
    pub logs: PathBuf,
    /// The management API of the broker, if it is on.
    pub management_url: Option<String>,
    /// Name of a migrated database that new ones are copied from; left out: new ones are empty.
    pub template: Option<String>,
    /// True if that database has roles: each node has that of its service then.
    pub has_roles: bool,
}

impl Servers {
    /// Servers that `./dev test` passes to its tests by environment variables.
    fn of_run() -> Result<Self> {
        let need =
            |name: &str| std::env::var(name).with_context(|| format!("{name} is not set: run `./dev test`"));
        Ok(Self {
            database_url: need("DATABASE_URL")?,
            amqp_url: need("AMQP_URL")?,
            programs: need("PAGURUS_TEST_BIN")?.into(),
            logs: std::env::var_os("PAGURUS_TEST_LOGS").map_or_else(std::env::temp_dir, PathBuf::from),
            management_url: std::env::var("PAGURUS_TEST_BROKER_API").ok(),
            template: std::env::var("PAGURUS_TEST_TEMPLATE").ok(),
            has_roles: std::env::var_os("PAGURUS_TEST_ROLES").is_some(),
        })
    }
}

impl Env {
    /// A new database that is migrated, a new prefix and a world; no node runs yet.
    ///
    /// # Errors
    /// The servers of the run are missing.
    pub async fn new(test: &str) -> Result<Self> {
        Self::of_test(Servers::of_run()?, test).await
    }

    /// The same with a database that is empty: the first node to come migrates it.
    ///
    /// # Errors
    /// The servers of the run are missing.
    pub async fn empty(test: &str) -> Result<Self> {
        Self::of_test(Servers { template: None, has_roles: false, ..Servers::of_run()? }, test).await
    }

    async fn of_test(servers: Servers, test: &str) -> Result<Self> {
        let tag = Uuid::new_v4().simple().to_string();
        let short: String =
            test.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').take(30).collect();
        let name = format!("t{}_{}", &tag[..8], short.to_ascii_lowercase());
        Self::on(servers, name, World::start().await?, false).await
    }

    /// The same on servers of one's own, with a world that is there; with `kept` database and broker names stay.
    ///
    /// # Errors
    /// The servers do not answer.
    pub async fn on(servers: Servers, name: String, world: World, kept: bool) -> Result<Self> {
        match &servers.template {
            Some(template) => postgres::copy_database(&servers.database_url, template, &name).await?,
            None => postgres::create_database(&servers.database_url, &name).await?,
        }
        let mut settings = BTreeMap::new();
        settings.insert("PAGURUS__CONFIG__DEMO".to_owned(), world.url().to_owned());
        let (settings, nodes) = (Mutex::new(settings), Mutex::default());
        Ok(Self { name, servers, kept, http: http()?, world, settings, nodes })
    }

    /// The database of this test.
    #[must_use]
    pub fn database_url(&self) -> String {
        with_database(&self.servers.database_url, &self.name)
    }

    /// The broker of the run.
    #[must_use]
    pub fn amqp_url(&self) -> &str {
        &self.servers.amqp_url
    }

    /// The prefix of all names on the broker.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.name
    }

    /// The systems that the engine calls; `${config.demo}` in scenarios.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// The HTTP client of this test.
    #[must_use]
    pub const fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// The folder of the logs of this test.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.servers.logs.join(&self.name)
    }

    /// Sets a setting (`PAGURUS__…`) of nodes that are started from now on.
    pub fn set(&self, name: &str, value: impl Into<String>) {
        lock(&self.settings).insert(name.to_owned(), value.into());
    }

    /// Writes the configuration file of nodes that are started from now on; those that run read it again. What is
    /// set by environment goes before it.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn configure(&self, text: &str) -> Result<()> {
        std::fs::create_dir_all(self.logs())?;
        Ok(std::fs::write(self.configuration(), text)?)
    }

    /// The path of the configuration file, also while there is none.
    #[must_use]
    pub fn configuration(&self) -> PathBuf {
        self.logs().join("pagurus.yaml")
    }

    /// Starts a node and waits until it is ready.
    ///
    /// # Errors
    /// The node ended, or was not ready in time.
    pub async fn start(&self, role: Role, name: &str) -> Result<Node> {
        self.start_with(role, name, &[]).await
    }

    /// Starts a node with settings of its own, such as a proxy's address in place of a server's.
    ///
    /// # Errors
    /// The node ended, or was not ready in time.
    pub async fn start_with(&self, role: Role, name: &str, settings: &[(&str, &str)]) -> Result<Node> {
        let node = self.launch(role, &[], name, settings)?;
        node.wait_ready(&self.http, READY_TIMEOUT).await?;
        Ok(node)
    }

    /// Starts one process with services of all roles, intake first, and waits until each is ready.
    ///
    /// # Errors
    /// The process ended, or was not ready in time.
    pub async fn start_in_one_process(&self, name: &str) -> Result<Node> {
        let node = self.launch(Role::ALL[0], &Role::ALL[1..], name, &[])?;
        node.wait_ready(&self.http, READY_TIMEOUT).await?;
        Ok(node)
    }

    /// Starts a node of every role, and waits until they are ready.
    ///
    /// # Errors
    /// A node ended, or was not ready in time.
    pub async fn start_all(&self) -> Result<Vec<Node>> {
        self.start_each(Role::ALL.map(|role| (role, Vec::new()))).await
    }

    /// Starts a node of each of these roles with settings of its own, side by side, and waits until they are ready.
    ///
    /// # Errors
    /// A node ended, or was not ready in time.
    pub async fn start_each<'a>(
        &self,
        wanted: impl IntoIterator<Item = (Role, Vec<(&'a str, String)>)>,
    ) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        for (role, settings) in wanted {
            let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            nodes.push(self.launch(role, &[], &format!("{role}-1"), &settings)?);
        }
        for node in &nodes {
            node.wait_ready(&self.http, READY_TIMEOUT).await?;
        }
        Ok(nodes)
    }

    /// Starts a node that ended, with the same name, port and settings.
    ///
    /// # Errors
    /// The node ended again, or was not ready in time.
    pub async fn restart(&self, node: &Node) -> Result<Node> {
        let again = Node::start(node.spec.clone())?;
        for (kept, _) in lock(&self.nodes).iter_mut() {
            if kept.spec.name == again.spec.name {
                *kept = again.clone();
            }
        }
        again.wait_ready(&self.http, READY_TIMEOUT).await?;
        Ok(again)
    }

    /// All nodes that were started here, each as it was started last.
    #[must_use]
    pub fn nodes(&self) -> Vec<Node> {
        lock(&self.nodes).iter().map(|(node, _)| node.clone()).collect()
    }

    /// The API of a node of role intake.
    #[must_use]
    pub fn api(&self, intake: &Node) -> Api {
        Api::new(self.http.clone(), intake.url())
    }

    /// A connection to the broker as a client of this test's engine.
    ///
    /// # Errors
    /// The broker cannot be reached.
    pub async fn amqp(&self) -> Result<Amqp> {
        Amqp::connect(&self.servers.amqp_url, &self.name).await
    }

    fn launch(&self, role: Role, also: &[Role], name: &str, settings: &[(&str, &str)]) -> Result<Node> {
        let ports = Ports::reserve(u16::try_from(1 + also.len())?, &Owner::this_process()?)?;
        let mut environment = lock(&self.settings).clone();
        let roles: Vec<Role> = [role].iter().chain(also).copied().collect();
        environment.insert("PAGURUS__DATABASE__URL".to_owned(), self.database_url());
        environment.insert("PAGURUS__BROKER__URL".to_owned(), self.servers.amqp_url.clone());
        environment.insert("PAGURUS__BROKER__PREFIX".to_owned(), self.name.clone());
        // Answers of called systems go to the first intake of the test.
        let intake = lock(&self.nodes)
            .iter()
            .find(|(node, _)| node.spec.role == Role::Intake)
            .map(|(node, _)| node.url());
        if let Some(url) = intake {
            environment.entry("PAGURUS__INTAKE__PUBLIC_URL".to_owned()).or_insert(url);
        }
        environment.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        // Whichever way leads to the database of this test, it is taken as the user of the service.
        let is_own = |url: &String| self.servers.has_roles && with_database(url, &self.name) == *url;
        if let Some(url) = environment.get_mut("PAGURUS__DATABASE__URL").filter(|url| is_own(url)) {
            *url = with_user(url, &user_of(&roles));
        }
        // An empty one is left out, so that the engine's own default counts.
        environment.retain(|_, value| !value.is_empty());
        let node = Node::start(NodeSpec {
            role,
            also: also.to_vec(),
            name: name.to_owned(),
            port: ports.first(),
            programs: self.servers.programs.clone(),
            log: self.logs().join(format!("{name}.log")),
            config: Some(self.configuration()).filter(|file| file.exists()),
            environment,
            detached: false,
        })?;
        lock(&self.nodes).push((node.clone(), ports));
        Ok(node)
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        for (node, _) in lock(&self.nodes).iter() {
            // It may have ended in the test already.
            let _ = node.kill_now();
        }
        let lacking: Vec<String> = self.nodes().iter().filter_map(lacking_right).collect();
        // A right that is missing shows itself, also where a service tries again or another one helps out.
        assert!(lacking.is_empty() || std::thread::panicking(), "rights are missing: {lacking:#?}");
        if self.kept {
            return;
        }
        let (servers, name) = (self.servers.clone(), self.name.clone());
        // A thread with a runtime of its own, because a test's runtime cannot be blocked from inside.
        let cleaning = std::thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                postgres::drop_database(&servers.database_url, &name).await?;
                delete_broker_names(&servers, &name).await
            })
        });
        // What cannot be cleaned goes with the servers at the end of the run; it must not fail a test that passed.
        if let Ok(Err(error)) = cleaning.join() {
            eprintln!("cleaning up after {}: {error:#}", self.name);
        }
    }
}

/// The first line of a node's log that says that the database denied it something.
fn lacking_right(node: &Node) -> Option<String> {
    let log = std::fs::read(&node.spec.log).ok()?;
    let text = String::from_utf8_lossy(&log);
    text.lines()
        .find(|line| line.contains("permission denied for"))
        .map(|line| format!("{}: {line}", node.spec.name))
}

/// Deletes the queues and exchanges of a prefix, so that those of hundreds of tests do not slow the broker down.
async fn delete_broker_names(servers: &Servers, prefix: &str) -> Result<()> {
    let Some(api) = &servers.management_url else {
        return Ok(());
    };
    let http = http()?;
    for kind in ["queues", "exchanges"] {
        let list: serde_json::Value = http.get(format!("{api}/{kind}/%2F")).send().await?.json().await?;
        let names = list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str());
        let own = names.filter(|name| name.starts_with(prefix));
        try_join_all(own.map(|name| http.delete(format!("{api}/{kind}/%2F/{name}")).send())).await?;
    }
    Ok(())
}

/// The user of a process with services of these roles, as `pagurus migrate --roles` makes them.
#[must_use]
pub fn user_of(roles: &[Role]) -> String {
    match roles {
        [role] => format!("pagurus_{role}"),
        _ => "pagurus_engine".to_owned(),
    }
}

/// The same URL with another user, who needs no password.
#[must_use]
pub fn with_user(url: &str, user: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host = rest.find(['/', '?']).unwrap_or(rest.len());
    let rest = rest[..host].rfind('@').map_or(rest, |at| &rest[at + 1..]);
    format!("{scheme}://{user}@{rest}")
}

/// The same URL with another database.
fn with_database(url: &str, database: &str) -> String {
    let (before, query) =
        url.split_once('?').map_or((url, String::new()), |(url, query)| (url, format!("?{query}")));
    // The first slash after `://` separates host and database.
    let start = before.find("://").map_or(0, |at| at + 3);
    let host = before[start..].find('/').map_or(before, |at| &before[..start + at]);
    format!("{host}/{database}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_url_is_replaced_and_nothing_else() {
        assert_eq!(with_user("postgres://u:p@h:1/a?x=y@z", "b"), "postgres://b@h:1/a?x=y@z");
        assert_eq!(with_user("postgres://h:1", "b"), "postgres://b@h:1");
    }

    #[test]
    fn the_database_of_a_url_is_replaced_and_nothing_else() {
        assert_eq!(with_database("postgres://u@h:1/a?x=y", "b"), "postgres://u@h:1/b?x=y");
        assert_eq!(with_database("postgres://u@h:1", "b"), "postgres://u@h:1/b");
    }
}
