//! Repairs of the consistency check: each the one right remedy of a finding, in a transaction that has locked the
//! order and its places and judged them under the lock.

use jiff::Timestamp;
use pagurus_domain::activation::Stream;
use pagurus_domain::consistency::{ConsistencyRepair, PlaceName};
use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::order::change::Waking;

use crate::hot::calls;
use crate::hot::calls::Resting;
use crate::hot::dependencies;
use crate::hot::due;
use crate::hot::place;
use crate::hot::queues;
use crate::hot::ready::{ReadyStage, read_ready};
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    SUSPEND = "
        INSERT INTO due (order_no, stream, due_at) VALUES ($1, $2, $3)
        ON CONFLICT (order_no) DO UPDATE SET stream = excluded.stream, due_at = excluded.due_at";
    DROP_RUNNING = "DELETE FROM running WHERE order_no = $1";
    DROP_READY = "DELETE FROM ready WHERE order_no = $1";
    DROP_DUE = "DELETE FROM due WHERE order_no = $1";
    DROP_DEADLINES = "DELETE FROM deadlines WHERE order_no = $1";
    DROP_PARAMS = "DELETE FROM payloads WHERE order_no = $1";
    DROP_CONTEXT = "DELETE FROM contexts WHERE order_no = $1";
    // Another number, so that no hand-out under the former place is claimed.
    FOLLOW_QUEUE = "
        UPDATE ready r SET queue = q.queue, position = q.position, attempt = r.attempt + 1, pass = gen_random_uuid()
          FROM queued q WHERE r.order_no = $1 AND q.order_no = r.order_no
        RETURNING r.order_no, r.attempt, r.flow, r.priority, r.queue, r.position, r.woken";
    REJOIN = "
        INSERT INTO queued (order_no, queue, position)
        SELECT order_no, queue, position FROM ready WHERE order_no = $1 AND queue IS NOT NULL";
    // Who runs stands before all others.
    REJOIN_AS_HEAD = "
        INSERT INTO queued (order_no, queue, position, held_since)
        SELECT w.order_no, w.queue,
               coalesce((SELECT min(q.position) - 1 FROM queued q WHERE q.queue = ANY(ARRAY[w.queue])),
                        (SELECT u.last_position FROM queues u WHERE u.name = ANY(ARRAY[w.queue])),
                        floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint),
               w.started_at
          FROM (SELECT order_no, queue, started_at FROM running WHERE order_no = $1 OFFSET 0) AS w
         WHERE w.queue IS NOT NULL";
    RAISE_QUEUE = "
        INSERT INTO queues AS u (name, last_position, taken)
        SELECT queue, position, 0 FROM queued WHERE order_no = $1
        ON CONFLICT (name) DO UPDATE
           SET last_position = greatest(u.last_position, excluded.last_position), head = least(u.head, excluded.last_position)";
    RENUMBER = "
        UPDATE ready r SET attempt = o.attempt + 1, pass = gen_random_uuid()
          FROM orders o WHERE r.order_no = $1 AND o.no = r.order_no
        RETURNING r.order_no, r.attempt, r.flow, r.priority, r.queue, r.position, r.woken";
    DROP_FAILURE = "DELETE FROM failures WHERE order_no = $1";
    WRITE_FAILURE = "
        INSERT INTO failures (order_no, at, scenario, class, step, system, state)
        SELECT no, finished_at, scenario, error_class, step, error_system, error_state FROM orders WHERE no = $1 AND status = 'fail'";
    WATCH_START = "
        INSERT INTO deadlines (order_no, kind, at)
        SELECT no, 'start', start_deadline FROM orders WHERE no = $1 AND start_deadline IS NOT NULL
        ON CONFLICT (order_no, kind) DO NOTHING";
}

/// Consequences of a repair, to be sent below the commit.
#[derive(Clone, Debug, Default)]
pub struct Mended {
    /// Stages that may run.
    pub ready: Vec<ReadyStage>,
    /// A timer that was set.
    pub timer: Option<(Stream, Timestamp)>,
}

impl Mended {
    fn of(ready: Vec<ReadyStage>) -> Self {
        Self { ready, timer: None }
    }
}

/// Repairs one order, but for what is handed out again: that is the matter of [`crate::recovery::lost`].
///
/// # Errors
/// The database fails, or refuses: another row has the place that the order is to have.
pub async fn repair(tx: &Tx<'_>, no: OrderNo, repair: ConsistencyRepair) -> Result<Mended> {
    let nos = [no.0];
    Ok(match repair {
        ConsistencyRepair::MakeReady { joins_queue } => {
            let by = if joins_queue { Waking::ByHand } else { Waking::Recovered };
            Mended::of(place::wake_now(tx, &nos, by).await?)
        }
        ConsistencyRepair::Suspend { stream, at } => suspend(tx, no, stream, at).await?,
        ConsistencyRepair::KeepOnly(kept) => {
            let others = PLACES.iter().filter(|(name, _)| *name != kept);
            run_all(tx, &others.map(|(_, statement)| *statement).collect::<Vec<_>>(), no).await?
        }
        ConsistencyRepair::LeavePlaces => run_all(tx, &PLACES.map(|(_, statement)| statement), no).await?,
        ConsistencyRepair::LeaveQueue => {
            queues::leave(tx, &nos).await?;
            Mended::default()
        }
        ConsistencyRepair::FollowQueue => renewed(tx, FOLLOW_QUEUE, no).await?,
        ConsistencyRepair::RejoinQueue => run_all(tx, &[REJOIN, REJOIN_AS_HEAD], no).await?,
        ConsistencyRepair::RaiseQueue => run_all(tx, &[RAISE_QUEUE], no).await?,
        ConsistencyRepair::Renumber => renewed(tx, RENUMBER, no).await?,
        ConsistencyRepair::Start => Mended::of(dependencies::start(tx, &nos).await?),
        ConsistencyRepair::CloseConditions => {
            dependencies::close(tx, &nos).await?;
            Mended::default()
        }
        ConsistencyRepair::WakeAnswered => Mended::of(due::wake_answered(tx, &nos).await?),
        ConsistencyRepair::CloseCalls => {
            calls::close(tx, &nos).await?;
            Mended::default()
        }
        ConsistencyRepair::RewriteFailure => run_all(tx, &[DROP_FAILURE, WRITE_FAILURE], no).await?,
        ConsistencyRepair::DropDeadlines => run_all(tx, &[DROP_DEADLINES], no).await?,
        ConsistencyRepair::WatchStart => run_all(tx, &[WATCH_START], no).await?,
        ConsistencyRepair::RemoveRows => {
            let all = [DROP_RUNNING, DROP_READY, DROP_DUE, DROP_DEADLINES, DROP_PARAMS, DROP_CONTEXT];
            run_all(tx, &all, no).await?
        }
        ConsistencyRepair::HandOutAgain => Mended::default(),
    })
}

const PLACES: [(PlaceName, &str); 3] =
    [(PlaceName::Running, DROP_RUNNING), (PlaceName::Ready, DROP_READY), (PlaceName::Due, DROP_DUE)];

async fn run_all(tx: &Tx<'_>, statements: &[&str], no: OrderNo) -> Result<Mended> {
    for statement in statements {
        tx.execute(&tx.prepare_cached(statement).await?, &[&no.0]).await?;
    }
    Ok(Mended::default())
}

async fn renewed(tx: &Tx<'_>, statement: &str, no: OrderNo) -> Result<Mended> {
    let rows = tx.query(&tx.prepare_cached(statement).await?, &[&no.0]).await?;
    Ok(Mended::of(rows.iter().map(read_ready).collect::<Result<_>>()?))
}

/// Lets an order rest. A call that came while nothing could wake it does so now; answers are found by who looks again.
async fn suspend(tx: &Tx<'_>, no: OrderNo, stream: Stream, at: Option<Timestamp>) -> Result<Mended> {
    tx.execute(&tx.prepare_cached(SUSPEND).await?, &[&no.0, &stream.number(), &at]).await?;
    let status = match stream {
        Stream::Dependent | Stream::Postponed => {
            let at = at.unwrap_or_else(Timestamp::now);
            return Ok(Mended { ready: Vec::new(), timer: Some((stream, at)) });
        }
        Stream::Wait => Status::Wait,
        Stream::Polling => Status::Polling,
        Stream::Retry => Status::Retry,
        Stream::Youngest | Stream::Middle | Stream::Oldest => Status::Sleep,
    };
    let resting = Resting { no, status, takes_another: true, moved_by: None };
    let ready = calls::wake(tx, &[resting]).await?;
    Ok(Mended { ready, timer: at.map(|at| (stream, at)) })
}
