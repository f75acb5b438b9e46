//! Walks over all orders by ascending number: how far each has come, for whichever process takes the next page.

use std::time::Duration;

use jiff::Timestamp;

use crate::sql::statements;
use crate::{Client, Result, Tx};

statements! {
    IS_DUE = "
        SELECT NOT EXISTS (SELECT FROM walks WHERE name = $1 AND next_at > clock_timestamp()) AS is_due";
    BEGIN_WALK = "INSERT INTO walks (name) VALUES ($1) ON CONFLICT (name) DO NOTHING";
    // The holder of the row walks; the others pass by.
    TAKE_WALK = "
        SELECT after_no, after FROM walks WHERE name = $1 AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED";
    COME_TO = "
        UPDATE walks
           SET after_no = $2, after = $3, next_at = clock_timestamp() + make_interval(secs => $4),
               begun_at = CASE WHEN $5 THEN clock_timestamp() ELSE begun_at END,
               rounds = rounds + $5::boolean::integer,
               ended_at = CASE WHEN $5 THEN clock_timestamp() ELSE ended_at END
         WHERE name = $1";
    OF_NAME = "
        SELECT after_no, begun_at, rounds, ended_at,
               (SELECT no FROM orders WHERE no > 0 ORDER BY no LIMIT 1) AS first_no,
               coalesce((SELECT no FROM orders WHERE no > walks.after_no ORDER BY no DESC LIMIT 1), after_no) AS last_no
          FROM walks WHERE name = $1";
}

/// Name of the walk of the consistency check over all orders.
pub const CHECK: &str = "check";

/// Point at which a walk goes on: behind a number, or a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The number.
    pub after_no: i64,
    /// The name, where the walk goes by names.
    pub after: String,
}

/// Takes the next page of a walk, until the end of the returned transaction; none while another process has it, or before its
/// time.
pub async fn take<'a>(client: &'a mut Client, walk: &str) -> Result<Option<(Tx<'a>, Step)>> {
    // Most looks come before the time, and open no transaction.
    let is_due = client.query_one(&client.prepare_cached(IS_DUE).await?, &[&walk]).await?;
    if !is_due.get::<_, bool>("is_due") {
        return Ok(None);
    }
    let tx = client.transaction().await?;
    tx.execute(&tx.prepare_cached(BEGIN_WALK).await?, &[&walk]).await?;
    let row = tx.query_opt(&tx.prepare_cached(TAKE_WALK).await?, &[&walk]).await?;
    Ok(row.map(|row| (tx, Step { after_no: row.get("after_no"), after: row.get("after") })))
}

/// Notes how far a walk has come that was taken; without a step its round is over, and the next begins at the start. No page
/// is taken before the pause is over.
pub async fn come_to(tx: &Tx<'_>, walk: &str, step: Option<&Step>, pause: Duration) -> Result<()> {
    let (first, is_over) = (Step::default(), step.is_none());
    let Step { after_no, after } = step.unwrap_or(&first);
    let statement = tx.prepare_cached(COME_TO).await?;
    tx.execute(&statement, &[&walk, after_no, after, &pause.as_secs_f64(), &is_over]).await?;
    Ok(())
}

/// A walk, as people see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkView {
    /// The number up to which this round has come.
    pub after_no: i64,
    /// Begin of the round.
    pub begun_at: Timestamp,
    /// Rounds before it.
    pub rounds: i64,
    /// End of the last of them.
    pub ended_at: Option<Timestamp>,
    /// The lowest and the highest number of an order, where there is one.
    pub bounds: Option<(i64, i64)>,
}

impl WalkView {
    /// Share of this round that is done, from 0 to 1, by the numbers of orders.
    #[must_use]
    pub fn share(&self) -> f64 {
        let Some((first, last)) = self.bounds else { return 0.0 };
        let (done, all) = (self.after_no.saturating_sub(first) + 1, last.saturating_sub(first) + 1);
        // Numbers of orders are far below 2^53, where the conversion would round.
        (done as f64 / all as f64).clamp(0.0, 1.0)
    }
}

/// Progress of a walk; none where nobody ever began it.
pub async fn view(client: &Client, walk: &str) -> Result<Option<WalkView>> {
    let row = client.query_opt(&client.prepare_cached(OF_NAME).await?, &[&walk]).await?;
    Ok(row.map(|row| WalkView {
        after_no: row.get("after_no"),
        begun_at: row.get("begun_at"),
        rounds: row.get("rounds"),
        ended_at: row.get("ended_at"),
        bounds: Option::zip(row.get("first_no"), row.get("last_no")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rec_6_the_share_of_a_round_counts_from_the_lowest_number_that_is_left() {
        let share = |after_no: i64, bounds: Option<(i64, i64)>| {
            WalkView { after_no, begun_at: Timestamp::UNIX_EPOCH, rounds: 0, ended_at: None, bounds }.share()
        };
        assert_eq!(share(0, Some((901, 1000))), 0.0);
        assert_eq!(share(925, Some((901, 1000))), 0.25);
        assert_eq!(share(1000, Some((901, 1000))), 1.0);
        assert_eq!(share(7, Some((7, 7))), 1.0);
        assert_eq!((share(0, None), share(5000, Some((901, 1000)))), (0.0, 1.0));
    }
}
