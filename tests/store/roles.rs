//! Roles of the database (QLT-9, QLT-15): each service may do what its statements need, and nothing else; one file says so.
//! Never starts a service: those of all other tests run under these roles.

mod grants;
mod needs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use pagurus_harness::env::{Env, with_user};
use pagurus_store::upkeep::{migrate, roles};
use pagurus_store::{Options, Store, statements};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use grants::{Needs, SERVICES, covers};
use needs::Reader;

/// A migrated database whose roles are applied.
async fn with_roles(test: &str) -> Env {
    let env = Env::empty(test).await.unwrap();
    let store = Store::new(&Options::of(&env.database_url(), "tests")).unwrap();
    let mut client = store.operations().await.unwrap();
    migrate::run(&mut client).await.unwrap();
    roles::apply(&mut client, &roles::RolePrefix::default()).await.unwrap();
    env
}

async fn connect(env: &Env, user: &str) -> Client {
    let url = with_user(&env.database_url(), user);
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Outcome of a statement: true where it was done, false where a right is missing.
async fn permits(client: &Client, sql: &str) -> bool {
    match client.batch_execute(sql).await {
        Ok(()) => true,
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => false,
        Err(error) => panic!("{sql}: {error:?}"),
    }
}

#[tokio::test]
async fn qlt_15_the_roles_are_made_from_the_statements() {
    assert_eq!(statements::strange_names(), Vec::<&str>::new(), "no statements of these names");
    let env = Env::empty("roles_file").await.unwrap();
    let store = Store::new(&Options::of(&env.database_url(), "tests")).unwrap();
    migrate::run(&mut store.operations().await.unwrap()).await.unwrap();
    let mut reader = Reader::connect(&env.database_url()).await;
    let needs = Needs::read(&mut reader).await;
    let file = grants::file(&needs, &reader);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../migrations/roles.sql");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &file).unwrap();
    }
    let is_current = std::fs::read_to_string(&path).unwrap() == file;
    assert!(
        is_current,
        "migrations/roles.sql is stale: run `UPDATE_GENERATED=1 ./dev test -E 'test(/qlt_15_the_roles_are_made/)'`"
    );
}

#[tokio::test]
async fn qlt_15_each_statement_is_permitted_to_its_services_and_refused_to_others() {
    let env = with_roles("roles_each").await;
    let mut reader = Reader::connect(&env.database_url()).await;
    let needs = Needs::read(&mut reader).await;
    let (mut wrong, mut refused, mut harmless) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for service in SERVICES.map(|service| service.as_str()) {
        let client = connect(&env, &format!("pagurus_{service}")).await;
        client.batch_execute("SET plan_cache_mode = force_generic_plan").await.unwrap();
        for (statement, services) in statements::with_services() {
            let is_own = services.iter().any(|one| one.as_str() == service);
            let of_statement = &needs.of_statements[statement.name];
            let is_covered = of_statement.iter().all(|need| covers(&needs.of_services[service], need));
            let is_permitted = permits(&client, &tried(&client, statement.sql).await).await;
            if is_permitted != is_covered || is_own && !is_permitted {
                wrong.push(format!("{service}: {}: permitted: {is_permitted}", statement.name));
            }
            if !is_own {
                *if is_permitted { &mut harmless } else { &mut refused }.entry(service).or_insert(0) += 1;
            }
        }
    }
    println!("statements of others that are refused: {refused:?}; that need nothing more: {harmless:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(refused.values().sum::<i32>() > 1000, "{refused:?}");
    assert!(SERVICES.iter().all(|service| refused[service.as_str()] > 50), "{refused:?}");
}

/// Statements that let the server check the rights of one, and do nothing.
async fn tried(client: &Client, sql: &str) -> String {
    let count = client.prepare(sql).await.unwrap().params().len();
    let values = vec!["NULL"; count].join(", ");
    let values = if values.is_empty() { values } else { format!("({values})") };
    format!("DEALLOCATE ALL; PREPARE tried AS {sql}; EXPLAIN EXECUTE tried{values}")
}

#[tokio::test]
async fn qlt_15_no_service_alters_the_audit_log() {
    let env = with_roles("roles_audit").await;
    for service in SERVICES.map(|service| service.as_str()) {
        let client = connect(&env, &format!("pagurus_{service}")).await;
        for sql in ["UPDATE audit SET subject = ''", "TRUNCATE audit", "SELECT setval('audit_no_seq', 1)"] {
            assert!(!permits(&client, sql).await, "{service}: {sql}");
        }
        assert!(!permits(&client, "DELETE FROM audit WHERE no = 0").await, "{service}");
    }
}

#[tokio::test]
async fn qlt_9_only_the_owner_changes_the_schema() {
    let env = with_roles("roles_schema").await;
    let changes = [
        "CREATE TABLE mine (a integer)",
        "CREATE TEMPORARY TABLE mine_for_now (a integer)",
        "CREATE SCHEMA mine",
        "CREATE FUNCTION public.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE orders ADD COLUMN mine integer",
        "CREATE INDEX mine_of_orders ON orders (mine)",
        "ALTER TABLE orders DISABLE TRIGGER orders_failures",
        "ALTER TABLE audit OWNER TO CURRENT_USER",
        "DROP TABLE searches",
    ];
    for service in SERVICES.map(|service| service.as_str()).into_iter().chain(["engine"]) {
        let client = connect(&env, &format!("pagurus_{service}")).await;
        for sql in changes {
            // The column is not there yet: what is asked first is whether the table is theirs.
            assert!(!permits(&client, &sql.replace("(mine)", "(no)")).await, "{service}: {sql}");
        }
        assert!(!permits(&client, "SET ROLE pagurus_owner").await, "{service}");
    }
    let owner = connect(&env, "pagurus_owner").await;
    for sql in changes.into_iter().filter(|sql| !sql.contains("TEMPORARY") && !sql.contains("SCHEMA")) {
        assert!(permits(&owner, sql).await, "{sql}");
    }
}

#[tokio::test]
async fn qlt_15_roles_may_be_applied_again_and_to_a_database_that_has_another_owner() {
    let env = Env::empty("roles_again").await.unwrap();
    let superuser = connect(&env, "pagurus").await;
    let (former, database) = (format!("{}_former", env.prefix()), env.prefix());
    let make = format!("CREATE ROLE {former} LOGIN; ALTER DATABASE {database} OWNER TO {former}");
    superuser.batch_execute(&make).await.unwrap();
    let as_former = Store::new(&Options::of(&with_user(&env.database_url(), &former), "tests")).unwrap();
    migrate::run(&mut as_former.operations().await.unwrap()).await.unwrap();

    let store = Store::new(&Options::of(&env.database_url(), "tests")).unwrap();
    for _ in 0..2 {
        let mut client = store.operations().await.unwrap();
        roles::apply(&mut client, &roles::RolePrefix::default()).await.unwrap();
    }
    let owners = "SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    let owners: Vec<String> =
        superuser.query(owners, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(owners, ["pagurus_owner"]);
    // The user of all services before goes on, and migrates too.
    let client = as_former.operations().await.unwrap();
    client.batch_execute("DELETE FROM orders; INSERT INTO searches VALUES ('a', '', '')").await.unwrap();
    drop(client);
    assert!(migrate::run(&mut as_former.operations().await.unwrap()).await.unwrap().is_empty());

    // A right that was given by hand is taken away, and one that was taken away comes back.
    let by_hand = "GRANT DELETE ON orders TO pagurus_worker; REVOKE ALL ON ready FROM pagurus_worker";
    superuser.batch_execute(by_hand).await.unwrap();
    roles::apply(&mut store.operations().await.unwrap(), &roles::RolePrefix::default()).await.unwrap();
    let worker = connect(&env, "pagurus_worker").await;
    assert!(!permits(&worker, "DELETE FROM orders").await);
    assert!(permits(&worker, "SELECT order_no FROM ready").await);
    let gone = format!("REASSIGN OWNED BY {former} TO pagurus; DROP OWNED BY {former}; DROP ROLE {former}");
    drop(as_former);
    superuser.batch_execute(&gone).await.unwrap();
}

#[tokio::test]
async fn qlt_15_a_migration_belongs_to_the_owner_and_adds_what_services_need() {
    let env = with_roles("roles_migrate").await;
    let superuser = connect(&env, "pagurus").await;
    // As if the last migration had not been run, and had brought what a service of this version needs.
    let undo = "DROP TABLE forecasts;
                DELETE FROM refinery_schema_history WHERE version = 19; REVOKE ALL ON ready FROM pagurus_worker;
                GRANT DELETE ON orders TO pagurus_worker";
    superuser.batch_execute(undo).await.unwrap();
    let worker =
        Store::new(&Options::of(&with_user(&env.database_url(), "pagurus_worker"), "tests")).unwrap();
    let refused = migrate::run(&mut worker.operations().await.unwrap()).await.unwrap_err();
    assert!(!refused.is_transient() && refused.to_string().contains("`pagurus migrate`"), "{refused}");
    let owner = Store::new(&Options::of(&with_user(&env.database_url(), "pagurus_owner"), "tests")).unwrap();
    assert_eq!(migrate::run(&mut owner.operations().await.unwrap()).await.unwrap().len(), 1);
    // There is nothing to be done any more, and so nothing to be refused.
    assert!(migrate::run(&mut worker.operations().await.unwrap()).await.unwrap().is_empty());
    let worker = connect(&env, "pagurus_worker").await;
    assert!(permits(&worker, "SELECT order_no FROM ready").await);
    // The services of the version before may still run: nothing is taken away.
    assert!(permits(&worker, "DELETE FROM orders").await);
}
