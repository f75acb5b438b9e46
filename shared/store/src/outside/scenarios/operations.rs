//! Operations that scenarios run among their actions (SCN-19): what each stored version means by their names.

use std::collections::BTreeSet;

use pagurus_domain::id::ScenarioNo;
use pagurus_scenario::{Library, LibraryEntry, LibraryNo, OperationUse};

use crate::sql::statements;
use crate::{Client, Connection, Result, Tx};

statements! {
    PIN = "
        INSERT INTO scenario_operations (scenario, name, wanted, operation)
        SELECT $1, t.* FROM unnest($2::text[], $3::integer[], $4::integer[]) AS t (name, wanted, operation)";
    PINNED = "SELECT name, wanted, operation FROM scenario_operations WHERE scenario = $1";
    // With those of the operations themselves, down to the last.
    USES = "
        WITH RECURSIVE uses AS (
            SELECT scenario, name, wanted, operation FROM scenario_operations WHERE scenario = ANY($1::integer[])
             UNION
            SELECT p.scenario, p.name, p.wanted, p.operation FROM scenario_operations p JOIN uses u ON p.scenario = u.operation)
        SELECT u.scenario, u.name, u.wanted, u.operation, s.version, s.source
          FROM uses u JOIN scenarios s ON s.no = u.operation";
    WANTED = "
        SELECT t.name, t.wanted, s.no, s.version, s.source
          FROM unnest($1::text[], $2::integer[]) AS t (name, wanted)
         CROSS JOIN LATERAL (SELECT no, version, source FROM scenarios
                              WHERE name = t.name AND (t.wanted = 0 OR version = t.wanted)
                              ORDER BY version DESC LIMIT 1) AS s";
    // The newest versions alone: what came before is run by orders that go on with what they have.
    USERS = "
        SELECT s.no, s.name, s.version, s.source, p.wanted, o.version AS pinned
          FROM scenario_operations p
          JOIN scenarios s ON s.no = p.scenario
          JOIN scenarios o ON o.no = p.operation
         WHERE p.name = $1 AND NOT EXISTS (SELECT FROM scenarios n WHERE n.name = s.name AND n.version > s.version)
         ORDER BY s.name, p.wanted LIMIT $2";
}

/// The newest version of a scenario that runs an operation.
#[derive(Clone, Debug)]
pub struct OperationUser {
    /// Our number of it.
    pub no: ScenarioNo,
    /// The name.
    pub name: String,
    /// The version.
    pub version: i32,
    /// The text.
    pub source: String,
    /// The version of the operation that it names, if it names one.
    pub wanted: Option<i32>,
    /// The version of the operation that it runs.
    pub pinned: i32,
}

/// The operations of stored versions, with those that these run themselves.
pub async fn libraries(client: &impl Connection, nos: &[i32]) -> Result<Vec<Library>> {
    let uses = uses(client, nos).await?;
    let library = |no: &i32| Library::pinned(*no, uses.iter().map(entry), uses.iter().map(pin_of));
    Ok(nos.iter().map(library).collect())
}

/// The operations that a text which is not stored yet names: what it would mean by them if it were stored now. Names that
/// nothing is stored under are left out.
pub async fn wanted(client: &impl Connection, named: &BTreeSet<(String, Option<i32>)>) -> Result<Library> {
    if named.is_empty() {
        return Ok(Library::pinned(Library::UNSTORED, [], []));
    }
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    let versions: Vec<i32> = named.iter().map(|(_, version)| version.unwrap_or(0)).collect();
    let statement = client.prepare_cached(WANTED).await?;
    let rows = client.query(&statement, &[&names, &versions]).await?;
    let found = rows.iter().map(|row| UseRow {
        user: Library::UNSTORED,
        name: row.get("name"),
        wanted: row.get("wanted"),
        no: row.get("no"),
        version: row.get("version"),
        source: row.get("source"),
    });
    let mut all: Vec<UseRow> = found.collect();
    let nos: Vec<i32> = all.iter().map(|found| found.no).collect();
    all.extend(uses(client, &nos).await?);
    Ok(Library::pinned(Library::UNSTORED, all.iter().map(entry), all.iter().map(pin_of)))
}

/// The newest versions of scenarios that run the operation of this name themselves, at most `limit`.
pub async fn users(client: &Client, name: &str, limit: i64) -> Result<Vec<OperationUser>> {
    let statement = client.prepare_cached(USERS).await?;
    let rows = client.query(&statement, &[&name, &limit]).await?;
    let user = |row: &tokio_postgres::Row| OperationUser {
        no: ScenarioNo(row.get("no")),
        name: row.get("name"),
        version: row.get("version"),
        source: row.get("source"),
        wanted: Some(row.get("wanted")).filter(|wanted| *wanted != 0),
        pinned: row.get("pinned"),
    };
    Ok(rows.iter().map(user).collect())
}

/// Keeps what a new version means by the operations that it names.
pub(super) async fn pin(tx: &Tx<'_>, version: i32, library: &Library) -> Result<()> {
    let pins = pins_of(library);
    if pins.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = pins.iter().map(|(name, ..)| name.as_str()).collect();
    let wanted: Vec<i32> = pins.iter().map(|(_, wanted, _)| *wanted).collect();
    let operations: Vec<i32> = pins.iter().map(|(.., operation)| *operation).collect();
    tx.execute(PIN, &[&version, &names, &wanted, &operations]).await?;
    Ok(())
}

/// True if a stored version means the same by the operations that it names.
pub(super) async fn is_pinned(tx: &Tx<'_>, version: i32, library: &Library) -> Result<bool> {
    let rows = tx.query(PINNED, &[&version]).await?;
    let stored = rows.iter().map(|row| (row.get("name"), row.get("wanted"), row.get("operation")));
    Ok(stored.collect::<BTreeSet<(String, i32, i32)>>() == pins_of(library))
}

fn pins_of(library: &Library) -> BTreeSet<(String, i32, i32)> {
    let uses = library.uses_of_root();
    uses.map(|(used, no)| (used.name.clone(), used.wanted.unwrap_or(0), no)).collect()
}

struct UseRow {
    user: LibraryNo,
    name: String,
    wanted: i32,
    no: LibraryNo,
    version: i32,
    source: String,
}

async fn uses(client: &impl Connection, nos: &[i32]) -> Result<Vec<UseRow>> {
    let statement = client.prepare_cached(USES).await?;
    let rows = client.query(&statement, &[&nos]).await?;
    let row = |row: &tokio_postgres::Row| UseRow {
        user: row.get("scenario"),
        name: row.get("name"),
        wanted: row.get("wanted"),
        no: row.get("operation"),
        version: row.get("version"),
        source: row.get("source"),
    };
    Ok(rows.iter().map(row).collect())
}

fn entry(found: &UseRow) -> (LibraryNo, LibraryEntry) {
    let UseRow { name, version, source, .. } = found;
    let (name, text) = (name.clone(), source.clone());
    (found.no, LibraryEntry { name, version: Some(*version), file: None, text })
}

fn pin_of(found: &UseRow) -> (OperationUse, LibraryNo) {
    let wanted = Some(found.wanted).filter(|wanted| *wanted != 0);
    (OperationUse { user: found.user, name: found.name.clone(), wanted }, found.no)
}
