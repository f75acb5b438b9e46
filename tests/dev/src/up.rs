//! `./dev up`: servers, demo system and nodes in the background, all ready when it returns.
//! Never starts twice what runs already, and never ends anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use pagurus_harness::client::{Api, http};
use pagurus_harness::env::{user_of, with_user};
use pagurus_harness::nodes::{Node, NodeSpec, Role};
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::postgres;
use pagurus_harness::process::{self, Identity};
use pagurus_harness::{packages, rabbit};

use crate::{pages, servers};
use pagurus_dev::build::{Profile, Targets, build};
use pagurus_dev::place::{Place, Record};
use pagurus_dev::stages::Stages;

/// Includes the migrations of an empty database.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Stages after the build of the tool until all is up.
pub const STAGES: [&str; 2] =
    ["programs, and beside them packages and servers", "demo system, nodes and example scenarios"];

/// Options of `./dev up`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Nodes that take orders and serve the API
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub intakes: usize,
    /// Nodes that decide what runs next; one is active, the others stand by
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub dispatchers: usize,
    /// Nodes that wake what is due and recover what is lost
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub activators: usize,
    /// Nodes that run stages
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub workers: usize,
    /// Nodes that send notifications
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub notifiers: usize,
    /// Use this Postgres instead of a private one, for all roles or for one (`worker=postgres://…`); for single roles
    /// also by the environment: `DATABASE_URL_WORKER`
    #[arg(long, value_name = "[ROLE=]URL")]
    pub database_url: Vec<String>,
    /// Use this RabbitMQ instead of a private one, for all roles or for one (`worker=amqp://…`); for single roles also
    /// by the environment: `AMQP_URL_WORKER`
    #[arg(long, value_name = "[ROLE=]URL")]
    pub amqp_url: Vec<String>,
    /// The configuration of all nodes, instead of one that retries what the demo system fails
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Build for speed instead of building quickly: for whatever you measure
    #[arg(long)]
    pub release: bool,
}

impl Options {
    fn count(&self, role: Role) -> usize {
        match role {
            Role::Intake => self.intakes,
            Role::Dispatcher => self.dispatchers,
            Role::Activator => self.activators,
            Role::Worker => self.workers,
            Role::Notifier => self.notifiers,
        }
    }
}

/// `./dev up`.
pub async fn command(options: Options) -> Result<()> {
    let place = Place::open()?;
    let record = up(&place, &options, &mut Stages::after_tool(&STAGES)).await?;
    eprintln!("==> ready");
    print!("{}", std::fs::read_to_string(place.folder().join("nodes"))?);
    eprintln!(
        "    control centre and API: {}",
        record.server().unwrap_or_else(|| "no intake node".to_owned())
    );
    eprintln!("    documentation: /docs/guide/ there");
    eprintln!("    in your shell: . {}", place.folder().join("env").display());
    eprintln!("    ./dev down ends it");
    Ok(())
}

/// Brings everything up that is wanted and not there yet; what was started is noted step by step.
pub async fn up(place: &Place, options: &Options, stages: &mut Stages) -> Result<Record> {
    let databases = Addresses::read(&options.database_url, "DATABASE_URL")?;
    let brokers = Addresses::read(&options.amqp_url, "AMQP_URL")?;
    let (own_postgres, own_rabbit) = (databases.global.is_none(), brokers.global.is_none());
    let mut record = place.read()?;
    record.environment.extend(settings());
    record.config = Some(config(place, options)?);
    stages.next();
    let missing = if own_postgres || own_rabbit { Some(packages::missing(false)?) } else { None };
    let servers = async {
        if let Some(missing) = missing {
            missing.install(&place.logs().join("packages.log")).await?;
        }
        servers::start(place, &mut record, own_postgres, own_rabbit).await?;
        if let Some(url) = &databases.global {
            record.database_url.clone_from(url);
        }
        if let Some(url) = &brokers.global {
            rabbit::check_url(url).await.with_context(|| format!("the broker at {url}"))?;
            record.amqp_url.clone_from(url);
        }
        anyhow::Ok(())
    };
    // Packages come over the network, the broker takes seconds to start, and cargo takes its time: side by side.
    let pages = pages::build_or_say(place.root());
    let building = async {
        // A program for release carries the pages; one for development reads them when it is asked for them.
        if options.release {
            pages.await;
            return build(place.root(), Profile::Release, Targets::Programs).await;
        }
        let ((), programs) = tokio::join!(pages, build(place.root(), Profile::Dev, Targets::Programs));
        programs
    };
    let ((), programs) = tokio::try_join!(servers, building)?;
    record.programs.clone_from(&programs);
    if own_postgres {
        // Each service has its own user, as in any installation that is reviewed.
        postgres::migrate(&programs, &record.database_url, true).await?;
        let url = |role| with_user(&record.database_url, &user_of(&[role]));
        record.database_url_of = Role::ALL.map(|role| (role, url(role))).into();
    }
    record.database_url_of.extend(databases.of);
    record.amqp_url_of.extend(brokers.of);
    stages.next();
    start_demo(place, &mut record).await?;
    start_nodes(place, &mut record, options, &programs).await?;
    load_examples(place, &record).await?;
    Ok(record)
}

/// Starts one node without waiting; replaces a dead one of the same name.
pub fn start_node(place: &Place, record: &mut Record, role: Role, name: &str, programs: &Path) -> Result<()> {
    let port = match record.node(role, name) {
        Some(node) if node.identity.alive() => {
            bail!("{role} {name} runs already, as process {}", node.identity.pid)
        }
        // The same address again, for clients that know it.
        Some(node) => node.spec.port,
        None => Ports::reserve(1, &Owner::Folder(place.folder().to_path_buf()))?.keep(),
    };
    let own = |variable: &str| std::env::var(format!("{variable}_{}", role.as_str().to_uppercase())).ok();
    let database = own("DATABASE_URL").or_else(|| record.database_url_of.get(&role).cloned());
    let broker = own("AMQP_URL").or_else(|| record.amqp_url_of.get(&role).cloned());
    let mut environment = record.environment.clone();
    environment.extend(settings());
    let mut set = |name: &str, value: String| environment.insert(name.to_owned(), value);
    set("PAGURUS__DATABASE__URL", database.unwrap_or_else(|| record.database_url.clone()));
    set("PAGURUS__BROKER__URL", broker.unwrap_or_else(|| record.amqp_url.clone()));
    // Where called systems send their answers: the first intake, whose address stays the same.
    let intake = record.nodes.iter().find(|node| node.spec.role == Role::Intake).map(|node| node.spec.port);
    if let Some(port) = intake {
        set("PAGURUS__INTAKE__PUBLIC_URL", format!("http://127.0.0.1:{port}"));
    }
    if let Some(port) = record.demo_port {
        set("PAGURUS__CONFIG__DEMO", format!("http://127.0.0.1:{port}"));
    }
    let node = Node::start(NodeSpec {
        also: Vec::new(),
        role,
        name: name.to_owned(),
        port,
        programs: programs.to_path_buf(),
        log: place.logs().join(format!("{name}.log")),
        config: record.config.clone(),
        environment,
        detached: true,
    })?;
    record.nodes.retain(|other| other.spec.role != role || other.spec.name != name);
    record.nodes.push(node);
    place.write(record)
}

async fn start_nodes(place: &Place, record: &mut Record, options: &Options, programs: &Path) -> Result<()> {
    for role in Role::ALL {
        let mut number = 0;
        while record.alive(role).count() < options.count(role) {
            number += 1;
            let name = format!("{role}-{number}");
            if !record.node(role, &name).is_some_and(|node| node.identity.alive()) {
                start_node(place, record, role, &name, programs)?;
            }
        }
    }
    let http = http()?;
    for node in record.nodes.iter().filter(|node| node.identity.alive()) {
        node.wait_ready(&http, READY_TIMEOUT).await?;
    }
    // The dead that nobody replaced are no longer of interest.
    record.nodes.retain(|node| node.identity.alive());
    place.write(record)
}

async fn start_demo(place: &Place, record: &mut Record) -> Result<()> {
    if record.demo.is_some_and(Identity::alive) {
        return Ok(());
    }
    let port = match record.demo_port {
        Some(port) => port,
        None => Ports::reserve(1, &Owner::Folder(place.folder().to_path_buf()))?.keep(),
    };
    let mut command = process::detached(std::env::current_exe()?);
    command.arg("demo").args(["--port", &port.to_string(), "--amqp-url", &record.amqp_url]);
    record.demo_port = Some(port);
    let identity = process::spawn(&mut command, &place.logs().join("demo.log"))?;
    record.demo = Some(identity);
    place.write(record)?;
    let (http, url) = (http()?, format!("http://127.0.0.1:{port}/"));
    while http.get(&url).send().await.is_err() {
        if !identity.alive() {
            bail!("the demo system ended:\n{}", process::tail(&place.logs().join("demo.log"), 10));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Puts every example scenario; an unchanged one makes no new version.
async fn load_examples(place: &Place, record: &Record) -> Result<()> {
    let Some(server) = record.server() else {
        return Ok(());
    };
    let api = Api::new(http()?, server);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(place.root().join("examples/scenarios"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    for file in files {
        let Some(name) = file.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        api.put_scenario(name, &std::fs::read_to_string(&file)?).await?;
    }
    Ok(())
}

fn config(place: &Place, options: &Options) -> Result<PathBuf> {
    if let Some(file) = &options.config {
        return file.canonicalize().with_context(|| format!("cannot read {}", file.display()));
    }
    let file = place.folder().join("pagurus.yaml");
    std::fs::write(&file, include_str!("pagurus.yaml"))?;
    Ok(file)
}

/// Settings in the environment of this command, which are meant for the nodes.
fn settings() -> BTreeMap<String, String> {
    std::env::vars().filter(|(name, _)| name.starts_with("PAGURUS__")).collect()
}

/// Addresses of a server: one for all roles, others for single ones.
#[derive(Debug, Default)]
struct Addresses {
    global: Option<String>,
    of: BTreeMap<Role, String>,
}

impl Addresses {
    fn read(words: &[String], variable: &str) -> Result<Self> {
        let mut addresses = Self::default();
        for role in Role::ALL {
            if let Ok(url) = std::env::var(format!("{variable}_{}", role.as_str().to_uppercase())) {
                addresses.of.insert(role, url);
            }
        }
        for word in words {
            match word.split_once('=') {
                // A URL may hold an equals sign of its own, but never before its `://`.
                Some((role, url)) if !role.contains("://") => {
                    addresses.of.insert(role.parse()?, url.to_owned());
                }
                _ => addresses.global = Some(word.clone()),
            }
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn addresses_are_for_all_or_for_one_role() {
        let words = ["worker=postgres://h/a?b=c".to_owned(), "postgres://g/a?options=x".to_owned()];
        let addresses = Addresses::read(&words, "NO_SUCH_VARIABLE").unwrap();
        assert_eq!(addresses.global.as_deref(), Some("postgres://g/a?options=x"));
        assert_eq!(addresses.of[&Role::Worker], "postgres://h/a?b=c");
        assert!(Addresses::read(&["boss=postgres://h".to_owned()], "NO_SUCH_VARIABLE").is_err());
    }
}
