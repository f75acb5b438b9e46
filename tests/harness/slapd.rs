//! A private OpenLDAP server: made for one test, with people and groups, on the loopback address.
//! Never reads what Debian configures: its settings and its data are in the folder that it is given.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::certificates::TestCertificate;
use crate::of_test::Server;
use crate::process::{self, Identity, Signal};

/// Number of consecutive ports of a server: LDAP, and LDAP by TLS.
pub const PORTS: u16 = 2;
/// Distinguished name above all entries.
pub const SUFFIX: &str = "dc=corp,dc=example";
/// Password of the account that may do everything, `cn=root` below [`SUFFIX`].
pub const ROOT_PASSWORD: &str = "root-of-the-directory";
const PROGRAM: &str = "/usr/sbin/slapd";
/// Folder of the schemas that come with the server.
const SCHEMAS: &str = "/etc/ldap/schema";
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A private server; it ends with this value.
#[derive(Debug)]
pub struct Slapd {
    folder: PathBuf,
    first_port: u16,
    process: Identity,
}

/// True if the server and the programs of its clients are installed.
#[must_use]
pub fn is_installed() -> bool {
    let clients = ["ldapadd", "ldapwhoami"].map(|name| Path::new("/usr/bin").join(name));
    Path::new(PROGRAM).exists() && clients.iter().all(|client| client.exists())
}

impl Slapd {
    /// Starts a server that shows this certificate, and takes binds without a password for anonymous ones. With `memberof`, it keeps
    /// the attribute of this name.
    ///
    /// # Errors
    /// It is not installed, or does not start; the end of its log is in the message.
    pub async fn start(
        folder: &Path,
        first_port: u16,
        shown: &TestCertificate,
        memberof: bool,
    ) -> Result<Self> {
        if !is_installed() {
            bail!("slapd and ldap-utils are not installed");
        }
        fs::create_dir_all(folder.join("data"))?;
        let folder = folder.canonicalize()?;
        fs::write(folder.join("server.crt"), &shown.certificate)?;
        fs::write(folder.join("server.key"), &shown.key)?;
        fs::write(folder.join("slapd.conf"), configuration(&folder, memberof))?;
        let addresses = format!("ldap://127.0.0.1:{first_port}/ ldaps://127.0.0.1:{}/", first_port + 1);
        let mut command = process::detached(PROGRAM);
        // A level of debugging, even none, keeps it from leaving this process group.
        command.args(["-d", "0", "-h", &addresses, "-f"]).arg(folder.join("slapd.conf"));
        let log = folder.join("log");
        let server = Self { process: process::spawn(&mut command, &log)?, folder, first_port };
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(("127.0.0.1", first_port + 1)).is_err() {
            if !server.process.alive() || Instant::now() > deadline {
                bail!("slapd does not answer:\n{}", process::tail(&log, 20));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(server)
    }

    /// Adds entries, in LDIF.
    ///
    /// # Errors
    /// The server refuses one of them.
    pub fn add(&self, entries: &str) -> Result<()> {
        let file = self.folder.join("entries.ldif");
        fs::write(&file, entries)?;
        let root = format!("cn=root,{SUFFIX}");
        let output = Command::new("ldapadd")
            .args(["-x", "-H", &self.url(), "-D", &root, "-w", ROOT_PASSWORD, "-f"])
            .arg(&file)
            .output()
            .context("ldapadd")?;
        if !output.status.success() {
            bail!("ldapadd: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// The name that the server gives somebody who binds by this name and password.
    ///
    /// # Errors
    /// It refuses the bind.
    pub fn who_is(&self, name: &str, password: &str) -> Result<String> {
        let output = Command::new("ldapwhoami")
            .args(["-x", "-H", &self.url(), "-D", name, "-w", password])
            .output()
            .context("ldapwhoami")?;
        if !output.status.success() {
            bail!("ldapwhoami: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// URL without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.first_port)
    }

    /// Port of LDAP, where TLS may be asked for.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.first_port
    }

    /// Port of LDAP by TLS.
    #[must_use]
    pub const fn tls_port(&self) -> u16 {
        self.first_port + 1
    }
}

impl Server for Slapd {
    fn kill_now(&self) {
        let _ = self.process.signal(Signal::Kill);
    }
}

fn configuration(folder: &Path, memberof: bool) -> String {
    let folder = folder.display();
    let schemas = ["core", "cosine", "nis", "inetorgperson"];
    let schemas: String = schemas.iter().map(|name| format!("include {SCHEMAS}/{name}.schema\n")).collect();
    let (module, overlay) = if memberof { ("moduleload memberof\n", "overlay memberof\n") } else { ("", "") };
    format!(
        "{schemas}modulepath /usr/lib/ldap\nmoduleload back_mdb\n{module}\
         TLSCertificateFile {folder}/server.crt\nTLSCertificateKeyFile {folder}/server.key\n\
         allow bind_anon_cred bind_anon_dn\nreferral ldap://127.0.0.1:1/\n\
         database mdb\nsuffix {SUFFIX}\nrootdn cn=root,{SUFFIX}\nrootpw {ROOT_PASSWORD}\ndirectory {folder}/data\n\
         {overlay}access to attrs=userPassword by anonymous auth by * none\naccess to * by users read by * none\n"
    )
}
