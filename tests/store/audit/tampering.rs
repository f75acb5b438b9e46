//! What the owner of the tables can do to them, and what the chain says of it.

use pagurus_domain::audit::chain::ChainFault::{self, Changed, LinksMissing, Moved, PutIn, Removed};

use super::{owner, sealed, verify, written};
use crate::ground::Ground;

/// Puts the tables back as they were.
const BACK: &str = "
    TRUNCATE audit, audit_chain;
    INSERT INTO audit OVERRIDING SYSTEM VALUE SELECT * FROM audit_copy;
    INSERT INTO audit_chain SELECT * FROM chain_copy";

/// Statements on a log with the entries 1 to 7 at the positions 1 to 7, and what is found.
fn cases() -> Vec<(&'static str, ChainFault)> {
    let changed = |no| Changed { no, position: no };
    vec![
        ("UPDATE audit SET subject = 'x' WHERE no = 4", changed(4)),
        ("UPDATE audit SET reason = NULL WHERE no = 5", changed(5)),
        ("UPDATE audit SET name = '' WHERE no = 5", changed(5)),
        ("UPDATE audit SET at = at + interval '1 microsecond' WHERE no = 1", changed(1)),
        ("UPDATE audit SET at = 'infinity' WHERE no = 2", changed(2)),
        ("UPDATE audit SET detail = '{} ' WHERE no = 7", changed(7)),
        ("UPDATE audit SET xid = '18446744073709551615' WHERE no = 3", changed(3)),
        ("DELETE FROM audit WHERE no = 4", Removed { no: 4, position: 4 }),
        ("DELETE FROM audit WHERE no >= 6", Removed { no: 6, position: 6 }),
        ("DELETE FROM audit_chain WHERE position = 4", LinksMissing { from: 4, until: 4 }),
        (
            "DELETE FROM audit_chain WHERE position < 3; DELETE FROM audit WHERE no < 3",
            LinksMissing { from: 1, until: 2 },
        ),
        ("UPDATE audit_chain SET hash = sha256('x') WHERE position = 4", changed(4)),
        (
            "UPDATE audit_chain SET no = -no WHERE position IN (3, 5);
             UPDATE audit_chain SET no = 8 + no WHERE no < 0",
            Moved { no: 3, position: 5 },
        ),
        (
            "UPDATE audit a SET subject = b.subject FROM audit b WHERE (a.no, b.no) IN ((2, 6), (6, 2))",
            changed(2),
        ),
        (
            "INSERT INTO audit (no, xid, action, kind, subject, door, detail) OVERRIDING SYSTEM VALUE
             SELECT 100, xid, 'stop', 'flow', 'put in', 'http', '{}' FROM audit WHERE no = 4",
            PutIn { no: 100 },
        ),
        (
            "INSERT INTO audit (no, xid, action, kind, subject, door, detail) OVERRIDING SYSTEM VALUE
             VALUES (101, '0', 'stop', 'flow', 'put in', 'http', '{}')",
            PutIn { no: 101 },
        ),
    ]
}

#[tokio::test]
async fn qlt_15_whatever_the_owner_of_the_tables_does_to_one_entry_is_found_and_named() {
    let ground = Ground::new("audit_tampering").await;
    written(&ground, &["a", "b", "c", "d", "e", "f", "g"]).await;
    sealed(&ground, 7).await;
    let database = owner(&ground).await;
    let copy = "CREATE TABLE audit_copy AS TABLE audit; CREATE TABLE chain_copy AS TABLE audit_chain";
    database.batch_execute(copy).await.unwrap();
    let mut client = ground.work().await;
    for (statement, fault) in cases() {
        database.batch_execute(statement).await.unwrap();
        let found = verify(&mut client).await;
        // Swapped numbers are found at the first of the two places, by the hash of what stands there.
        let is_found = match &fault {
            Moved { .. } => matches!(found, Err(Changed { position: 3, .. } | Moved { position: 3, .. })),
            fault => found.as_ref().err() == Some(fault),
        };
        assert!(is_found, "{statement}: {found:?}");
        // The sealer makes nothing of it whole again.
        let _ = super::seal(&ground).await;
        assert!(verify(&mut client).await.is_err(), "{statement}: sealed over");
        database.batch_execute(BACK).await.unwrap();
        assert_eq!(verify(&mut client).await.unwrap().len(), 7, "{statement}: not put back");
    }
}

#[tokio::test]
async fn qlt_15_links_of_entries_that_another_hand_removed_go_in_their_time_and_leave_their_number() {
    let ground = Ground::new("audit_missing").await;
    written(&ground, &["a", "b", "c", "d"]).await;
    let database = owner(&ground).await;
    database.batch_execute("UPDATE audit SET at = at - interval '40 days'").await.unwrap();
    sealed(&ground, 4).await;
    database.batch_execute("DELETE FROM audit WHERE no IN (2, 4)").await.unwrap();
    let mut client = ground.work().await;
    assert_eq!(verify(&mut client).await, Err(Removed { no: 2, position: 2 }));
    let forget = pagurus_store::lists::audit::chain::forget(&client, 30 * super::DAY, 100, false).await;
    assert_eq!(forget.unwrap(), 3, "the last link stays: nothing says how old its entry was");
    assert_eq!(verify(&mut client).await, Err(ChainFault::MissingBefore { missing: 1 }));
}
