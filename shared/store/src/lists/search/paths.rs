//! Statements of the access paths of searches: each looks at a bounded number of orders by one key, and holds the same
//! conditions against them.

use pagurus_domain::search::AccessPath;

use crate::sql::{in_scope, shown_status, statements, taken_over};

/// Parameters behind those of the conditions: those of the access path first, then the keys of a count.
macro_rules! behind {
    (1) => {
        "$31"
    };
    (2) => {
        "$32"
    };
    (3) => {
        "$33"
    };
    (4) => {
        "$34"
    };
}

/// Orders by descending number: `$1` the number below which they are, `$2` how many are looked at. The parameters from
/// `$3` on are the conditions.
macro_rules! looked {
    (all) => {
        concat!("SELECT no FROM orders WHERE no < $1 AND no >= ", behind!(1), " ORDER BY no DESC LIMIT $2")
    };
    (ids) => {
        concat!("SELECT no FROM (SELECT no FROM orders WHERE id = ANY(", behind!(1), "::text[]) OFFSET 0) AS named
          WHERE no < $1 ORDER BY no DESC LIMIT $2")
    };
    // The index holds a hash, because a transaction may be longer than an entry of an index; the comparison of the
    // text decides.
    (transaction) => {
        concat!("SELECT no FROM orders
          WHERE hashtextextended(transaction_id, 0) = hashtextextended(", behind!(1), ", 0) AND transaction_id = ", behind!(1), " AND no < $1
          ORDER BY no DESC LIMIT $2")
    };
    (failed) => {
        "SELECT order_no AS no FROM failures WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2"
    };
    (unfinished) => {
        concat!("SELECT order_no AS no
           FROM ((SELECT order_no FROM ready WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2)
                 UNION ALL
                 (SELECT order_no FROM running WHERE ", behind!(1), " AND order_no < $1 ORDER BY order_no DESC LIMIT $2)
                 UNION ALL
                 (SELECT order_no FROM due WHERE ", behind!(2), " AND order_no < $1 ORDER BY order_no DESC LIMIT $2)) AS places
          ORDER BY order_no DESC LIMIT $2")
    };
    (queue) => {
        concat!("SELECT order_no AS no FROM (SELECT order_no FROM queued WHERE queue = ", behind!(1), " OFFSET 0) AS members
          WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2")
    };
    // In the order of bytes, as the index is; no id is longer than what is behind the prefix.
    (prefix) => {
        concat!("SELECT no FROM orders
          WHERE id ~>=~ ", behind!(1), " AND id ~<=~ (", behind!(1), " || repeat(chr(1114111), 64)) AND no < $1 ORDER BY id USING ~<~ LIMIT $2")
    };
    (attribute) => {
        concat!("SELECT order_no AS no FROM search_values WHERE name = ", behind!(1), " AND value = ", behind!(2), " AND order_no < $1 ORDER BY order_no DESC LIMIT $2")
    };
    (label) => {
        concat!("SELECT order_no AS no FROM order_labels WHERE key = ", behind!(1), " AND value = ", behind!(2), " AND order_no < $1 ORDER BY order_no DESC LIMIT $2")
    };
    (jeopardy) => {
        "SELECT order_no AS no FROM promises
          WHERE marked_at IS NOT NULL AND NOT ended AND order_no < $1 ORDER BY order_no DESC LIMIT $2"
    };
    (inconsistent) => {
        "SELECT order_no AS no FROM inconsistencies WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2"
    };
    (node) => {
        "SELECT order_no AS no FROM running WHERE node = ANY($17::bigint[]) AND order_no < $1 ORDER BY order_no DESC LIMIT $2"
    };
}

/// Conditions, and the tables that they read. One spelling for all statements.
macro_rules! wanted {
    () => {
        concat!(
            " JOIN orders o ON o.no = ANY(ARRAY[l.no])
              LEFT JOIN running w ON w.order_no = ANY(ARRAY[o.no])
              LEFT JOIN ready r ON r.order_no = ANY(ARRAY[o.no])
             WHERE ($3::text[] IS NULL OR ",
            shown_status!(),
            " = ANY($3))
               AND ($4::integer[] IS NULL OR o.scenario = ANY($4))
               AND ($5::text[] IS NULL OR coalesce(o.step, '') = ANY($5))
               AND ($6::text[] IS NULL OR coalesce(o.error_class, '') = ANY($6))
               AND ($7::text[] IS NULL OR coalesce(o.error_system, '') = ANY($7))
               AND ($8::text IS NULL OR o.flow = $8)
               AND ($9::text IS NULL OR o.queue = $9)
               AND ($10::text IS NULL OR o.priority = $10)
               AND ($11::timestamptz IS NULL OR o.created_at >= $11)
               AND ($12::timestamptz IS NULL OR o.created_at < $12)
               AND ($13::timestamptz IS NULL OR o.finished_at >= $13)
               AND ($14::timestamptz IS NULL OR o.finished_at < $14)
               AND ($15::text IS NULL OR strpos(lower(coalesce(o.message, '') || ' ' || coalesce(o.error_message, '')), $15) > 0)
               AND ($16::text IS NULL OR o.transaction_id = $16)
               AND ($17::bigint[] IS NULL OR w.node = ANY($17))
               AND ($18::text IS NULL OR starts_with(o.id, $18))
               AND (cardinality($19::text[]) = 0 OR NOT EXISTS (
                    SELECT FROM unnest($19::text[], $20::text[]) AS a (name, value)
                     WHERE NOT EXISTS (SELECT FROM search_values v
                                        WHERE v.order_no = o.no AND v.name = a.name AND v.value = a.value)))
               AND ($21::boolean IS NULL OR $21 = EXISTS (
                    SELECT FROM promises j WHERE j.order_no = ANY(ARRAY[o.no]) AND j.marked_at IS NOT NULL AND NOT j.ended))
               AND ($22::text[] IS NULL OR o.scenario_status = ANY($22))
               AND ($23::text IS NULL OR o.mode = $23)
               AND ($24::text IS NULL OR EXISTS (
                    SELECT FROM history h WHERE h.order_no = ANY(ARRAY[o.no]) AND h.source = $24))
               AND ($25::boolean IS NULL OR $25 = EXISTS (
                    SELECT FROM inconsistencies x WHERE x.order_no = ANY(ARRAY[o.no])))
               AND ($26::boolean IS NULL OR $26 = EXISTS (
                    SELECT FROM history f WHERE f.order_no = ANY(ARRAY[o.no]) AND ",
            taken_over!(),
            "))
               AND ($27::text[] IS NULL OR (o.status = 'fail' OR o.error_message IS NOT NULL)
                    AND coalesce(o.error_state, o.step, '') = ANY($27))
               AND ($28::text IS NULL OR o.labels @> $28::jsonb)
               AND ",
            in_scope!("$29", "$30")
        )
    };
}

/// A step: the lowest number that was looked at, how many, and those that are wanted.
macro_rules! step {
    ($path:ident) => {
        concat!(
            "WITH looked AS MATERIALIZED (",
            looked!($path),
            ") SELECT (SELECT min(no) FROM looked) AS lowest, (SELECT count(*) FROM looked) AS looked,
                      coalesce(array_agg(o.no ORDER BY o.no DESC), '{}') AS found
                 FROM looked l",
            wanted!()
        )
    };
}

/// Groups of what a step finds, in one row at least, which says how many were looked at.
macro_rules! counts {
    ($path:ident, $first:tt, $second:tt) => {
        concat!(
            "WITH looked AS MATERIALIZED (",
            looked!($path),
            "), wanted AS MATERIALIZED (SELECT o.no, ",
            key!($first),
            " AS first, ",
            key!($second),
            " AS second FROM looked l",
            wanted!(),
            ") SELECT t.looked, t.lowest, g.first, g.second, g.orders, g.newest
                 FROM (SELECT count(*) AS looked, min(no) AS lowest FROM looked) AS t
                 LEFT JOIN (SELECT first, second, count(*) AS orders, max(no) AS newest FROM wanted GROUP BY first, second) AS g ON true
                ORDER BY g.orders DESC NULLS LAST, g.first, g.second"
        )
    };
}

/// The key by which orders are put together, as SQL; behind the words stand `label:` and a key.
macro_rules! key {
    ($number:tt) => {
        concat!(
            "CASE ", behind!($number), "::text WHEN 'status' THEN ", shown_status!(),
            " WHEN 'scenario' THEN (SELECT s.name FROM scenarios s WHERE s.no = o.scenario)
              WHEN 'state' THEN coalesce(o.step, '') WHEN 'class' THEN coalesce(o.error_class, '')
              WHEN 'system' THEN coalesce(o.error_system, '') WHEN 'flow' THEN o.flow WHEN 'queue' THEN coalesce(o.queue, '')
              WHEN 'priority' THEN o.priority WHEN 'scenarioStatus' THEN o.scenario_status WHEN 'mode' THEN o.mode
              ELSE coalesce(o.labels ->> substr(", behind!($number), "::text, 7), '') END"
        )
    };
}

statements! {
    STEP_ALL = step!(all);
    STEP_IDS = step!(ids);
    STEP_TRANSACTION = step!(transaction);
    STEP_FAILED = step!(failed);
    // The same conditions, held against what a failure tells of its order.
    STEP_FAILURES = "
        WITH looked AS MATERIALIZED (
            SELECT order_no AS no, scenario, class, step, system, state, at FROM failures WHERE order_no < $1 ORDER BY order_no DESC LIMIT $2)
        SELECT min(no) AS lowest, count(*) AS looked,
               coalesce(array_agg(no ORDER BY no DESC) FILTER (
                    WHERE ($3::integer[] IS NULL OR scenario = ANY($3))
                      AND ($4::text[] IS NULL OR coalesce(step, '') = ANY($4))
                      AND ($5::text[] IS NULL OR coalesce(class, '') = ANY($5))
                      AND ($6::text[] IS NULL OR coalesce(system, '') = ANY($6))
                      AND ($7::text[] IS NULL OR coalesce(state, step, '') = ANY($7))
                      AND ($8::timestamptz IS NULL OR at >= $8)
                      AND ($9::timestamptz IS NULL OR at < $9)), '{}') AS found
          FROM looked";
    STEP_UNFINISHED = step!(unfinished);
    STEP_QUEUE = step!(queue);
    STEP_ATTRIBUTE = step!(attribute);
    STEP_LABEL = step!(label);
    STEP_NODE = step!(node);
    STEP_JEOPARDY = step!(jeopardy);
    STEP_INCONSISTENT = step!(inconsistent);
    STEP_PREFIX = concat!("
        WITH looked AS MATERIALIZED (
            SELECT no, id FROM orders
             WHERE id ~>=~ ", behind!(1), " AND id ~<=~ (", behind!(1), " || repeat(chr(1114111), 64)) AND id ~>~ $1 ORDER BY id USING ~<~ LIMIT $2)
        SELECT (SELECT id FROM looked ORDER BY id USING ~>~ LIMIT 1) AS last, (SELECT count(*) FROM looked) AS looked,
               coalesce(array_agg(o.no ORDER BY l.id USING ~<~), '{}') AS found,
               coalesce(array_agg(l.id ORDER BY l.id USING ~<~), '{}') AS ids
          FROM looked l", wanted!());
    COUNT_ALL = counts!(all, 2, 3);
    COUNT_IDS = counts!(ids, 2, 3);
    COUNT_TRANSACTION = counts!(transaction, 2, 3);
    COUNT_FAILED = counts!(failed, 1, 2);
    COUNT_UNFINISHED = counts!(unfinished, 3, 4);
    COUNT_QUEUE = counts!(queue, 2, 3);
    COUNT_PREFIX = counts!(prefix, 2, 3);
    COUNT_ATTRIBUTE = counts!(attribute, 3, 4);
    COUNT_LABEL = counts!(label, 3, 4);
    COUNT_NODE = counts!(node, 1, 2);
    COUNT_JEOPARDY = counts!(jeopardy, 1, 2);
    COUNT_INCONSISTENT = counts!(inconsistent, 1, 2);
}

/// The statement of a step through the failures that reads no order.
pub(super) const OF_FAILURES: &str = STEP_FAILURES;

/// The statements of a path: for a step, and for groups.
pub(super) const fn statements_of(path: AccessPath<'_>) -> (&'static str, &'static str) {
    match path {
        AccessPath::Ids(_) => (STEP_IDS, COUNT_IDS),
        AccessPath::IdPrefix(_) => (STEP_PREFIX, COUNT_PREFIX),
        AccessPath::Transaction(_) => (STEP_TRANSACTION, COUNT_TRANSACTION),
        AccessPath::Attribute(..) => (STEP_ATTRIBUTE, COUNT_ATTRIBUTE),
        AccessPath::Label(..) => (STEP_LABEL, COUNT_LABEL),
        AccessPath::Node(_) => (STEP_NODE, COUNT_NODE),
        AccessPath::Jeopardy => (STEP_JEOPARDY, COUNT_JEOPARDY),
        AccessPath::Inconsistent => (STEP_INCONSISTENT, COUNT_INCONSISTENT),
        AccessPath::Queue(_) => (STEP_QUEUE, COUNT_QUEUE),
        AccessPath::Unfinished { .. } => (STEP_UNFINISHED, COUNT_UNFINISHED),
        AccessPath::Failed => (STEP_FAILED, COUNT_FAILED),
        AccessPath::ByNumber { .. } => (STEP_ALL, COUNT_ALL),
    }
}
