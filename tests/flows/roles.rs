//! Services with users of their own at the database (QLT-15). All other tests run so too; here stands what only shows without.

use pagurus_harness::env::Env;
use pagurus_harness::nodes::Role;
use tokio_postgres::NoTls;

/// `database.migrate` is on, as it is by default.
#[tokio::test]
async fn qlt_15_a_service_that_may_not_migrate_says_who_may() {
    let env = Env::new("roles_older").await.unwrap();
    let (database, connection) = tokio_postgres::connect(&env.database_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let newest = "DELETE FROM refinery_schema_history WHERE version = (SELECT max(version) FROM refinery_schema_history)";
    assert_eq!(database.execute(newest, &[]).await.unwrap(), 1);
    let refused = env.start(Role::Worker, "worker-1").await.unwrap_err().to_string();
    assert!(
        refused
            .contains("the user pagurus_worker may not change it; run `pagurus migrate` as its owner first"),
        "{refused}"
    );
}

/// Each session is that of the user of its service.
#[tokio::test]
async fn qlt_15_each_service_works_under_its_own_user() {
    let env = Env::new("roles_own").await.unwrap();
    let _nodes = env.start_all().await.unwrap();
    let (database, connection) = tokio_postgres::connect(&env.database_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let users = "SELECT DISTINCT usename::text FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY 1";
    let users: Vec<String> = database.query(users, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let expected = ["activator", "dispatcher", "intake", "notifier", "worker"];
    assert_eq!(users, expected.map(|service| format!("pagurus_{service}")));
}
