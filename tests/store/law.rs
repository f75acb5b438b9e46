//! The law of an order's life, held against the database: every status, every cause, and the table as the judge.
//! Never repeats the table: what is expected is asked of `transition::next`.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::id::{Attempt, OrderNo, Pass};
use pagurus_domain::order::transition::{self, Cause};
use pagurus_domain::order::{Priority, ScenarioStatus, Status};
use pagurus_store::hot::control;
use pagurus_store::outside::amend::{
    self, ChangedParams, Postponement, Reopening, Repairing, Starts, Updating,
};
use pagurus_store::outside::ends::{self, Ending};
use pagurus_store::outside::orders;
use pagurus_store::recovery::lost;
use serde_json::{Value, json};

use crate::ground::{
    FIRST_EPOCH, Ground, fail, finished, in_an_hour, no_pass, poll, retry, sleep, success, wait_for,
};

/// An order of which it is known where it stands.
struct Subject {
    no: OrderNo,
    id: String,
    /// The last pass that was given out for it.
    pass: Pass,
}

#[tokio::test]
async fn ord_21_rec_1_every_guarded_operation_does_what_the_law_says_and_nothing_else() {
    let ground = Ground::new("law").await;
    for status in Status::ALL {
        for cause in Cause::ALL {
            check(&ground, *status, *cause).await;
        }
    }
}

async fn check(ground: &Ground, status: Status, cause: Cause) {
    let case = format!("{cause} in {status}");
    let subject = put(ground, status, &format!("{status}-{cause}")).await;
    assert_eq!(seen(ground, &subject).await, status, "{case}: before");
    check_places(ground, &subject, status, &case).await;
    let before = rows(ground, subject.no).await;
    let done = attempt(ground, &subject, cause).await;
    match transition::next(status, cause) {
        Ok(to) => {
            assert!(done, "{case}: refused");
            assert_eq!(seen(ground, &subject).await, to, "{case}: after");
            check_places(ground, &subject, to, &case).await;
        }
        Err(_) => {
            assert!(!done, "{case}: done");
            assert_eq!(rows(ground, subject.no).await, before, "{case}: refused, yet something changed");
        }
    }
    // Whatever is left must not be in the way of the next one.
    if let Some(order) = lock_and(ground, &subject, Cause::ProcessTimedOut).await {
        assert!(order, "{case}: cleaning up");
    }
}

/// Brings a fresh order into a status by the ways of the engine.
async fn put(ground: &Ground, status: Status, id: &str) -> Subject {
    let mut body = json!({"mode": "sequential", "queue": format!("q-{id}")});
    if status == Status::Postponed {
        body["lifecycle"] = json!({"startAt": in_an_hour().to_string()});
    }
    let no = ground.order(id, &body).await;
    let mut subject = Subject { no, id: id.to_owned(), pass: no_pass() };
    match status {
        Status::New | Status::Postponed => return subject,
        Status::Interrupted => {
            assert_eq!(lock_and(ground, &subject, Cause::Interrupted).await, Some(true));
            return subject;
        }
        Status::Canceled => {
            assert_eq!(lock_and(ground, &subject, Cause::Canceled).await, Some(true));
            return subject;
        }
        _ => {}
    }
    let claimed = ground.claim(no).await;
    subject.pass = claimed.pass;
    let then = match status {
        Status::Sleep => sleep(),
        Status::Wait => wait_for(&[ground.request(&claimed, 1).await.unwrap()]),
        Status::Retry => retry(),
        Status::Polling => poll(),
        Status::Success | Status::Reopen => success(),
        Status::Fail => fail(),
        _ => return subject,
    };
    ground.finish(&claimed, then).await;
    if status == Status::Reopen {
        assert!(reopen(ground, &subject).await);
    }
    subject
}

/// Does what the cause stands for; returns if it was done.
async fn attempt(ground: &Ground, subject: &Subject, cause: Cause) -> bool {
    match cause {
        Cause::Claimed => wake_and_claim(ground, subject).await,
        Cause::Slept => end_stage(ground, subject, sleep()).await,
        Cause::Waited => end_stage(ground, subject, wait_for(&[])).await,
        Cause::Polled => end_stage(ground, subject, poll()).await,
        Cause::Retried => end_stage(ground, subject, retry()).await,
        Cause::Succeeded => end_stage(ground, subject, success()).await,
        Cause::Failed => end_stage(ground, subject, fail()).await,
        Cause::Reissued => reissue(ground, subject).await,
        Cause::Restarted | Cause::RestartPostponed | Cause::Rerun => reopen_as(ground, subject, cause).await,
        Cause::Repaired => repair(ground, subject).await,
        Cause::Updated | Cause::Deferred => update(ground, subject, cause).await,
        Cause::Poisoned
        | Cause::StartDeadlinePassed
        | Cause::ProcessTimedOut
        | Cause::Expired
        | Cause::Canceled
        | Cause::Interrupted
        | Cause::Killed
        | Cause::Abandoned
        | Cause::DependencyFailed => lock_and(ground, subject, cause).await == Some(true),
    }
}

async fn wake_and_claim(ground: &Ground, subject: &Subject) -> bool {
    let no = subject.no;
    let is_due = ground
        .sql(&format!("UPDATE due SET due_at = now() - interval '1 second' WHERE order_no = {no}"))
        .await;
    if is_due == 1 {
        assert!(ground.ready_attempt(no).await.is_none(), "not before it is woken");
        let mut woken = Vec::new();
        for stream in Stream::ALL {
            woken.extend(ground.wake(*stream).await);
        }
        assert_eq!(woken, [no]);
    }
    // Numbers that are not the one of the row must not do either.
    let attempt = ground.ready_attempt(no).await.unwrap_or(Attempt::FIRST);
    let (wrong, _) = ground.claim_under(FIRST_EPOCH, &[(no, attempt.next()), (no, attempt.previous())]).await;
    assert!(wrong.is_empty(), "claimed under another number");
    let (claimed, _) = ground.claim_under(FIRST_EPOCH, &[(no, attempt)]).await;
    claimed.len() == 1
}

async fn end_stage(ground: &Ground, subject: &Subject, then: pagurus_domain::order::stage::Then) -> bool {
    let view = orders::view(&ground.work().await, &subject.id).await.unwrap().unwrap();
    let end = pagurus_store::hot::stages::Finished {
        no: subject.no,
        pass: subject.pass,
        life: view.life,
        attempt: view.attempt,
        queue: view.queue.clone(),
        ..blank_end(then)
    };
    let stale = ground.finish_under(subject.no, no_pass(), &end).await;
    assert!(stale.is_none(), "ended under a pass that nobody was given");
    ground.finish_under(subject.no, subject.pass, &end).await.is_some()
}

fn blank_end(then: pagurus_domain::order::stage::Then) -> pagurus_store::hot::stages::Finished {
    let head = pagurus_domain::order::OrderHead {
        no: OrderNo(0),
        id: String::new(),
        scenario: pagurus_domain::id::ScenarioNo(0),
        mode: pagurus_domain::order::Mode::Parallel,
        transaction_id: None,
        notify: None,
        answers: None,
        labels: pagurus_domain::order::labels::Labels::default(),
        trace: None,
        life: pagurus_domain::id::Life::FIRST,
        created_at: Timestamp::now(),
        started_at: None,
        stages: 0,
        retries: 0,
    };
    let claimed = pagurus_store::hot::stages::Claimed {
        is_suspect: false,
        head,
        pass: no_pass(),
        attempt: Attempt::FIRST,
        wake: pagurus_domain::order::stage::Wake::Start,
        restarts: 0,
        since: Timestamp::now(),
        queue: None,
        queue_name: None,
        start_deadline: None,
        params: None,
        params_bytes: None,
        snapshot: None,
        now: Timestamp::now(),
        flow: String::new(),
        status: Status::New,
    };
    finished(&claimed, then)
}

async fn reissue(ground: &Ground, subject: &Subject) -> bool {
    let no = subject.no;
    ground
        .sql(&format!("UPDATE running SET deadline_at = now() - interval '1 second' WHERE order_no = {no}"))
        .await;
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let stuck = lost::overdue(&tx, Timestamp::UNIX_EPOCH, 10).await.unwrap();
    let again: Vec<_> = stuck.iter().map(|stage| (stage, stage.restarts + 1)).collect();
    let ready = lost::reissue(&tx, &again, "test", "overdue").await.unwrap();
    tx.commit().await.unwrap();
    if ready.is_empty() {
        return false;
    }
    assert_eq!(ready.iter().map(|stage| stage.no).collect::<Vec<_>>(), [no]);
    let late = ground.finish_under(no, subject.pass, &blank_end(success())).await;
    assert!(late.is_none(), "the pass of the former hand-out still holds");
    true
}

async fn reopen(ground: &Ground, subject: &Subject) -> bool {
    reopen_as(ground, subject, Cause::Restarted).await
}

async fn reopen_as(ground: &Ground, subject: &Subject, cause: Cause) -> bool {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let order = control::lock(&tx, &subject.id).await.unwrap().unwrap();
    let Ok(allowed) = order.may(cause) else { return false };
    let new = Reopening {
        snapshot: None,
        entry_point: None,
        scenario: None,
        postponed: (cause == Cause::RestartPostponed).then_some(Postponement::ForOthers),
        params: None,
        start_deadline: None,
        process_timeout: None,
        source: "test",
        detail: "{}".to_owned(),
    };
    amend::reopen_all(&tx, &[(allowed, new)]).await.unwrap();
    tx.commit().await.unwrap();
    true
}

/// Lets an order go on from another state: in a new life if it has failed, else in this one.
async fn repair(ground: &Ground, subject: &Subject) -> bool {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let order = control::lock(&tx, &subject.id).await.unwrap().unwrap();
    let Ok(allowed) = order.may(Cause::Repaired) else { return false };
    if order.status.is_final() {
        drop(tx);
        drop(client);
        return reopen_as(ground, subject, Cause::Repaired).await;
    }
    let new = Repairing {
        snapshot: "{}".to_owned(),
        scenario: None,
        scenario_status: ScenarioStatus::OnTarget,
        step: "a",
        visited: 2,
        distance: Some(1),
        source: "test",
        detail: "{}".to_owned(),
    };
    amend::repair(&tx, allowed, &new).await.unwrap();
    tx.commit().await.unwrap();
    true
}

/// Changes an order, or moves its start.
async fn update(ground: &Ground, subject: &Subject, cause: Cause) -> bool {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let order = control::lock(&tx, &subject.id).await.unwrap().unwrap();
    let Ok(allowed) = order.may(cause) else { return false };
    let new = Updating {
        snapshot: None,
        params: Some(ChangedParams { text: "{}".to_owned(), attributes: Vec::new() }),
        priority: Priority::High,
        start_at: order.start_at,
        notify: None,
        starts: if cause == Cause::Deferred {
            Starts::At(in_an_hour(), Stream::Postponed)
        } else {
            Starts::AsBefore
        },
        source: "test",
        detail: "{}".to_owned(),
    };
    amend::update(&tx, allowed, &new).await.unwrap();
    tx.commit().await.unwrap();
    true
}

/// Ends an order as clients and recovery do: under a lock, where the law lets it. `None` where it has ended before.
async fn lock_and(ground: &Ground, subject: &Subject, cause: Cause) -> Option<bool> {
    let mut client = ground.work().await;
    let tx = client.transaction().await.unwrap();
    let order = control::lock(&tx, &subject.id).await.unwrap().unwrap();
    let Ok(allowed) = order.may(cause) else {
        return if order.status.is_final() { None } else { Some(false) };
    };
    let ending = Ending { error: None, step: None, source: "test", detail: "{}".to_owned() };
    ends::end_lives(&tx, &[(allowed, ending)]).await.unwrap();
    tx.commit().await.unwrap();
    let late = ground.finish_under(subject.no, subject.pass, &blank_end(success())).await;
    assert!(late.is_none(), "a stage can still be ended after {cause}");
    Some(true)
}

/// The status that outsiders see; all that read it must agree.
async fn seen(ground: &Ground, subject: &Subject) -> Status {
    let mut client = ground.work().await;
    let view = orders::view(&client, &subject.id).await.unwrap().unwrap();
    let (status, life) = orders::status(&client, &subject.id).await.unwrap().unwrap();
    let tx = client.transaction().await.unwrap();
    let locked = control::lock(&tx, &subject.id).await.unwrap().unwrap();
    assert_eq!([view.status, status], [locked.status; 2]);
    assert_eq!([view.life, life], [locked.head.life; 2]);
    locked.status
}

/// An order that is not final stands in exactly one place, a final one in none; the queue is held by those that run
/// or are about to.
async fn check_places(ground: &Ground, subject: &Subject, status: Status, case: &str) {
    let no = subject.no;
    let mut found = Vec::new();
    for table in ["ready", "running", "due", "queued"] {
        let rows = ground.count(&format!("SELECT count(*) FROM {table} WHERE order_no = {no}")).await;
        found.push((table, rows));
    }
    let places: i64 = found.iter().take(3).map(|(_, rows)| rows).sum();
    assert_eq!(places, i64::from(!status.is_final()), "{case}: {found:?}");
    let keeps = !status.is_final() && !matches!(status, Status::Postponed | Status::Sleep);
    assert_eq!(found[3].1, i64::from(keeps), "{case}: {found:?}");
    let open = format!("SELECT count(*) FROM requests WHERE order_no = {no} AND status = 'open'");
    let open = ground.count(&open).await;
    assert!(!status.is_final() || open == 0, "{case}: an ended order still asks");
    let gaps = format!(
        "SELECT (o.events - 1 - coalesce(sum(CASE h.kind WHEN 'stage' THEN 2 ELSE 1 END) FILTER (WHERE h.kind IS NOT NULL), 0))::bigint
           FROM orders o LEFT JOIN history h ON h.order_no = o.no WHERE o.no = {no} GROUP BY o.events"
    );
    assert_eq!(ground.count(&gaps).await, 0, "{case}: events are numbered without gaps");
}

/// Reads every row that belongs to an order.
async fn rows(ground: &Ground, no: OrderNo) -> Vec<Value> {
    let tables = [
        ("orders", "no"),
        ("payloads", "order_no"),
        ("contexts", "order_no"),
        ("ready", "order_no"),
        ("running", "order_no"),
        ("due", "order_no"),
        ("queued", "order_no"),
        ("requests", "order_no"),
        ("history", "order_no"),
        ("outbox", "order_no"),
        ("dependencies", "order_no"),
    ];
    let client = ground.work().await;
    let mut all = Vec::new();
    for (table, key) in tables {
        // What the tests themselves set back to make it due does not count.
        let query = format!(
            "SELECT (to_jsonb(t) - 'due_at' - 'deadline_at')::text FROM {table} t WHERE {key} = $1 ORDER BY 1"
        );
        for row in client.query(&query, &[&no.0]).await.unwrap() {
            all.push(json!({table: row.get::<_, &str>(0)}));
        }
    }
    all
}
