//! Postgres and RabbitMQ, and Python for the tests, from the distribution's packages, for machines that lack them.
//! Never lets the packages start their system services: we run private instances only. Never installs unannounced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::is_root;
use crate::{postgres, rabbit};

/// What Debian asks before it starts a service from a package script.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// Where a policy that was there already is kept meanwhile.
const POLICY_ASIDE: &str = "/usr/sbin/policy-rc.d.before-pagurus";

/// Something that is installed where it is missing.
struct Wanted {
    name: &'static str,
    packages: &'static [&'static str],
    there: fn() -> bool,
}

/// The two servers.
const SERVERS: [Wanted; 2] = [
    Wanted { name: "postgresql", packages: &["postgresql"], there: || postgres::binaries().is_some() },
    Wanted {
        name: "rabbitmq-server",
        packages: &["rabbitmq-server"],
        there: || rabbit::binaries().is_some(),
    },
];

/// What the client for actors in Python runs on.
const PYTHON: Wanted = Wanted {
    name: "python3 with pika",
    packages: &["python3", "python3-pika"],
    there: || python().is_some(),
};

/// A Python that knows pika: that of the path, which may be a virtual environment, or that of the distribution.
#[must_use]
pub fn python() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        let probe = Command::new(python).args(["-c", "import pika"]).output();
        probe.is_ok_and(|output| output.status.success())
    })
}

/// Installs what is missing of the two servers; says so first.
///
/// # Errors
/// The installation failed, or this is no Debian-like system.
pub fn install_missing() -> Result<()> {
    install_of(&SERVERS.iter().collect::<Vec<_>>())
}

/// The same, and what the tests need besides.
///
/// # Errors
/// The installation failed, or this is no Debian-like system.
pub fn install_missing_for_tests() -> Result<()> {
    install_of(&SERVERS.iter().chain([&PYTHON]).collect::<Vec<_>>())
}

fn install_of(wanted: &[&Wanted]) -> Result<()> {
    let missing: Vec<&Wanted> = wanted.iter().copied().filter(|one| !(one.there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.iter().map(|one| one.name).collect::<Vec<_>>().join(" and ");
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("{list} is missing, and there is no apt-get here: please install it by hand");
    }
    eprintln!("==> {list} is missing: installing it from the distribution's packages");
    eprintln!("    (no system service is started by this; private instances run under .dev/)");
    let policy = Policy::forbid_starts()?;
    let packages: Vec<&str> = missing.iter().flat_map(|one| one.packages).copied().collect();
    let installed = install(&packages);
    drop(policy);
    installed?;
    if missing.iter().any(|one| !(one.there)()) {
        bail!("{list} was installed, but is not where Debian keeps it");
    }
    Ok(())
}

fn install(packages: &[&str]) -> Result<()> {
    // A fresh machine has no package lists, an old one has outdated ones; both answer with 404 otherwise.
    let wait = ["-o", "DPkg::Lock::Timeout=600"];
    as_root(&[&["apt-get", "update", "-q"], &wait[..]].concat())?;
    let install = [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "install",
        "-y",
        "-q",
        "--no-install-recommends",
    ];
    as_root(&[&install[..], &wait[..], packages].concat())
}

/// While it lives, no package script may start a service.
struct Policy;

impl Policy {
    fn forbid_starts() -> Result<Self> {
        if Path::new(POLICY).exists() {
            as_root(&["mv", POLICY, POLICY_ASIDE])?;
        }
        let policy = Self;
        let draft = std::env::temp_dir().join(format!("pagurus-policy-{}", std::process::id()));
        fs::write(&draft, "#!/bin/sh\nexit 101\n")?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o755))?;
        let moved = as_root(&["install", "-m", "755", &draft.to_string_lossy(), POLICY]);
        fs::remove_file(&draft)?;
        moved?;
        Ok(policy)
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        let restored = if Path::new(POLICY_ASIDE).exists() {
            as_root(&["mv", POLICY_ASIDE, POLICY])
        } else {
            as_root(&["rm", "-f", POLICY])
        };
        if let Err(error) = restored {
            eprintln!("please look at {POLICY}: it could not be put back ({error:#})");
        }
    }
}

fn as_root(words: &[&str]) -> Result<()> {
    let mut command = if is_root() {
        Command::new(words[0])
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg(words[0]);
        sudo
    };
    let line = words.join(" ");
    let status = command.args(&words[1..]).status().with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}
