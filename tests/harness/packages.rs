//! Postgres and RabbitMQ from the distribution's packages, for machines that lack them.
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

/// Installs what is missing of the two servers; says so first.
///
/// # Errors
/// The installation failed, or this is no Debian-like system.
pub fn install_missing() -> Result<()> {
    let mut missing = Vec::new();
    if postgres::binaries().is_none() {
        missing.push("postgresql");
    }
    if rabbit::binaries().is_none() {
        missing.push("rabbitmq-server");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" and ");
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("{list} is missing, and there is no apt-get here: please install it by hand");
    }
    eprintln!("==> {list} is missing: installing it from the distribution's packages");
    eprintln!("    (no system service is started by this; private instances run under .dev/)");
    let policy = Policy::forbid_starts()?;
    let installed = install(&missing);
    drop(policy);
    installed?;
    if postgres::binaries().is_none() || rabbit::binaries().is_none() {
        bail!("{list} was installed, but its programs are not where Debian keeps them");
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
