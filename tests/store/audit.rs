//! The chain of the audit log against a real database: who writes holds up nobody and is never passed over, and what another
//! hand does to the tables is found.

mod tampering;

use std::time::Duration;

use pagurus_domain::audit::AuditKind;
use pagurus_domain::audit::chain::{ChainFault, ChainHead};
use pagurus_domain::id::Incarnation;
use pagurus_domain::order::principal::{Door, Principal};
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::lists::audit::chain::{self, SealOutcome};
use pagurus_store::lists::audit::export;
use pagurus_store::{Client, Tx};

use crate::ground::Ground;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Far more than a session of another test keeps a transaction open.
const PATIENCE: Duration = Duration::from_secs(60);

async fn write(tx: &Tx<'_>, subject: &str) {
    let by = Principal { door: Door::Http, name: None, from: Some("10.0.0.7:41000".to_owned()) };
    AuditEntry::new("stop", (AuditKind::Flow, subject), &by, Some("works")).record(tx).await.unwrap();
}

/// Writes entries, each in a transaction of its own.
async fn written(ground: &Ground, subjects: &[&str]) {
    let mut client = ground.work().await;
    for subject in subjects {
        let tx = client.transaction().await.unwrap();
        write(&tx, subject).await;
        tx.commit().await.unwrap();
    }
}

async fn seal(ground: &Ground) -> Option<SealOutcome> {
    chain::seal(&mut ground.work().await, 100).await.unwrap()
}

/// Seals until the chain has this number of links: transactions of other tests on the same server may be open.
async fn sealed(ground: &Ground, links: i64) -> ChainHead {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let head = seal(ground).await.map(|outcome| outcome.head);
        match head {
            Some(head) if head.position >= links => return head,
            _ => assert!(tokio::time::Instant::now() < end, "not sealed: {head:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Follows the whole chain, page by page, as the command line does; the subjects in its order.
async fn verify(client: &mut Client) -> Result<Vec<String>, ChainFault> {
    let mut subjects = Vec::new();
    let mut page = chain::page(client, None, 3).await.unwrap();
    let mut head = page.anchor.head().unwrap();
    if page.forgotten < page.anchor.position {
        return Err(ChainFault::MissingBefore { missing: page.anchor.position - page.forgotten });
    }
    loop {
        for view in &page.links {
            head.follow(&view.link().unwrap(), view.chained().as_ref())?;
            subjects.extend(view.entry.as_ref().map(|entry| entry.subject.clone()));
        }
        if let Some(no) = page.put_in.first() {
            return Err(ChainFault::PutIn { no: *no });
        }
        let Some(next) = page.next else { break };
        page = chain::page(client, Some(next), 3).await.unwrap();
    }
    assert_eq!(page.head.head().unwrap(), head);
    Ok(subjects)
}

/// A session that does what services never do.
async fn owner(ground: &Ground) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(&ground.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let off = "ALTER TABLE audit DISABLE TRIGGER USER; ALTER TABLE audit_chain DISABLE TRIGGER USER";
    client.batch_execute(off).await.unwrap();
    client
}

#[tokio::test]
async fn qlt_15_transactions_that_overlap_are_sealed_in_one_order_and_none_is_passed_over() {
    let ground = Ground::new("audit_overlap").await;
    let mut first = ground.work().await;
    let long = first.transaction().await.unwrap();
    write(&long, "long-1").await;
    // These commit while it is open; a third one takes its number back.
    written(&ground, &["a", "b"]).await;
    let mut third = ground.work().await;
    let undone = third.transaction().await.unwrap();
    write(&undone, "undone").await;
    undone.rollback().await.unwrap();
    for _ in 0..3 {
        let outcome = seal(&ground).await.unwrap();
        assert_eq!(
            (outcome.sealed, outcome.head.position),
            (0, 0),
            "nothing may come to stand before what is sealed"
        );
        assert!(outcome.waits.is_some());
    }
    write(&long, "long-2").await;
    long.commit().await.unwrap();
    sealed(&ground, 4).await;
    written(&ground, &["c"]).await;
    let head = sealed(&ground, 5).await;
    let mut client = ground.work().await;
    assert_eq!(verify(&mut client).await.unwrap(), ["long-1", "long-2", "a", "b", "c"]);
    let again = seal(&ground).await.unwrap();
    assert_eq!((again.sealed, again.head, again.waits), (0, head, None), "to seal again changes nothing");
}

#[tokio::test]
async fn qlt_15_sealers_and_writers_at_once_make_one_chain_of_all() {
    let ground = Ground::new("audit_race").await;
    let writer = async |name: &'static str| {
        for _ in 0..20 {
            written(&ground, &[name, name]).await;
        }
    };
    let sealer = async || {
        for _ in 0..20 {
            // A position that two would give is refused by the key; the lock makes that rare, and a turn is skipped.
            let _ = chain::seal(&mut ground.work().await, 7).await.unwrap();
        }
    };
    tokio::join!(writer("a"), writer("b"), sealer(), sealer(), sealer());
    sealed(&ground, 80).await;
    let subjects = verify(&mut ground.work().await).await.unwrap();
    assert_eq!(subjects.len(), 80);
    assert_eq!(subjects.iter().filter(|subject| *subject == "a").count(), 40);
}

#[tokio::test]
async fn qlt_15_a_sealer_that_dies_before_its_commit_leaves_nothing_and_the_next_one_does_the_same() {
    let ground = Ground::new("audit_death").await;
    written(&ground, &["a", "b", "c"]).await;
    // The death of the session in the middle: its links are there, and are taken back.
    let database = owner(&ground).await;
    let half = "BEGIN; INSERT INTO audit_chain SELECT 1, no, 0, xid, sha256('x') FROM audit WHERE subject = 'a'; ROLLBACK";
    database.batch_execute(half).await.unwrap();
    let head = sealed(&ground, 3).await;
    assert_eq!(head.position, 3);
    assert_eq!(verify(&mut ground.work().await).await.unwrap(), ["a", "b", "c"]);
}

#[tokio::test]
async fn qlt_15_entries_of_another_server_are_sealed_before_those_of_a_new_one_that_counts_from_the_beginning()
 {
    let ground = Ground::new("audit_series").await;
    // Entries from before the chain have no transaction; those of a dump may have one that is yet to come here.
    let old = "INSERT INTO audit (xid, action, kind, subject, door, detail)
        VALUES ('0', 'stop', 'flow', 'old', 'http', '{}'), ('900000000000', 'stop', 'flow', 'dumped', 'http', '{}')";
    ground.work().await.batch_execute(old).await.unwrap();
    sealed(&ground, 2).await;
    written(&ground, &["new"]).await;
    sealed(&ground, 3).await;
    let mut client = ground.work().await;
    assert_eq!(verify(&mut client).await.unwrap(), ["old", "dumped", "new"]);
    let page = chain::page(&mut client, Some(2), 3).await.unwrap();
    assert_eq!(page.links[0].series, 1, "{page:?}");
}

#[tokio::test]
async fn qlt_15_retention_leaves_a_chain_that_holds_and_says_where_it_was_cut() {
    let ground = Ground::new("audit_forget").await;
    let age = "UPDATE audit SET at = at - interval '40 days' WHERE subject LIKE 'old%'";
    written(&ground, &["old-1", "old-2", "young-1", "old-3", "young-2"]).await;
    let database = owner(&ground).await;
    database.batch_execute(age).await.unwrap();
    database.batch_execute("ALTER TABLE audit ENABLE TRIGGER USER").await.unwrap();
    sealed(&ground, 5).await;
    let mut client = ground.work().await;
    assert_eq!(chain::forget(&client, 30 * DAY, 1, false).await.unwrap(), 1, "one at a time");
    assert_eq!(
        chain::forget(&client, 30 * DAY, 100, false).await.unwrap(),
        1,
        "what stands behind a young one stays"
    );
    assert_eq!(chain::forget(&client, 30 * DAY, 100, false).await.unwrap(), 0);
    let page = chain::page(&mut client, None, 3).await.unwrap();
    assert_eq!((page.anchor.position, page.forgotten, page.forgotten_at.is_some()), (2, 2, true));
    assert_eq!(verify(&mut client).await.unwrap(), ["young-1", "old-3", "young-2"]);
    assert!(chain::forget(&client, 29 * DAY, 100, false).await.is_err(), "younger than the floor");
    for refused in [
        "DELETE FROM audit",
        "UPDATE audit SET reason = 'x'",
        "TRUNCATE audit",
        "SELECT audit_forget(NULL, 10)",
        "SELECT audit_forget('29 days 23:59:59', 10)",
    ] {
        let error = database.batch_execute(refused).await.unwrap_err();
        assert!(error.as_db_error().is_some(), "{refused}: {error}");
    }
}

#[tokio::test]
async fn qlt_15_retention_keeps_what_a_receiver_does_not_have_yet() {
    let ground = Ground::new("audit_unsent").await;
    written(&ground, &["a", "b", "c"]).await;
    owner(&ground).await.batch_execute("UPDATE audit SET at = at - interval '40 days'").await.unwrap();
    sealed(&ground, 3).await;
    let client = ground.work().await;
    let (one, other) = (ground.node, Incarnation(ground.node.0 + 1));
    assert_eq!(chain::forget(&client, 30 * DAY, 100, true).await.unwrap(), 0);
    assert_eq!(export::hold(&client, one, DAY).await.unwrap(), Some(0));
    assert_eq!(export::hold(&client, other, DAY).await.unwrap(), None, "one sends");
    assert!(export::come_to(&client, one, 2, Duration::ZERO).await.unwrap());
    assert!(!export::come_to(&client, one, 3, DAY).await.unwrap(), "its time was over");
    assert_eq!(chain::forget(&client, 30 * DAY, 100, true).await.unwrap(), 2);
    assert_eq!(export::hold(&client, other, DAY).await.unwrap(), Some(2));
    assert!(!export::come_to(&client, one, 3, DAY).await.unwrap(), "another one sends now");
    // Where nobody is sent to, it removes all, and who is sent to later goes on behind that.
    assert_eq!(chain::forget(&client, 30 * DAY, 100, false).await.unwrap(), 1);
    assert_eq!(export::hold(&client, other, DAY).await.unwrap(), Some(3));
}
