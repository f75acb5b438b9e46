//! Actions on many orders, carried out by a process that is no intake: what a bulk operation will stand on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pagurus_command::{Commands, LifeAction, Restart, Terms};
use pagurus_domain::id::Role;
use pagurus_domain::order::Status;
use pagurus_domain::order::principal::Principal;
use pagurus_harness::env::Env;
use pagurus_runtime::InProcess;
use pagurus_runtime::config::LiveSettings;
use pagurus_scenario::Library;
use pagurus_store::outside::scenarios;
use pagurus_store::upkeep::migrate;
use pagurus_store::{Client, Options, Store};
use pagurus_wire::problem::Problem;
use tokio_postgres::NoTls;
use tokio_util::sync::CancellationToken;

/// Orders that have failed.
const FAILED: usize = 10_000;
/// The scenario of all of them.
const SCENARIO: &str = "scenario: s
kind: workflow
initialState: a
states:
  a: {actions: [{log: once more}], on: {success: done}}
  done: {kind: terminal}
";
/// Orders of one call of the shared room: the bound of the batch is the caller's.
const BATCH: usize = 500;

/// Checks that an order that is canceled, one that a stranger has locked all the time, and one that does not exist keep no
/// others of their batch from being restarted.
#[tokio::test(flavor = "multi_thread")]
async fn rec_12_an_activator_restarts_ten_thousand_failed_orders_in_batches_and_one_in_the_way_stands_alone()
{
    let env = Env::new("mass").await.unwrap();
    let store = store(&env);
    fill(&store).await;
    // By a session of its own: those of the engine end a transaction that stands still.
    let (mut stranger, connection) = tokio_postgres::connect(&env.database_url(), NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let lock = stranger.transaction().await.unwrap();
    lock.execute("SELECT FROM orders WHERE id = 'o-777' FOR UPDATE", &[]).await.unwrap();

    let outcomes = restart_all(&env).await;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in &outcomes {
        *counts.entry(outcome.clone()).or_default() += 1;
    }
    assert_eq!(counts.get("reopen in life 2"), Some(&(FAILED - 2)), "{counts:?}");
    assert_eq!(outcomes[100], "refused", "canceled by a client");
    assert_eq!(outcomes[777], "unavailable", "locked by a stranger");
    assert_eq!(outcomes[FAILED], "not-found");
    drop(lock);
    drop(stranger);
    connection.await.unwrap().unwrap();

    // Asked for once more under the same key: only the one that was locked is left to do.
    let again = restart_all(&env).await;
    assert_eq!(again[777], "reopen in life 2");
    assert_eq!(again.iter().filter(|outcome| *outcome == "reopen in life 2").count(), FAILED - 1);
    let client = store.work().await.unwrap();
    let expected = i64::try_from(FAILED - 1).unwrap();
    for (what, query) in [
        ("ready", "SELECT count(*) FROM ready WHERE wake = 'start' AND attempt = 1"),
        ("reopened", "SELECT count(*) FROM orders WHERE status = 'reopen' AND life = 2 AND events = 2"),
        (
            "noted by whom",
            "SELECT count(*) FROM history WHERE kind = 'restarted' AND source = 'mass'
                AND detail::jsonb -> 'by' ->> 'door' = 'engine' AND detail::jsonb ->> 'reason' = 'the bank is back'",
        ),
    ] {
        assert_eq!(count(&client, query).await, expected, "{what}");
    }
    assert_eq!(count(&client, "SELECT count(*) FROM failures").await, 0);
}

/// Makes an activator restart all of them; returns the outcome of each.
async fn restart_all(env: &Env) -> Vec<String> {
    let url = env.database_url();
    let variables = [
        ("PAGURUS__DATABASE__URL", url.as_str()),
        ("PAGURUS__BROKER__URL", env.amqp_url()),
        ("PAGURUS__BROKER__PREFIX", env.prefix()),
        ("PAGURUS__NODE__NAME", "mass"),
        ("PAGURUS__NODE__LISTEN", "127.0.0.1:0"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings = LiveSettings::load(None, variables.into_iter()).unwrap();
    let listen = settings.now().node.listen;
    let outcomes = Arc::new(Mutex::new(Vec::new()));
    let stop = CancellationToken::new();
    let (found, done) = (outcomes.clone(), stop.clone());
    let process = InProcess { listen, draining: stop, local: None };
    pagurus_runtime::serve(Role::Activator, settings, process, move |host| {
        let (found, done) = (found.clone(), done.clone());
        async move {
            host.at_work(false).await;
            let by = Principal::node(&host.name);
            let commands = Commands::of(host);
            let key = pagurus_command::request::RequestKey {
                name: "operation-1".to_owned(),
                digest: String::new(),
            };
            let reason = Some("the bank is back");
            let terms = Terms { by: &by, reason, if_status: None, key: Some(&key), dry_run: false };
            let ids: Vec<String> = (0..=FAILED).map(|number| format!("o-{number}")).collect();
            for batch in ids.chunks(BATCH) {
                let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
                let outcomes =
                    commands.act_all(&batch, &LifeAction::Restart(Restart::default()), terms).await;
                found.lock().unwrap().extend(outcomes.into_iter().map(|outcome| match outcome {
                    Ok(acted) => format!("{} in life {}", acted.status, acted.life),
                    Err(Problem { type_, .. }) => type_.rsplit(':').next().unwrap_or_default().to_owned(),
                }));
            }
            done.cancel();
            Ok(())
        }
    })
    .await
    .unwrap();
    let outcomes = outcomes.lock().unwrap();
    outcomes.clone()
}

fn store(env: &Env) -> Store {
    Store::new(&Options { work_connections: 4, ..Options::of(&env.database_url(), "tests") }).unwrap()
}

/// Orders that failed before anything else: `o-100` was given up since.
async fn fill(store: &Store) {
    let mut client = store.work().await.unwrap();
    migrate::run(&mut client).await.unwrap();
    let tx = client.transaction().await.unwrap();
    scenarios::apply(&tx, "s", SCENARIO, &Library::default(), &scenarios::Expected::Anything).await.unwrap();
    tx.commit().await.unwrap();
    let scenario = scenarios::last(&client).await.unwrap().0;
    let (fail, canceled) = (Status::Fail.as_str(), Status::Canceled.as_str());
    let insert = format!(
        "INSERT INTO orders (id, digest, scenario, mode, priority, flow, created_at, status, finished_at)
         SELECT 'o-' || n, 'x', {scenario}, 'parallel', 'normal', 's', now(),
                CASE WHEN n = 100 THEN '{canceled}' ELSE '{fail}' END, now()
           FROM generate_series(0, {}) AS n",
        FAILED - 1
    );
    client.execute(insert.as_str(), &[]).await.unwrap();
    client.execute("INSERT INTO payloads SELECT no, '{}' FROM orders", &[]).await.unwrap();
}

async fn count(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap().get(0)
}
