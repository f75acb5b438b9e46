//! Events of orders for those who follow them: many orders at a time, by one look.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use pagurus_domain::id::OrderNo;
use pagurus_store::hot::history::HistoryEvent;
use pagurus_store::outside::changes::{self, FollowedOrder, OrderChange};
use pagurus_wire::problem::Problem;
use pagurus_wire::stream::StreamedEvent;

use crate::Views;
use crate::history::{parsed, text};

/// History rows of one order that are read at once; a row gives one event or two.
const MOST_ROWS: usize = 1000;

/// Events that were found, the oldest first.
#[derive(Debug, Default)]
pub struct FoundEvents {
    /// The events.
    pub events: Vec<StreamedEvent>,
    /// Numbers of the orders that may have more of them.
    pub cut: BTreeSet<i64>,
}

impl Views {
    /// Returns events of these orders after the last ones that were reported, the oldest first.
    pub async fn changes(
        &self,
        followed: &[FollowedOrder],
        since: Timestamp,
    ) -> Result<FoundEvents, Problem> {
        let read =
            async { changes::of(&self.host.store.api().await?, followed, since, MOST_ROWS as i64).await };
        let found = read.await.map_err(self.failed("stream"))?;
        let seen = |no: OrderNo| followed.iter().find(|one| one.no == no).map_or(0, |one| one.sent);
        let mut events = Vec::with_capacity(found.len());
        let mut registered = Vec::new();
        let mut rows: BTreeMap<i64, usize> = BTreeMap::new();
        for change in found {
            let seen = seen(change.no);
            *rows.entry(change.no.0).or_default() += 1;
            if change.is_new && !registered.contains(&change.no) {
                registered.push(change.no);
                events.push(registration(&change));
            }
            let behind = change.event.as_ref().into_iter().flat_map(|event| of_row(&change, event));
            events.extend(behind.filter(|event| event.number > seen));
        }
        rows.retain(|_, rows| *rows >= MOST_ROWS);
        Ok(FoundEvents { events, cut: rows.into_keys().collect() })
    }

    /// Returns these orders, as far as they are registered, each with the number of its last event.
    pub async fn followed(&self, ids: &[String]) -> Result<Vec<FollowedOrder>, Problem> {
        let read = async { changes::followed(&self.host.store.api().await?, ids).await };
        read.await.map_err(self.failed("stream"))
    }
}

fn event(
    change: &OrderChange,
    number: i32,
    life: i32,
    kind: &str,
    at: Timestamp,
    source: &str,
) -> StreamedEvent {
    StreamedEvent {
        no: change.no.0,
        order: change.id.clone(),
        scenario: change.scenario.clone(),
        flow: change.flow.clone(),
        queue: change.queue.clone(),
        transaction_id: change.transaction_id.clone(),
        number,
        life,
        kind: kind.to_owned(),
        at,
        source: source.to_owned(),
        status: change.status.to_string(),
        is_final: change.status.is_final(),
        step: change.step.clone(),
    }
}

fn registration(change: &OrderChange) -> StreamedEvent {
    event(change, 1, 1, "registered", change.created_at, "client")
}

/// The events of a row of the history: one of kind `stage` stands for the start and the end of it.
fn of_row(change: &OrderChange, row: &HistoryEvent) -> Vec<StreamedEvent> {
    let of =
        |number: i32, kind: &str, at: Timestamp| event(change, number, row.life.0, kind, at, &row.source);
    if row.kind != "stage" {
        return vec![of(row.number, &row.kind, row.at)];
    }
    let started = text(&parsed(&row.detail), "startedAt").parse().unwrap_or(row.at);
    vec![of(row.number, "stage_started", started), of(row.number + 1, "stage_ended", row.at)]
}

#[cfg(test)]
mod tests {
    use pagurus_domain::id::Life;
    use pagurus_domain::order::Status;

    use super::*;

    #[test]
    fn http_a_row_of_a_stage_is_reported_as_its_start_and_its_end() {
        let row = HistoryEvent {
            number: 4,
            life: Life(2),
            kind: "stage".into(),
            at: Timestamp::UNIX_EPOCH,
            source: "w-1".into(),
            detail: r#"{"startedAt": "1969-12-31T23:59:59Z"}"#.into(),
        };
        let change = OrderChange {
            no: OrderNo(7),
            id: "o".into(),
            scenario: "s".into(),
            flow: "s".into(),
            queue: None,
            transaction_id: None,
            created_at: Timestamp::UNIX_EPOCH,
            step: Some("done".into()),
            status: Status::Success,
            is_new: false,
            event: None,
        };
        let events: Vec<(String, String, bool)> = of_row(&change, &row)
            .iter()
            .map(|event| (event.id(), format!("{} {}", event.kind, event.at), event.is_final))
            .collect();
        assert_eq!(
            events,
            [
                ("7.4".to_owned(), "stage_started 1969-12-31T23:59:59Z".to_owned(), true),
                ("7.5".to_owned(), "stage_ended 1970-01-01T00:00:00Z".to_owned(), true)
            ]
        );
        let other = HistoryEvent { kind: "killed".into(), ..row };
        assert_eq!(of_row(&change, &other).len(), 1);
    }
}
