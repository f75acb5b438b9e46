//! A private domain controller of Samba, which speaks LDAP as Active Directory does, on a loopback address of its own: its ports are
//! fixed, and below 1024, so that it needs root.
//! Never starts more of Samba than its LDAP server.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rand::Rng;

use crate::certificates::TestCertificate;
use crate::of_test::Server;
use crate::process::{self, Identity, Signal, is_root};

/// Realm of the domain: people log in as `NAME@corp.example`.
pub const REALM: &str = "corp.example";
/// Distinguished name above all entries.
pub const SUFFIX: &str = "DC=corp,DC=example";
/// Password of `Administrator`.
pub const ADMINISTRATOR_PASSWORD: &str = "Root-of-the-d0main";
const PROGRAM: &str = "/usr/sbin/samba";
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A private domain controller; it ends with this value.
#[derive(Debug)]
pub struct Samba {
    folder: PathBuf,
    address: Ipv4Addr,
    process: Option<Identity>,
}

/// True if the server and what makes its database are installed.
#[must_use]
pub fn is_installed() -> bool {
    [PROGRAM, "/usr/bin/samba-tool", "/usr/share/samba/setup/provision.ldif"]
        .iter()
        .all(|file| Path::new(file).exists())
}

impl Samba {
    /// A domain without people, not started yet.
    ///
    /// # Errors
    /// Samba is not installed, this is not root, or the domain could not be made.
    pub fn provision(folder: &Path) -> Result<Self> {
        if !is_installed() {
            bail!("samba-ad-dc and samba-ad-provision are not installed");
        }
        if !is_root() {
            bail!("a domain controller has ports below 1024: run this test as root");
        }
        fs::create_dir_all(folder)?;
        let mut chance = rand::rng();
        let mut part = || chance.random_range(1..=250_u8);
        let address = Ipv4Addr::new(127, part(), part(), part());
        let domain = Self { folder: folder.canonicalize()?, address, process: None };
        let target = format!("--targetdir={}", domain.folder.join("domain").display());
        let password = format!("--adminpass={ADMINISTRATOR_PASSWORD}");
        let realm = format!("--realm={REALM}");
        domain.run(
            "domain",
            &[
                "provision",
                &realm,
                "--domain=CORP",
                "--server-role=dc",
                "--dns-backend=NONE",
                "--host-name=dc1",
                "--host-ip=127.0.0.1",
                "--option=vfs objects=",
                &password,
                &target,
            ],
        )?;
        fs::write(domain.settings(), domain.configuration())?;
        Ok(domain)
    }

    /// The address.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Changes the domain by the tool of Samba, before the start.
    ///
    /// # Errors
    /// The tool refuses.
    pub fn tool(&self, words: &[&str]) -> Result<()> {
        let database = self.folder.join("domain/private/sam.ldb");
        let (settings, database) = (self.settings().display().to_string(), database.display().to_string());
        self.run(words[0], &[&words[1..], &["-s", &settings, "-H", &database]].concat())
    }

    fn run(&self, word: &str, words: &[&str]) -> Result<()> {
        let output = Command::new("samba-tool").arg(word).args(words).output().context("samba-tool")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("samba-tool {word} {}: {said}", words.first().copied().unwrap_or_default());
        }
        Ok(())
    }

    /// Starts the server, which shows this certificate.
    ///
    /// # Errors
    /// It does not start; the end of its log is in the message.
    pub async fn start(&mut self, shown: &TestCertificate) -> Result<()> {
        let key = self.folder.join("server.key");
        fs::write(self.folder.join("server.crt"), &shown.certificate)?;
        fs::write(&key, &shown.key)?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        let mut command = process::detached(PROGRAM);
        command.args(["-i", "-M", "single", "--debug-stdout", "-d", "1", "-s"]).arg(self.settings());
        let log = self.folder.join("log");
        let process = process::spawn(&mut command, &log)?;
        self.process = Some(process);
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect((self.address, 636)).is_err() {
            if !process.alive() || Instant::now() > deadline {
                bail!("samba does not answer:\n{}", process::tail(&log, 20));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    fn settings(&self) -> PathBuf {
        self.folder.join("smb.conf")
    }

    fn configuration(&self) -> String {
        let (folder, address) = (self.folder.display(), self.address);
        format!(
            "[global]\nnetbios name = DC1\nworkgroup = CORP\nrealm = {}\n\
             server role = active directory domain controller\nserver services = ldap\ndcerpc endpoint servers =\n\
             interfaces = {address}/8\nbind interfaces only = yes\n\
             private dir = {folder}/domain/private\nlock directory = {folder}/domain\n\
             state directory = {folder}/domain/state\ncache directory = {folder}/domain/cache\n\
             binddns dir = {folder}/domain/bind-dns\npid directory = {folder}\nncalrpc dir = {folder}/ncalrpc\n\
             tls keyfile = {folder}/server.key\ntls certfile = {folder}/server.crt\ntls cafile =\n",
            REALM.to_uppercase()
        )
    }
}

impl Server for Samba {
    fn kill_now(&self) {
        if let Some(process) = self.process {
            let _ = process.signal(Signal::Kill);
        }
    }
}
