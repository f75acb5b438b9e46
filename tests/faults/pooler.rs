//! A pooler between the services and their database (row 28). Sessions are set up as they are opened, and statements are prepared
//! in them: a pooler that keeps neither is refused with a reason, before anything is written through it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::process::{self, Identity, Signal, is_root};
use tokio_postgres::NoTls;

use crate::installation::PATIENCE;
use crate::restart::tempfolder;
use crate::servers::Server;

/// Database, as the pooler and the server know it.
const DATABASE: &str = "engine";

/// PgBouncer before a server of our own.
struct Pooler {
    process: Identity,
    ports: Ports,
}

impl Pooler {
    async fn start(folder: &Path, server: &Server, settings: &str) -> Self {
        let ports = Ports::reserve(1, &Owner::this_process().unwrap()).unwrap();
        let target: tokio_postgres::Config = server.url().parse().unwrap();
        let configuration = format!(
            "[databases]\n{DATABASE} = host=127.0.0.1 port={} user={}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir =\nauth_type = any\n{settings}\n",
            target.get_ports()[0],
            target.get_user().unwrap(),
            ports.first(),
        );
        let file = folder.join("pgbouncer.ini");
        std::fs::write(&file, configuration).unwrap();
        let mut command = process::detached(Path::new("/usr/sbin/pgbouncer"));
        if is_root() {
            command.args(["-u", "postgres"]);
        }
        let process = process::spawn(command.arg(&file), &folder.join("pgbouncer.log")).unwrap();
        let pooler = Self { process, ports };
        let deadline = Instant::now() + PATIENCE;
        while tokio_postgres::connect(&pooler.url(), NoTls).await.is_err() {
            assert!(Instant::now() < deadline, "PgBouncer does not answer: {}", folder.display());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        pooler
    }

    fn url(&self) -> String {
        format!("postgres://pagurus@127.0.0.1:{}/{DATABASE}", self.ports.first())
    }

    async fn end(&self) {
        self.process.signal(Signal::Kill).unwrap();
        assert!(self.process.ended(PATIENCE).await);
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // It may have ended in the test already.
        let _ = self.process.signal(Signal::Kill);
    }
}

fn migrate(url: &str) -> (bool, String) {
    let program = PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let output = Command::new(program).arg("migrate").env("PAGURUS__DATABASE__URL", url).output().unwrap();
    let bytes = [&*output.stdout, &*output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&bytes).into_owned())
}

#[tokio::test]
async fn qlt_5_a_pooler_that_does_not_keep_the_settings_of_sessions_is_refused_with_a_reason() {
    // A folder that the user of the pooler may look into, wherever the checkout is.
    let folder = Path::new("/var/tmp").join(format!("pagurus-pooler-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let server = Server::with_engine(&tempfolder("pooled")).await;
    for settings in [
        "pool_mode = transaction",
        "pool_mode = transaction\nignore_startup_parameters = options",
        "pool_mode = session\nignore_startup_parameters = options",
    ] {
        let pooler = Pooler::start(&folder, &server, settings).await;
        let (is_done, text) = migrate(&pooler.url());
        assert!(!is_done, "{settings}: {text}");
        for words in ["a connection pooler in front of the database", "connect to PostgreSQL directly"] {
            assert!(text.contains(words), "{settings}: {text}");
        }
        pooler.end().await;
    }
    let (is_done, text) = migrate(&server.url());
    assert!(is_done, "{text}");
    server.end().await;
    // A folder that stays costs only space.
    let _ = std::fs::remove_dir_all(&folder);
}
