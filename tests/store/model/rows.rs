//! Rows of both worlds as text: all that both can know about an order.

use std::collections::BTreeMap;

use pagurus_domain::id::OrderNo;

use super::Both;

impl Both {
    /// All orders with their places, as both show them.
    pub(super) async fn compare_rows(&mut self) {
        let client = self.ground.work().await;
        let query = "
            SELECT o.no, concat_ws(' ', o.status, o.life, o.attempt, o.events, o.stages, o.retries, coalesce(o.step, '-'),
                   'ready', r.attempt, r.wake, r.restarts, r.reissued, r.woken, coalesce(r.queue, '-'),
                   'running', w.attempt, w.wake, w.restarts, coalesce(w.queue, '-'),
                   'due', d.stream, 'queued', coalesce(q.queue, '-'),
                   (SELECT count(*) FROM queued p WHERE p.queue = q.queue AND p.position < q.position),
                   'asked', (SELECT string_agg(concat_ws('/', a.life, a.action, a.status, a.awaited), ',' ORDER BY a.life, a.action)
                               FROM requests a WHERE a.order_no = o.no),
                   'waits', (SELECT string_agg(concat_ws('/', e.before_id, e.stand), ',' ORDER BY e.before_id)
                               FROM dependencies e WHERE e.order_no = o.no),
                   'child', (SELECT h.parent_no FROM children h WHERE h.order_no = o.no),
                   'told', (SELECT string_agg(concat_ws('/', b.life, b.kind), ',' ORDER BY b.life, b.kind)
                              FROM outbox b WHERE b.order_no = o.no AND b.kind IN ('final', 'final-2', 'answer')),
                   'kept', c.snapshot) AS row
              FROM orders o
              LEFT JOIN ready r ON r.order_no = o.no LEFT JOIN running w ON w.order_no = o.no
              LEFT JOIN due d ON d.order_no = o.no LEFT JOIN queued q ON q.order_no = o.no
              LEFT JOIN contexts c ON c.order_no = o.no
             ORDER BY o.no";
        let rows = client.query(query, &[]).await.unwrap();
        let real: BTreeMap<i64, String> = rows.iter().map(|row| (row.get("no"), row.get("row"))).collect();
        drop(client);
        let model = self.tables.orders.keys().map(|no| (no.0, self.row(*no))).collect();
        if real != model {
            self.same("rows", real, model);
        }
    }

    fn row(&self, no: OrderNo) -> String {
        let tables = &self.tables;
        let order = &tables.orders[&no];
        let queue = |queue: Option<&str>| queue.unwrap_or("-").to_owned();
        let mut words: Vec<String> = vec![
            order.status.to_string(),
            order.life.to_string(),
            order.attempt.to_string(),
            order.events.to_string(),
            order.stages.to_string(),
            order.retries.to_string(),
            order.step.clone().unwrap_or_else(|| "-".to_owned()),
            "ready".to_owned(),
        ];
        let ready = tables.ready.get(&no);
        if let Some(row) = ready {
            let word = |is: bool| if is { "t" } else { "f" }.to_owned();
            words.extend([row.attempt.to_string(), row.wake.to_string(), row.restarts.to_string()]);
            words.extend([word(row.reissued), word(row.woken)]);
        }
        words.push(queue(ready.and_then(|row| row.place.as_ref()).map(|(queue, _)| queue.as_str())));
        words.push("running".to_owned());
        let running = tables.running.get(&no);
        if let Some(row) = running {
            words.extend([row.attempt.to_string(), row.wake.as_str().into(), row.restarts.to_string()]);
        }
        words.push(queue(running.and_then(|row| row.queue.as_deref())));
        words.push("due".to_owned());
        words.extend(tables.due.get(&no).map(|row| row.stream.number().to_string()));
        let place = tables.queued.get(&no);
        words.extend(["queued".to_owned(), queue(place.map(|(queue, _)| queue.as_str()))]);
        let before =
            tables.queued.values().filter(|one| place.is_some_and(|own| one.0 == own.0 && one.1 < own.1));
        words.extend([before.count().to_string(), "asked".to_owned()]);
        let mut asked: Vec<String> = tables
            .requests
            .values()
            .filter(|row| row.no == no)
            .map(|row| {
                let status = format!("{:?}", row.status).to_lowercase();
                format!("{}/{}/{status}/{}", row.life, row.place.1, if row.awaited { "t" } else { "f" })
            })
            .collect();
        asked.sort_unstable();
        words.extend((!asked.is_empty()).then(|| asked.join(",")));
        words.push("waits".to_owned());
        let conditions = tables.dependencies.range((no, String::new())..);
        let conditions: Vec<String> = conditions
            .take_while(|((of, _), _)| *of == no)
            .map(|((_, before), row)| format!("{before}/{}", row.stand))
            .collect();
        words.extend((!conditions.is_empty()).then(|| conditions.join(",")));
        words.push("child".to_owned());
        words.extend(order.parent.map(|parent| parent.to_string()));
        words.push("told".to_owned());
        let ends = tables.outbox.keys().filter(|(of, _, _)| *of == no);
        let ends: Vec<String> = ends.map(|(_, life, kind)| format!("{life}/{kind}")).collect();
        words.extend((!ends.is_empty()).then(|| ends.join(",")));
        words.push("kept".to_owned());
        words.extend(tables.snapshots.get(&no).cloned());
        words.join(" ")
    }
}
