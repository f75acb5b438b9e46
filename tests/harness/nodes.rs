//! The engine's services as processes: started, watched, stopped, killed and frozen.
//! Never waits for a fixed time: ready is what `/readyz` says, ended is what the kernel says.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::process::{self, Identity, Signal};

/// Role of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Takes orders and callbacks, serves the API.
    Intake,
    /// Decides what runs next.
    Dispatcher,
    /// Wakes what is due and recovers what is lost.
    Activator,
    /// Runs stages.
    Worker,
    /// Sends notifications.
    Notifier,
}

impl Role {
    /// All roles, in the order in which they are started.
    pub const ALL: [Self; 5] =
        [Self::Intake, Self::Dispatcher, Self::Activator, Self::Worker, Self::Notifier];

    /// The word for it, as `pagurus serve --roles` takes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intake => "intake",
            Self::Dispatcher => "dispatcher",
            Self::Activator => "activator",
            Self::Worker => "worker",
            Self::Notifier => "notifier",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|role| role.as_str() == word);
        found.ok_or_else(|| anyhow!("{word} is no role: intake, dispatcher, activator, worker or notifier"))
    }
}

/// All that is needed to start a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Role of the node.
    pub role: Role,
    /// Further services of the same process, each at the next port.
    #[serde(default)]
    pub also: Vec<Role>,
    /// Name, unique in the installation.
    pub name: String,
    /// The port on 127.0.0.1 for health, metrics, and the API of intake.
    pub port: u16,
    /// The folder of the built programs.
    pub programs: PathBuf,
    /// File of its output.
    pub log: PathBuf,
    /// The configuration file, if not the default one.
    pub config: Option<PathBuf>,
    /// Settings by environment, `PAGURUS__…`; name and address are added at the start.
    pub environment: BTreeMap<String, String>,
    /// True if it outlives the process that starts it.
    pub detached: bool,
}

/// A started node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Everything needed to start it, and to start it again.
    pub spec: NodeSpec,
    /// Process of the node.
    pub identity: Identity,
}

impl Node {
    /// Starts the process; it is not ready yet.
    ///
    /// # Errors
    /// The program is missing, or its log cannot be written.
    pub fn start(spec: NodeSpec) -> Result<Self> {
        let program = spec.programs.join("pagurus");
        if !program.exists() {
            bail!("{} is not built", program.display());
        }
        let mut command = if spec.detached { process::detached(&program) } else { Command::new(&program) };
        if let Some(config) = &spec.config {
            command.arg("--config").arg(config);
        }
        let roles: Vec<&str> = [spec.role].iter().chain(&spec.also).map(|role| role.as_str()).collect();
        command.args(["serve", "--roles", &roles.join(",")]);
        command
            .envs(&spec.environment)
            .env("PAGURUS__NODE__NAME", &spec.name)
            .env("PAGURUS__NODE__LISTEN", format!("127.0.0.1:{}", spec.port));
        let identity = process::spawn(&mut command, &spec.log)?;
        Ok(Self { spec, identity })
    }

    /// Address on which it listens, without the scheme.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.spec.port)
    }

    /// Address on which it listens, as a URL without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme(), self.address())
    }

    fn scheme(&self) -> &'static str {
        if self.spec.environment.contains_key("PAGURUS__NODE__CERTIFICATE") { "https" } else { "http" }
    }

    /// Waits until `/readyz` answers 200 at each of its doors, and says nothing of a door that is shut.
    ///
    /// # Errors
    /// The process ended, or was not ready in time; what it said last is in the message.
    pub async fn wait_ready(&self, http: &reqwest::Client, within: Duration) -> Result<()> {
        let deadline = Instant::now() + within;
        for port in (self.spec.port..).take(1 + self.spec.also.len()) {
            self.wait_door(http, port, deadline).await?;
        }
        Ok(())
    }

    async fn wait_door(&self, http: &reqwest::Client, port: u16, deadline: Instant) -> Result<()> {
        let url = format!("{}://127.0.0.1:{port}/readyz", self.scheme());
        loop {
            // A frozen or swamped node must not hold up the clock of this loop.
            let last = match http.get(&url).timeout(Duration::from_secs(2)).send().await {
                Ok(answer) => {
                    let status = answer.status();
                    let body: Value = answer.json().await.unwrap_or_default();
                    if status.as_u16() == 200 && body["degraded"] != true {
                        return Ok(());
                    }
                    format!("{status}: {body}")
                }
                Err(error) => format!("{:#}", anyhow::Error::from(error)),
            };
            if !self.identity.alive() {
                bail!("{} ended while it started:\n{}", self.spec.name, process::tail(&self.spec.log, 20));
            }
            if Instant::now() > deadline {
                let log = process::tail(&self.spec.log, 20);
                bail!("{} is not ready in time ({last}); its log ends with\n{log}", self.spec.name);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks it to end and waits until it has drained.
    ///
    /// # Errors
    /// The node is still there when the time is over; it is left running then.
    pub async fn stop(&self, within: Duration) -> Result<()> {
        // A frozen process cannot take the request.
        self.identity.signal(Signal::Continue)?;
        self.identity.signal(Signal::Terminate)?;
        if self.identity.ended(within).await {
            return Ok(());
        }
        bail!("{} (process {}) has not ended in {within:?}", self.spec.name, self.identity.pid)
    }

    /// Ends it as `kill -9` does, and waits until the kernel has taken it down.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub async fn kill(&self) -> Result<()> {
        self.kill_now()?;
        self.identity.ended(Duration::from_secs(10)).await;
        Ok(())
    }

    /// Ends it as `kill -9` does, without waiting.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub fn kill_now(&self) -> Result<()> {
        self.identity.signal(Signal::Kill)
    }

    /// Asks it to read its configuration again.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub fn hang_up(&self) -> Result<()> {
        self.identity.signal(Signal::Hangup)
    }

    /// Freezes it: its connections stay open and nothing is answered.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub fn pause(&self) -> Result<()> {
        self.identity.signal(Signal::Stop)
    }

    /// Lets it go on after a pause, unaware of the time that has passed.
    ///
    /// # Errors
    /// The signal could not be sent.
    pub fn resume(&self) -> Result<()> {
        self.identity.signal(Signal::Continue)
    }
}
