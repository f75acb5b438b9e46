//! `pagurus recover`: after a restore of the database from a backup, before the services start again (REC-14). Works on the
//! database itself, because nothing may run meanwhile.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use clap::Args;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::{Door, Principal};
use pagurus_runtime::load_settings;
use pagurus_scenario::consistency::judge;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::recovery::consistency;
use pagurus_store::recovery::restore::{self, Restored};
use pagurus_store::{Client, Error, Options, Store};
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use crate::failure::CliError;
use crate::migrate;
use crate::screen::Screen;

/// Numbers whose rows are looked at together.
const PAGE: i64 = 500;

/// Settings of a recovery.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Recover even if services seem to run: the work that they hold is void, and they have to register again
    #[arg(long)]
    force: bool,
    /// Reason, for the audit log
    #[arg(long)]
    reason: String,
}

/// Runs the command.
pub(crate) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    screen: &Screen,
) -> Result<(), CliError> {
    let settings = load_settings(config)?;
    let database = &settings.database;
    let options = Options {
        connect_timeout: database.connect_timeout,
        ..Options::of(&database.url, "pagurus recover")
    };
    let store = Store::new(&options).context("database.url")?;
    let mut client = store.operations().await.map_err(failure)?;
    let living = restore::living(&client, settings.node.lost_after).await.map_err(failure)?;
    if !living.is_empty() && !arguments.force {
        let names: Vec<String> = living.iter().map(|(role, name)| format!("{role} {name}")).collect();
        let why = format!(
            "services are running: {}. Stop them, wait {} s, and try again; --force recovers anyway",
            names.join(", "),
            settings.node.lost_after.as_secs()
        );
        return Err(Problem::new(Type::Refused, why).into());
    }
    let restored = raise(&mut client, arguments, &living).await.map_err(failure)?;
    let findings = look(&client).await.map_err(failure)?;
    tell(&restored, &findings, screen)
}

/// Everything in one transaction, the line of the audit log with it: which services ran meanwhile stands there.
async fn raise(
    client: &mut Client,
    arguments: &Arguments,
    living: &[(String, String)],
) -> Result<Restored, Error> {
    let tx = client.transaction().await?;
    let restored = restore::recover(&tx).await?;
    let by = Principal { door: Door::Http, name: None, from: Some("pagurus recover".to_owned()) };
    let subject = (AuditKind::Engine, "database");
    let beside: Vec<String> = living.iter().map(|(role, name)| format!("{role} {name}")).collect();
    let detail = json!({"force": arguments.force, "beside": beside});
    AuditEntry::new("recover", subject, &by, Some(&arguments.reason)).with(&detail).record(&tx).await?;
    tx.commit().await?;
    Ok(restored)
}

/// Looks at the rows of all orders; how often each inconsistency was found.
async fn look(client: &Client) -> Result<BTreeMap<&'static str, u64>, Error> {
    let mut found: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut after = 0;
    loop {
        let nos = consistency::numbers(client, after, PAGE).await?;
        let Some(last) = nos.last() else { return Ok(found) };
        after = *last;
        for facts in consistency::facts(client, &nos).await? {
            for one in judge(&facts) {
                *found.entry(one.kind.as_str()).or_default() += 1;
            }
        }
    }
}

fn tell(
    restored: &Restored,
    findings: &BTreeMap<&'static str, u64>,
    screen: &Screen,
) -> Result<(), CliError> {
    let Restored { sequences, epoch, queues, nodes, stages, ready, notifications } = restored;
    if screen.json {
        return screen.value(&json!({
            "sequences": sequences, "epoch": epoch, "queues": queues, "nodes": nodes, "stages": stages,
            "ready": ready, "notifications": notifications, "findings": findings,
        }));
    }
    let pairs = [
        ("sequences raised", Some(sequences.to_string())),
        ("epoch", Some(epoch.to_string())),
        ("queues raised", Some(queues.to_string())),
        ("lives of nodes ended", Some(nodes.to_string())),
        ("stages handed out again", Some(stages.to_string())),
        ("stages that may run", Some(ready.to_string())),
        ("notifications to be sent", Some(notifications.to_string())),
    ];
    screen.line(&screen.pairs(&pairs))?;
    for (kind, count) in findings {
        screen.line(&format!("found {kind}: {count}"))?;
    }
    screen
        .note("start the services: the activators repair what has only one right repair, and mark the rest");
    Ok(())
}

fn failure(error: Error) -> CliError {
    migrate::failure(error, "the database cannot be recovered")
}
