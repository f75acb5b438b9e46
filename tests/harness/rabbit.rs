//! A private RabbitMQ broker: its own ports, name, data, log, cookie and port mapper.
//! Several of them make a cluster (`cluster`), all on the loopback address.
//! Never goes through Debian's wrapper scripts (they change to the system's user and the system's broker), and never
//! lets a command of one broker reach another one.

mod cluster;
pub mod parts;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lapin::{Connection, ConnectionProperties};

pub use cluster::{CLUSTER_PORTS, RabbitCluster};

use crate::certificates::TestCertificate;
use crate::process::{self, Identity, Signal};

/// Number of consecutive ports of a broker: AMQP, distribution, port mapper, management, and four for commands.
///
/// The commands get a range of their own because they listen too, and by default on ports that another broker may use.
pub const PORTS: u16 = 8;
const START_TIMEOUT: Duration = Duration::from_secs(120);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A private broker, running or not.
#[derive(Clone, Debug)]
pub struct Rabbit {
    binaries: PathBuf,
    folder: PathBuf,
    first_port: u16,
    management: bool,
    /// The part of the node's name before the host.
    name: String,
    /// The first node of the cluster that this one joins at its first start.
    joins: Option<Box<Rabbit>>,
}

/// The folder of the broker's own scripts.
#[must_use]
pub fn binaries() -> Option<PathBuf> {
    let folder = PathBuf::from("/usr/lib/rabbitmq/bin");
    (folder.join("rabbitmq-server").exists() && folder.join("rabbitmqctl").exists()).then_some(folder)
}

impl Rabbit {
    /// A broker that keeps everything in `folder` and uses [`PORTS`] ports from `first_port` on.
    ///
    /// With `management` its HTTP API is there too, which tests use to clean up; it costs memory and a second.
    ///
    /// # Errors
    /// RabbitMQ is not installed, or the folder cannot be written.
    pub fn prepare(folder: &Path, first_port: u16, management: bool) -> Result<Self> {
        Self::named("pagurus", folder, first_port, management, None)
    }

    fn named(
        name: &str,
        folder: &Path,
        first_port: u16,
        management: bool,
        joins: Option<&Self>,
    ) -> Result<Self> {
        let binaries = binaries().context("RabbitMQ is not installed")?;
        fs::create_dir_all(folder)?;
        let (folder, name, joins) = (folder.canonicalize()?, name.to_owned(), joins.cloned().map(Box::new));
        let broker = Self { binaries, folder, first_port, management, name, joins };
        fs::write(broker.folder.join("environment.conf"), "")?;
        let plugins = if management { "[rabbitmq_management].\n" } else { "[].\n" };
        fs::write(broker.folder.join("plugins"), plugins)?;
        fs::write(broker.folder.join("rabbitmq.conf"), broker.configuration())?;
        broker.write_control_script()?;
        Ok(broker)
    }

    /// The same for many tests side by side: it confirms what is written before it is on the disk. What dies with the process is
    /// kept as ever; only a machine that dies would lose something.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn shared_by_tests(self) -> Result<Self> {
        let settings = "[{ra, [{wal_write_strategy, sync_after_notify}]}].\n";
        fs::write(self.folder.join("advanced.config"), settings)?;
        Ok(self)
    }

    /// The same with a second port at which it speaks TLS: shows this certificate, and logs clients in by the name in theirs.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn by_tls(self, port: u16, issuers: &str, shown: &TestCertificate) -> Result<Self> {
        let mut settings = self.configuration();
        settings.push_str(&format!("listeners.ssl.1 = 127.0.0.1:{port}\n"));
        let files = [
            ("cacertfile", issuers),
            ("certfile", shown.certificate.as_str()),
            ("keyfile", shown.key.as_str()),
        ];
        for (option, text) in files {
            let file = self.folder.join(option);
            fs::write(&file, text)?;
            settings.push_str(&format!("ssl_options.{option} = {}\n", file.display()));
        }
        settings.push_str(
            "ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n\
             auth_mechanisms.1 = PLAIN\nauth_mechanisms.2 = EXTERNAL\nssl_cert_login_from = common_name\n",
        );
        fs::write(self.folder.join("rabbitmq.conf"), settings)?;
        fs::write(self.folder.join("plugins"), "[rabbitmq_auth_mechanism_ssl].\n")?;
        Ok(self)
    }

    /// The AMQP port on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.first_port
    }

    /// URL that a client connects to.
    #[must_use]
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.first_port)
    }

    /// The base of the management API, if it is on.
    #[must_use]
    pub fn management_url(&self) -> Option<String> {
        self.management.then(|| format!("http://guest:guest@127.0.0.1:{}/api", self.first_port + 3))
    }

    /// A script that runs `rabbitmqctl` on this very broker.
    #[must_use]
    pub fn control_script(&self) -> PathBuf {
        self.folder.join("rabbitmqctl")
    }

    /// The folder of the broker's logs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The running broker, by whichever process it was last started.
    #[must_use]
    pub fn identity(&self) -> Option<Identity> {
        let text = fs::read_to_string(self.folder.join("pid")).ok()?;
        let identity = Identity::of(text.trim().parse().ok()?)?;
        let folder = fs::read_link(format!("/proc/{}/cwd", identity.pid)).ok()?;
        (folder == self.folder).then_some(identity)
    }

    /// Starts the broker if it does not run, and waits until it takes connections (6 to 9 s).
    ///
    /// # Errors
    /// The broker ended or did not answer in time; the end of its output is in the message.
    pub async fn start(&self) -> Result<Identity> {
        if self.identity().is_none() {
            self.start_port_mapper()?;
            // An old file would be taken for a broker that has ended.
            let _ = fs::remove_file(self.folder.join("pid"));
            let mut command = process::detached(self.binaries.join("rabbitmq-server"));
            // Whatever the caller's shell says about another broker must not reach this one.
            for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RABBITMQ_")) {
                command.env_remove(name);
            }
            command.envs(self.environment()).current_dir(&self.folder);
            let starter = process::spawn(&mut command, &self.output())?;
            self.wait_ready(Some(starter)).await?;
        } else {
            self.wait_ready(None).await?;
        }
        self.identity().context("the broker answers, but has not noted its process id")
    }

    /// Ends the broker in order and waits for its end, the port mapper included.
    ///
    /// # Errors
    /// The broker did not end in time.
    pub async fn stop(&self) -> Result<()> {
        if let Some(identity) = self.identity() {
            // The Erlang machine takes it as "stop all applications, then end".
            identity.signal(Signal::Terminate)?;
            if !identity.ended(STOP_TIMEOUT).await {
                bail!("RabbitMQ (process {}) did not end; its logs: {}", identity.pid, self.logs().display());
            }
        }
        self.stop_port_mapper()
    }

    /// Ends the broker as a crash would.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub async fn kill(&self) -> Result<()> {
        if let Some(identity) = self.identity() {
            identity.signal(Signal::Kill)?;
            identity.ended(STOP_TIMEOUT).await;
        }
        Ok(())
    }

    /// Runs `rabbitmqctl` with these arguments on this broker and returns what it printed.
    ///
    /// # Errors
    /// The command failed; its complaint is in the message.
    pub async fn control(&self, arguments: &[&str]) -> Result<String> {
        let mut command = tokio::process::Command::new(self.control_script());
        let output = command.args(arguments).output().await?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("rabbitmqctl {} failed: {complaint}", arguments.join(" "));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn node_name(&self) -> String {
        format!("{}@localhost", self.name)
    }

    fn port_mapper_port(&self) -> u16 {
        self.joins.as_ref().map_or(self.first_port, |first| first.first_port) + 2
    }

    fn output(&self) -> PathBuf {
        self.logs().join("output.log")
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let path = |name: &str| self.folder.join(name).to_string_lossy().into_owned();
        let port = |offset: u16| (self.first_port + offset).to_string();
        vec![
            // The cookie lives in the home folder.
            ("HOME", self.folder.to_string_lossy().into_owned()),
            // Names are distinguished by each broker's own port mapper; a fixed one lets the data move to other ports.
            ("RABBITMQ_NODENAME", self.node_name()),
            ("RABBITMQ_NODE_PORT", port(0)),
            ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_DIST_PORT", port(1)),
            ("ERL_EPMD_PORT", self.port_mapper_port().to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_CTL_DIST_PORT_MIN", port(4)),
            ("RABBITMQ_CTL_DIST_PORT_MAX", port(7)),
            ("RABBITMQ_MNESIA_BASE", path("data")),
            ("RABBITMQ_LOG_BASE", path("log")),
            ("RABBITMQ_SCHEMA_DIR", path("schema")),
            ("RABBITMQ_GENERATED_CONFIG_DIR", path("generated")),
            ("RABBITMQ_CONFIG_FILE", path("rabbitmq")),
            ("RABBITMQ_ADVANCED_CONFIG_FILE", path("advanced.config")),
            ("RABBITMQ_CONF_ENV_FILE", path("environment.conf")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", path("plugins")),
            ("RABBITMQ_PID_FILE", path("pid")),
            // Idle schedulers sleep instead of spinning: on a small machine they would take the time of the tests.
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none"
                    .to_owned(),
            ),
        ]
    }

    fn configuration(&self) -> String {
        let mut text = format!(
            "listeners.tcp.1 = 127.0.0.1:{}\nlog.file.level = info\n\
             max_message_size = 4194304\n",
            self.first_port
        );
        if let Some(first) = &self.joins {
            text.push_str(&cluster::formation(first, self));
        }
        if self.management {
            text.push_str(&format!(
                "management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {}\n",
                self.first_port + 3
            ));
            // Tests ask it for names only; statistics of every queue cost more than the queues.
            text.push_str(
                "management.disable_stats = true\nmanagement_agent.disable_metrics_collector = true\n",
            );
        }
        text
    }

    async fn wait_ready(&self, starter: Option<Identity>) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let url = self.url();
        loop {
            let attempt = Connection::connect(&url, ConnectionProperties::default());
            // lapin has no limit of its own for the handshake.
            if let Ok(Ok(connection)) = tokio::time::timeout(Duration::from_secs(5), attempt).await {
                let _ = connection.close(200, "ready".into()).await;
                return Ok(());
            }
            if starter.is_some_and(|starter| !starter.alive()) {
                bail!("RabbitMQ ended while it started:\n{}", process::tail(&self.output(), 30));
            }
            if Instant::now() > deadline {
                bail!("RabbitMQ does not answer:\n{}", process::tail(&self.output(), 30));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Starts Erlang's port mapper ourselves, so that it is a process of ours and not one left behind by the broker.
    fn start_port_mapper(&self) -> Result<()> {
        // A cluster has one, that of its first node.
        if self.joins.is_some() || self.port_mapper().is_some() {
            return Ok(());
        }
        let mut command = process::detached("epmd");
        command
            .args(["-port", &self.port_mapper_port().to_string(), "-address", "127.0.0.1"])
            .current_dir(&self.folder);
        let identity = process::spawn(&mut command, &self.logs().join("epmd.log"))?;
        fs::write(self.folder.join("epmd.pid"), identity.pid.to_string())?;
        Ok(())
    }

    fn port_mapper(&self) -> Option<Identity> {
        let text = fs::read_to_string(self.folder.join("epmd.pid")).ok()?;
        let identity = Identity::of(text.trim().parse().ok()?)?;
        let line = process::command_line(identity.pid)?;
        let folder = fs::read_link(format!("/proc/{}/cwd", identity.pid)).ok()?;
        (line.contains("epmd") && folder == self.folder).then_some(identity)
    }

    pub(crate) fn stop_port_mapper(&self) -> Result<()> {
        match self.port_mapper() {
            Some(identity) => identity.signal(Signal::Terminate),
            None => Ok(()),
        }
    }

    fn write_control_script(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let mut text =
            "#!/bin/sh\n# rabbitmqctl for the private broker of this folder.\nunset RABBITMQ_LOGS\n"
                .to_owned();
        for (name, value) in self.environment() {
            text.push_str(&format!("export {name}={}\n", quote(&value)));
        }
        let program = self.binaries.join("rabbitmqctl");
        text.push_str(&format!("exec {} \"$@\"\n", quote(&program.to_string_lossy())));
        fs::write(self.control_script(), text)?;
        fs::set_permissions(self.control_script(), fs::Permissions::from_mode(0o755))?;
        Ok(())
    }
}

/// A word as the shell reads it back unchanged.
#[must_use]
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Checks that a broker takes a connection at this address.
///
/// # Errors
/// The answer of the broker or the network.
pub async fn check_url(url: &str) -> Result<()> {
    let attempt = Connection::connect(url, ConnectionProperties::default());
    let connection =
        tokio::time::timeout(Duration::from_secs(10), attempt).await.context("no answer in 10 s")??;
    let _ = connection.close(200, "seen".into()).await;
    Ok(())
}
