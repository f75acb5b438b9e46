//! A private Postgres server: made by `initdb`, run as a user that is not root, durable as in production.
//! Never touches a server that it did not make: a server is ours if its working folder is our data folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio_postgres::NoTls;

use crate::process::{self, Identity, Signal, is_root};

/// The superuser of a private server; connections from this machine need no password.
pub const USER: &str = "pagurus";
/// Longest time for a start: after a crash the server replays its log before it answers.
const START_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// The user that Debian's package makes; used when we are root, because Postgres refuses to be.
const UNPRIVILEGED: &str = "postgres";
/// The kernel's limit for the path of a unix socket is 107 bytes; this leaves room for the file name.
const SOCKET_FOLDER_BYTES_MAX: usize = 85;

/// Way to end a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Connections are broken, everything is written down.
    Fast,
    /// Ends it as a power cut would: the next start recovers from the log.
    Immediate,
}

/// A private server, running or not.
#[derive(Clone, Debug)]
pub struct Postgres {
    binaries: PathBuf,
    data: PathBuf,
    log: PathBuf,
    port: u16,
    environment: Vec<(String, String)>,
}

/// The folder of the newest installed server programs.
#[must_use]
pub fn binaries() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").ok().into_iter().flatten().flatten();
    let newest = debian
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, folder)| folder.join("initdb").exists() && folder.join("postgres").exists())
        .max();
    let from_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
    };
    newest.map(|(_, folder)| folder).or_else(from_path)
}

impl Postgres {
    /// A server whose data live in `folder`; the data are made if they are not there yet.
    ///
    /// # Errors
    /// Postgres is not installed, or `initdb` failed.
    pub fn prepare(folder: &Path, log: &Path, port: u16) -> Result<Self> {
        let binaries = binaries().context("Postgres is not installed")?;
        let data = data_folder(folder)?;
        let server = Self { binaries, data, log: log.to_owned(), port, environment: Vec::new() };
        if !server.data.join("PG_VERSION").exists() {
            server.initialise()?;
        }
        // Written again each time: the port may be another one when the state of an earlier run was lost.
        fs::write(server.data.join("pagurus.conf"), server.configuration())?;
        Ok(server)
    }

    /// The same for many tests side by side: it waits for no disk, and takes more sessions. What dies with a process is kept
    /// as ever; only a machine that dies would lose something.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn shared_by_tests(self) -> Result<Self> {
        let settings = "fsync = off\nfull_page_writes = off\nmax_connections = 900\n";
        fs::write(self.data.join("pagurus.conf"), self.configuration() + settings)?;
        Ok(self)
    }

    /// The same, started with this variable in its environment.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A standby that follows this running server, with a copy of its data; not started yet.
    ///
    /// # Errors
    /// The data could not be copied.
    pub fn standby(&self, folder: &Path, log: &Path, port: u16) -> Result<Self> {
        let data = data_folder(folder)?;
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
        let binaries = self.binaries.clone();
        let standby = Self { binaries, data, log: log.to_owned(), port, environment: Vec::new() };
        let from = self.port.to_string();
        let copy = [
            "-h",
            "127.0.0.1",
            "-p",
            &from,
            "-U",
            USER,
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
        ];
        standby.run("pg_basebackup", &copy)?;
        fs::write(standby.data.join("pagurus.conf"), standby.configuration())?;
        Ok(standby)
    }

    /// Lets no commit be acknowledged that the standby does not have, and waits until there is one.
    ///
    /// # Errors
    /// No standby follows in time.
    pub async fn demand_standby(&self) -> Result<()> {
        let url = self.url("postgres");
        execute(&url, "ALTER SYSTEM SET synchronous_standby_names TO '*'", &[]).await?;
        execute(&url, "SELECT pg_reload_conf()", &[]).await?;
        let deadline = Instant::now() + START_TIMEOUT;
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
        tokio::spawn(connection);
        while client
            .query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'", &[])
            .await?
            .is_empty()
        {
            if Instant::now() > deadline {
                bail!("no standby follows:\n{}", process::tail(&self.log, 20));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Makes a standby the primary, and waits until it is.
    ///
    /// # Errors
    /// The server is no standby, or did not become the primary in time.
    pub fn promote(&self) -> Result<()> {
        self.run("pg_ctl", &["promote", "--wait"])
    }

    /// Folder of the server programs.
    #[must_use]
    pub fn binaries_folder(&self) -> &Path {
        &self.binaries
    }

    /// Folder of the data.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// URL that a client connects to.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// The running server, by whichever process it was last started.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        let text = fs::read_to_string(self.data.join("postmaster.pid")).ok()?;
        let identity = Identity::of(text.lines().next()?.trim().parse().ok()?)?;
        let folder = fs::read_link(format!("/proc/{}/cwd", identity.pid)).ok()?;
        (folder == self.data).then_some(identity)
    }

    /// Starts the server if it does not run, and waits until it answers.
    ///
    /// # Errors
    /// The server ended or did not answer in time; the end of its log is in the message.
    pub async fn start(&self) -> Result<Identity> {
        if let Some(identity) = self.identity() {
            self.wait_ready(identity).await?;
            return Ok(identity);
        }
        let mut command = process::detached(if is_root() { Path::new("setpriv") } else { Path::new("env") });
        if is_root() {
            command.args(unprivileged());
        }
        command.arg(self.binaries.join("postgres")).arg("-D").arg(&self.data).current_dir(&self.data);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let identity = process::spawn(&mut command, &self.log)?;
        self.wait_ready(identity).await?;
        Ok(identity)
    }

    /// Ends the server and waits for its end.
    ///
    /// # Errors
    /// The server did not end in time.
    pub async fn stop(&self, how: Stop) -> Result<()> {
        let Some(identity) = self.identity() else {
            return Ok(());
        };
        identity.signal(match how {
            Stop::Fast => Signal::Interrupt,
            Stop::Immediate => Signal::Quit,
        })?;
        if !identity.ended(STOP_TIMEOUT).await {
            bail!("Postgres (process {}) did not end; its log: {}", identity.pid, self.log.display());
        }
        Ok(())
    }

    /// Makes an empty database if there is none of this name.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn create_database(&self, name: &str) -> Result<()> {
        create_database(&self.url("postgres"), name).await
    }

    async fn wait_ready(&self, identity: Identity) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let url = format!("{}?connect_timeout=2", self.url("postgres"));
        loop {
            let refusal = match tokio_postgres::connect(&url, NoTls).await {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            if !identity.alive() {
                bail!("Postgres ended while it started:\n{}", process::tail(&self.log, 20));
            }
            if Instant::now() > deadline {
                bail!("Postgres does not answer ({refusal}):\n{}", process::tail(&self.log, 20));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    fn initialise(&self) -> Result<()> {
        self.run("initdb", &["-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"])?;
        let main = self.data.join("postgresql.conf");
        let text = fs::read_to_string(&main)?;
        fs::write(&main, format!("{text}\ninclude 'pagurus.conf'\n"))?;
        Ok(())
    }

    /// Runs a program of the server on its data, and waits for its end.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<()> {
        let program = self.binaries.join(program);
        let mut command = Command::new(if is_root() { Path::new("setpriv") } else { Path::new("env") });
        if is_root() {
            command.args(unprivileged());
        }
        let output =
            command.arg(&program).args(arguments).arg("-D").arg(&self.data).current_dir("/").output()?;
        if !output.status.success() {
            bail!("{} failed: {}", program.display(), String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    fn configuration(&self) -> String {
        let folder = self.data.to_string_lossy();
        let socket = if folder.len() <= SOCKET_FOLDER_BYTES_MAX { folder.as_ref() } else { "" };
        format!(
            "port = {}\n\
             listen_addresses = '127.0.0.1'\n\
             unix_socket_directories = '{socket}'\n\
             max_connections = 300\n\
             fsync = on\n\
             synchronous_commit = on\n\
             full_page_writes = on\n\
             track_commit_timestamp = on\n\
             shared_buffers = 256MB\n\
             max_wal_size = 2GB\n\
             timezone = 'UTC'\n\
             log_timezone = 'UTC'\n\
             log_line_prefix = '%m [%p] %a '\n",
            self.port
        )
    }
}

/// Makes an empty database beside the one that `url` names, if there is none of this name.
///
/// # Errors
/// The server cannot be reached.
pub async fn create_database(url: &str, name: &str) -> Result<()> {
    execute(url, &format!("CREATE DATABASE \"{name}\""), &["42P04"]).await
}

/// Makes a copy of a database that has no sessions, beside the one that `url` names, if there is none of this name.
///
/// # Errors
/// The server cannot be reached.
pub async fn copy_database(url: &str, from: &str, name: &str) -> Result<()> {
    execute(url, &format!("CREATE DATABASE \"{name}\" TEMPLATE \"{from}\""), &["42P04"]).await
}

/// Removes a database and closes all connections to it.
///
/// # Errors
/// The server cannot be reached.
pub async fn drop_database(url: &str, name: &str) -> Result<()> {
    execute(url, &format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"), &[]).await
}

/// Brings the schema of a database up to date by the program in this folder; `with_roles` makes a user for each service, too.
///
/// # Errors
/// The program is missing, or says what went wrong.
pub async fn migrate(programs: &Path, url: &str, with_roles: bool) -> Result<()> {
    let mut command = tokio::process::Command::new(programs.join("pagurus"));
    command.arg("migrate").args(with_roles.then_some("--roles")).env("PAGURUS__DATABASE__URL", url);
    let output = command.output().await.context("`pagurus migrate` cannot be started")?;
    if !output.status.success() {
        bail!("`pagurus migrate` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Runs one statement; the error codes in `fine` count as success.
async fn execute(url: &str, statement: &str, fine: &[&str]) -> Result<()> {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.context("cannot connect to Postgres")?;
    // It ends by itself when the client is dropped.
    tokio::spawn(connection);
    match client.batch_execute(statement).await {
        Err(error) if error.code().is_some_and(|code| fine.contains(&code.code())) => Ok(()),
        other => other.with_context(|| format!("`{statement}` failed")),
    }
}

fn unprivileged() -> [String; 4] {
    [
        format!("--reuid={UNPRIVILEGED}"),
        format!("--regid={UNPRIVILEGED}"),
        "--clear-groups".to_owned(),
        "--".to_owned(),
    ]
}

/// The folder wanted, or one under `/var/tmp` when the server's user may not go there (a checkout in root's home).
fn data_folder(wanted: &Path) -> Result<PathBuf> {
    fs::create_dir_all(wanted)?;
    let wanted = wanted.canonicalize()?;
    if !is_root() {
        return Ok(wanted);
    }
    if give(&wanted)? {
        return Ok(wanted);
    }
    let name = wanted.to_string_lossy().replace('/', "-");
    let elsewhere = Path::new("/var/tmp").join(format!("pagurus{name}"));
    fs::create_dir_all(&elsewhere)?;
    if !give(&elsewhere)? {
        bail!("the user {UNPRIVILEGED} can write neither {} nor {}", wanted.display(), elsewhere.display());
    }
    Ok(elsewhere)
}

/// Gives a folder to the server's user; returns if that user can work there.
fn give(folder: &Path) -> Result<bool> {
    let owner = format!("{UNPRIVILEGED}:{UNPRIVILEGED}");
    let status = Command::new("chown").arg(&owner).arg(folder).status()?;
    if !status.success() {
        bail!("cannot give {} to {UNPRIVILEGED}", folder.display());
    }
    let mut probe = Command::new("setpriv");
    let status = probe.args(unprivileged()).args(["test", "-w"]).arg(folder).current_dir("/").status()?;
    Ok(status.success())
}
