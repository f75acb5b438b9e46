//! Answers that a restart keeps for the next life (ORD-22).

use std::collections::{BTreeSet, HashMap};

use pagurus_domain::id::OrderNo;

use crate::sql::statements;
use crate::{Result, Tx};

/// The last answer to the last request of each name in the present life of these orders, as a stage would get it. Tasks
/// are no requests of the scenario.
macro_rules! answered {
    () => {
        "SELECT DISTINCT ON (r.order_no, r.name) r.order_no, o.life, r.name, r.registered_at, r.closed_at, c.no AS callback
          FROM unnest($1::bigint[]) AS t (no)
         CROSS JOIN LATERAL (SELECT life, visited FROM orders WHERE no = t.no OFFSET 0) AS o
         CROSS JOIN LATERAL (
               SELECT id, order_no, name, registered_at, closed_at,
                      rank() OVER (PARTITION BY name ORDER BY visit DESC, action DESC) AS age
                 FROM requests
                WHERE order_no = t.no AND life = o.life AND visit <= o.visited AND hand_out = 0 OFFSET 0) AS r
         CROSS JOIN LATERAL (
               SELECT no FROM callbacks WHERE request_id = r.id AND verdict = 'accepted' OFFSET 0) AS c
         WHERE r.age = 1
         ORDER BY r.order_no, r.name, c.no DESC"
    };
}

statements! {
    ANSWERED = concat!("SELECT order_no, name FROM (", answered!(), ") AS answered");
    // The copies belong to the next life, before its first visit: a request that this one makes under the same name
    // counts for more.
    KEEP = concat!("
        WITH former AS MATERIALIZED (SELECT gen_random_uuid() AS id, a.* FROM (", answered!(), ") AS a),
        asked AS (
            INSERT INTO requests (id, order_no, life, visit, action, name, status, registered_at, closed_at)
            SELECT id, order_no, life + 1, 0, row_number() OVER (PARTITION BY order_no ORDER BY name)::integer,
                   name, 'answered', registered_at, coalesce(closed_at, now())
              FROM former)
        INSERT INTO callbacks (request_id, named, order_no, verdict, step_status, headers, body, received_at)
        SELECT f.id, f.id::text, f.order_no, c.verdict, c.step_status, c.headers, c.body, c.received_at
          FROM former f JOIN callbacks c ON c.no = ANY(ARRAY[f.callback])");
}

/// Names of the requests of these orders that were answered in their present life.
pub async fn answered(tx: &Tx<'_>, nos: &[i64]) -> Result<HashMap<OrderNo, BTreeSet<String>>> {
    let rows = tx.query(&tx.prepare_cached(ANSWERED).await?, &[&nos]).await?;
    let mut answered: HashMap<OrderNo, BTreeSet<String>> = HashMap::new();
    for row in &rows {
        let name: String = row.get("name");
        // Elements of an `each` have a number behind the name that the scenario gives them.
        let name = name.split_once('.').map_or_else(|| name.clone(), |(name, _)| name.to_owned());
        answered.entry(OrderNo(row.get("order_no"))).or_default().insert(name);
    }
    Ok(answered)
}

/// Copies the answers of the present life of these orders into the next one, which the caller begins.
pub(crate) async fn keep(tx: &Tx<'_>, nos: &[i64]) -> Result<()> {
    if !nos.is_empty() {
        tx.execute(&tx.prepare_cached(KEEP).await?, &[&nos]).await?;
    }
    Ok(())
}
