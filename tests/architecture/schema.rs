//! `migrations/schema.sql`: the schema that all migrations together make, on one page. The page is
//! made by migrating an empty database and dumping it; never by hand.
//!
//! Without a database only the digest at its head is compared, which tells that a migration changed
//! after the page was made.

use std::process::Command;
use std::time::Duration;

use pagurus_harness::postgres;
use pagurus_store::upkeep::migrate;
use pagurus_store::{Options, Store};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::tree::{files, fresh, read};

const PAGE: &str = "migrations/schema.sql";

/// Migrations that were released, each with the SHA-256 of its text.
const RELEASED: [(&str, &str); 1] =
    [("migrations/V1__schema.sql", "1cb1742601f31cf7627ca3024be79152c2b6a30307afc6a773ca730d68690f81")];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn head() -> String {
    let mut digest = Sha256::new();
    let migrations = files(&[".sql"]).into_iter().filter(|file| file.path.starts_with("migrations/V"));
    let mut names = Vec::new();
    for file in migrations {
        digest.update(file.path.as_bytes());
        digest.update(file.text.as_bytes());
        names.push(file.path.trim_start_matches("migrations/").to_owned());
    }
    let digest = hex(&digest.finalize()[..8]);
    format!(
        "-- The schema after all migrations; made by tests/architecture, never edited. Why things are as they\n\
         -- are stands in the migrations. Of: {} (digest {digest})\n\n",
        names.join(", ")
    )
}

/// Lines of a dump about the schema itself, without what differs from one version of the program to
/// the next, and without the table in which migrations are kept.
fn normalized(dump: &str) -> String {
    let noise = |line: &&str| {
        !(line.is_empty()
            || line.starts_with("--")
            || line.starts_with("SET ")
            || line.starts_with("SELECT pg_catalog.set_config")
            || line.starts_with('\\'))
    };
    let mut page = String::new();
    for line in dump.lines().filter(noise) {
        page.push_str(&line.replace("public.", ""));
        page.push('\n');
        if line.ends_with(';') {
            page.push('\n');
        }
    }
    page.trim_end().to_owned() + "\n"
}

async fn dump(server: &str) -> String {
    let name = format!("architecture_schema_{}", Uuid::new_v4().simple());
    postgres::create_database(server, &name).await.unwrap();
    let mut url = server.parse::<reqwest::Url>().unwrap();
    url.set_path(&name);
    let store = Store::new(&Options {
        statement_timeout: Duration::from_secs(60),
        ..Options::of(url.as_str(), "architecture")
    })
    .unwrap();
    let mut client = store.work().await.unwrap();
    migrate::run(&mut client).await.unwrap();
    drop((client, store));
    let program = postgres::binaries().map_or_else(|| "pg_dump".into(), |folder| folder.join("pg_dump"));
    let output = Command::new(program)
        .args(["--schema-only", "--no-owner", "--no-privileges", "--exclude-table=refinery_schema_history"])
        .arg(url.as_str())
        .output()
        .unwrap();
    postgres::drop_database(server, &name).await.unwrap();
    assert!(output.status.success(), "pg_dump: {}", String::from_utf8_lossy(&output.stderr));
    normalized(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn architecture_released_migrations_stay_as_they_are() {
    for (path, digest) in RELEASED {
        let found = hex(&Sha256::digest(read(path)));
        assert_eq!(found, digest, "{path}: a released migration is never changed: add a new file");
    }
}

#[tokio::test]
async fn architecture_the_page_of_the_schema_is_fresh() {
    match std::env::var("DATABASE_URL") {
        Ok(server) => fresh(PAGE, &format!("{}{}", head(), dump(&server).await)),
        Err(_) => {
            let shipped = read(PAGE);
            assert!(
                shipped.starts_with(&head()),
                "{PAGE} is stale: run `UPDATE_GENERATED=1 ./dev test architecture`"
            );
            eprintln!(
                "no DATABASE_URL: only the digest of the migrations was compared; `./dev test` compares all"
            );
        }
    }
}
