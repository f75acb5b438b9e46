//! The folder `.dev/`: what runs, noted so that the next command finds it again.
//! Never trusts a process id that it finds there: a process counts only with its start time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pagurus_harness::nodes::{Node, Role};
use pagurus_harness::postgres::Postgres;
use pagurus_harness::process::Identity;
use pagurus_harness::rabbit::{Rabbit, quote};
use serde::{Deserialize, Serialize};

/// The folder of a running installation.
#[derive(Debug)]
pub struct Place {
    root: PathBuf,
    folder: PathBuf,
    // Held so that two commands do not change the same installation at once.
    lock: File,
}

/// Record of what runs, or ran when it was written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// The port of the private Postgres, if there is one.
    pub postgres_port: Option<u16>,
    /// The first port of the private broker, if there is one.
    pub rabbit_port: Option<u16>,
    /// Address that the nodes connect to, unless their role has one of its own.
    pub database_url: String,
    /// Address that the nodes connect to, unless their role has one of its own.
    pub amqp_url: String,
    /// Addresses of single roles.
    pub database_url_of: BTreeMap<Role, String>,
    /// Addresses of single roles.
    pub amqp_url_of: BTreeMap<Role, String>,
    /// Settings (`PAGURUS__…`) that were in the environment of `up`.
    pub environment: BTreeMap<String, String>,
    /// The configuration file of all nodes.
    pub config: Option<PathBuf>,
    /// The port of the demo system.
    pub demo_port: Option<u16>,
    /// The process of the demo system.
    pub demo: Option<Identity>,
    /// The folder of the programs that were built last.
    pub programs: PathBuf,
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl Record {
    /// The node with this role and name.
    pub fn node(&self, role: Role, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.spec.role == role && node.spec.name == name)
    }

    /// The nodes of a role that are alive.
    pub fn alive(&self, role: Role) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.spec.role == role && node.identity.alive())
    }

    /// The API's base URL, if an intake node is alive.
    pub fn server(&self) -> Option<String> {
        self.alive(Role::Intake).next().map(Node::url)
    }
}

/// The root of the checkout.
///
/// # Errors
/// The tool was not started by `./dev` and not from inside a checkout.
pub fn root() -> Result<PathBuf> {
    if let Some(root) = std::env::var_os("PAGURUS_ROOT") {
        return Ok(root.into());
    }
    let here = std::env::current_dir()?;
    let found = here.ancestors().find(|folder| folder.join("tests/dev/Cargo.toml").exists());
    found.map(Path::to_path_buf).context("this is not inside a checkout: run `./dev` from its root")
}

impl Place {
    /// Opens `.dev/`; waits while another command is at work there.
    pub fn open() -> Result<Self> {
        let root = root()?;
        let folder = root.join(".dev");
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join("lock"))?;
        let place = Self { root, folder, lock };
        place.lock()?;
        Ok(place)
    }

    /// Keeps other commands out, until [`Self::unlock`] or the end of this process.
    pub fn lock(&self) -> Result<()> {
        if self.lock.try_lock().is_err() {
            eprintln!("==> waiting for another ./dev command");
            self.lock.lock()?;
        }
        Ok(())
    }

    /// Lets other commands change what runs.
    pub fn unlock(&self) -> Result<()> {
        Ok(self.lock.unlock()?)
    }

    /// The root of the checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.dev` itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the logs.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The private Postgres of this place.
    pub fn postgres(&self, port: u16) -> Result<Postgres> {
        Postgres::prepare(&self.folder.join("postgres"), &self.logs().join("postgres.log"), port)
    }

    /// The private broker of this place.
    pub fn rabbit(&self, port: u16) -> Result<Rabbit> {
        Rabbit::prepare(&self.folder.join("rabbitmq"), port, false)
    }

    /// Reads the last record.
    pub fn read(&self) -> Result<Record> {
        let path = self.folder.join("record.json");
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Record::default()),
            text => serde_json::from_str(&text?).with_context(|| {
                format!("{} is not readable: end the processes by hand and remove the file", path.display())
            }),
        }
    }

    /// Notes what runs, for us (`record.json`), for the shell (`env`) and for other programs (`nodes`).
    pub fn write(&self, record: &Record) -> Result<()> {
        self.replace("record.json", &serde_json::to_string_pretty(record)?)?;
        self.replace("nodes", &self.nodes_page(record)?)?;
        self.replace("env", &self.env_page(record)?)
    }

    /// Forgets what ran.
    pub fn clear(&self) {
        for name in ["record.json", "nodes", "env"] {
            // Not there is what is wanted.
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    /// A reader never sees half a file.
    fn replace(&self, name: &str, text: &str) -> Result<()> {
        let draft = self.folder.join(format!("{name}.new"));
        fs::write(&draft, text)?;
        fs::rename(&draft, self.folder.join(name))?;
        Ok(())
    }

    fn nodes_page(&self, record: &Record) -> Result<String> {
        let mut lines = Vec::new();
        for node in &record.nodes {
            if node.identity.alive() {
                let (spec, pid) = (&node.spec, node.identity.pid);
                lines.push(format!("{} {} {pid} {}\n", spec.name, spec.role, node.address()));
            }
        }
        if let Some(port) = record.postgres_port
            && let Some(identity) = self.postgres(port)?.identity()
        {
            lines.push(format!("postgres postgres {} 127.0.0.1:{port}\n", identity.pid));
        }
        if let Some(port) = record.rabbit_port
            && let Some(identity) = self.rabbit(port)?.identity()
        {
            lines.push(format!("rabbitmq rabbitmq {} 127.0.0.1:{port}\n", identity.pid));
        }
        Ok(lines.concat())
    }

    fn env_page(&self, record: &Record) -> Result<String> {
        let mut lines = Vec::new();
        let mut export = |name: &str, value: &str| lines.push(format!("export {name}={}\n", quote(value)));
        if let Some(server) = record.server() {
            export("PAGURUS_SERVER", &server);
        }
        export("AMQP_URL", &record.amqp_url);
        export("DATABASE_URL", &record.database_url);
        export("PAGURUS_DATA", &self.folder.to_string_lossy());
        export("PAGURUS_LOGS", &self.logs().to_string_lossy());
        export("PAGURUS_BIN", &record.programs.to_string_lossy());
        if let Some(port) = record.demo_port {
            export("PAGURUS_DEMO", &format!("http://127.0.0.1:{port}"));
        }
        if let Some(port) = record.postgres_port {
            let postgres = self.postgres(port)?;
            export("POSTGRES_BIN", &postgres.binaries_folder().to_string_lossy());
            export("POSTGRES_DATA", &postgres.data().to_string_lossy());
        }
        if let Some(port) = record.rabbit_port {
            let rabbit = self.rabbit(port)?;
            export("RABBITMQCTL", &rabbit.control_script().to_string_lossy());
        }
        Ok(lines.concat())
    }
}
