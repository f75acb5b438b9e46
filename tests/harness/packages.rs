//! Postgres and RabbitMQ, and Python and Node for the tests, from the distribution's packages, for machines that lack them.
//! Never lets the packages start their system services: we run private instances only. Never installs unannounced.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::{is_root, tail};
use crate::{postgres, rabbit, samba, slapd, venv};

/// Program that Debian asks before it starts a service from a package script.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// File that keeps a policy that was there already meanwhile.
const POLICY_ASIDE: &str = "/usr/sbin/policy-rc.d.before-pagurus";

/// A program that is installed if it is missing.
#[derive(Debug)]
struct Wanted {
    name: &'static str,
    packages: &'static [&'static str],
    there: fn() -> bool,
}

/// The two servers.
static SERVERS: [Wanted; 2] = [
    Wanted { name: "postgresql", packages: &["postgresql"], there: || postgres::binaries().is_some() },
    Wanted {
        name: "rabbitmq-server",
        packages: &["rabbitmq-server"],
        there: || rabbit::binaries().is_some(),
    },
];

/// Runtime of the senders in Python, and of the package of clients.
static PYTHON: Wanted = Wanted {
    name: "python3 with pika and venv",
    packages: &["python3", "python3-pika", "python3-venv"],
    there: || python().is_some() && venv::maker().is_some(),
};

/// Program that sends over HTTP.
static CURL: Wanted = Wanted { name: "curl", packages: &["curl"], there: || answers("curl") };

/// Runtime of the client in TypeScript, of the sender in JavaScript and of the bundler of the pages, and the program that fetches
/// their libraries.
static NPM: Wanted = Wanted {
    name: "node with npm",
    packages: &["nodejs", "npm"],
    there: || ["node", "npm"].iter().all(|program| answers(program)),
};

/// A browser for the tests of the pages.
static CHROMIUM: Wanted = Wanted {
    name: "chromium",
    packages: &["chromium-headless-shell", "fonts-dejavu-core"],
    there: || answers("chromium-headless-shell"),
};

/// A pooler that stands between services and database in a test of faults.
static POOLER: Wanted =
    Wanted { name: "pgbouncer", packages: &["pgbouncer"], there: || answers("/usr/sbin/pgbouncer") };

/// The tool that checks the alerts and carries out their tests.
static PROMTOOL: Wanted =
    Wanted { name: "promtool", packages: &["prometheus"], there: || answers("promtool") };

/// A directory, and the programs that fill it.
static DIRECTORY: Wanted =
    Wanted { name: "slapd", packages: &["slapd", "ldap-utils"], there: slapd::is_installed };

/// A directory that answers as Active Directory does.
static DOMAIN: Wanted =
    Wanted { name: "samba", packages: &["samba-ad-dc", "samba-ad-provision"], there: samba::is_installed };

/// True if a program tells its version.
fn answers(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A Python that knows pika: that of the path, which may be a virtual environment, or that of the distribution.
#[must_use]
pub fn python() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let probe = Command::new(python).args(["-c", "import pika"]).output();
        probe.is_ok_and(|output| output.status.success())
    })
}

/// Packages that are wanted and not there.
#[derive(Debug)]
pub struct Missing(Vec<&'static Wanted>);

/// The missing ones of the two servers, and with `tests` of what the tests need besides.
/// Announces them, and asks for the password of `sudo` if one is needed, so that the rest can run beside other work.
///
/// # Errors
/// This is no Debian-like system, or the user may not install anything.
pub fn missing(tests: bool) -> Result<Missing> {
    let of_tests = [&PYTHON, &CURL, &NPM, &CHROMIUM, &POOLER, &PROMTOOL, &DIRECTORY, &DOMAIN];
    announce(SERVERS.iter().chain(tests.then_some(of_tests).into_iter().flatten()))
}

/// The missing ones of what bundles the pages of the control centre. Announces them.
///
/// # Errors
/// As [`missing`].
pub fn missing_for_pages() -> Result<Missing> {
    announce([&NPM].into_iter())
}

fn announce(wanted: impl Iterator<Item = &'static Wanted>) -> Result<Missing> {
    let missing = Missing(wanted.filter(|one| !(one.there)()).collect());
    if missing.0.is_empty() {
        return Ok(missing);
    }
    let list = missing.list();
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("{list} is missing, and there is no apt-get here: please install it by hand");
    }
    eprintln!("    missing, and installed beside the build from the distribution's packages: {list}");
    eprintln!("    (no system service is started by this; private instances run under .dev/)");
    if !is_root() && !Command::new("sudo").arg("-v").status().is_ok_and(|status| status.success()) {
        bail!("{list} cannot be installed: this user may not use sudo; please install it by hand");
    }
    Ok(missing)
}

impl Missing {
    /// Installs them; what the package manager says goes to the log.
    ///
    /// # Errors
    /// The installation failed; the end of the log is in the message.
    pub async fn install(self, log: &Path) -> Result<()> {
        let log = log.to_path_buf();
        tokio::task::spawn_blocking(move || self.install_now(&log)).await?
    }

    fn install_now(&self, log: &Path) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        // The policy is one file: who puts it there takes it away before the next does.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let policy = Policy::forbid_starts()?;
        let packages: Vec<&str> = self.0.iter().flat_map(|one| one.packages).copied().collect();
        let installed = install(&packages, log);
        drop(policy);
        installed.with_context(|| format!("{} ends with\n{}", log.display(), tail(log, 15)))?;
        if self.0.iter().any(|one| !(one.there)()) {
            bail!("{} was installed, but is not where Debian keeps it", self.list());
        }
        eprintln!("    installed in {} s: {}", started.elapsed().as_secs(), self.list());
        Ok(())
    }

    fn list(&self) -> String {
        self.0.iter().map(|one| one.name).collect::<Vec<_>>().join(" and ")
    }
}

fn install(packages: &[&str], log: &Path) -> Result<()> {
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder)?;
    }
    let log = File::create(log)?;
    // A fresh machine has no package lists, an old one has outdated ones; both answer with 404 otherwise.
    let wait = ["-o", "DPkg::Lock::Timeout=600"];
    as_root(&[&["apt-get", "update", "-q"], &wait[..]].concat(), Some(&log))?;
    let install = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "install",
        "-y",
        "-q",
        "--no-install-recommends",
    ];
    as_root(&[&install[..], &wait[..], packages].concat(), Some(&log))
}

/// While it lives, no package script may start a service.
struct Policy;

impl Policy {
    fn forbid_starts() -> Result<Self> {
        if Path::new(POLICY).exists() {
            as_root(&["mv", POLICY, POLICY_ASIDE], None)?;
        }
        let policy = Self;
        let draft = std::env::temp_dir().join(format!("pagurus-policy-{}", std::process::id()));
        fs::write(&draft, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755))?;
        let moved = as_root(&["install", "-m", "755", &draft.to_string_lossy(), POLICY], None);
        fs::remove_file(&draft)?;
        moved?;
        Ok(policy)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        let restored = if Path::new(POLICY_ASIDE).exists() {
            as_root(&["mv", POLICY_ASIDE, POLICY], None)
        } else {
            as_root(&["rm", "-f", POLICY], None)
        };
        if let Err(error) = restored {
            eprintln!("please look at {POLICY}: it could not be put back ({error:#})");
        }
    }
}

/// Runs a command as root; its output goes to the log if one is given.
fn as_root(words: &[&str], log: Option<&File>) -> Result<()> {
    let mut command = if is_root() {
        Command::new(words[0])
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg(words[0]);
        sudo
    };
    command.args(&words[1..]).stdin(Stdio::null());
    if let Some(log) = log {
        command.stdout(log.try_clone()?).stderr(log.try_clone()?);
    }
    let line = words.join(" ");
    let status = command.status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}
