//! Events of orders as they happen, over HTTP: server-sent events.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream;
use jiff::Timestamp;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::id::OrderNo;
use pagurus_domain::json::json_text;
use pagurus_domain::order::Status;
use pagurus_runtime::Peer;
use pagurus_store::outside::changes::FollowedOrder;
use pagurus_view::FoundEvents;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::stream::{StreamEnd, StreamLagged, StreamedEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::HttpResult;
use super::caller::{Scope, ScopedViews};
use super::document::{Table, viewer};
use super::query::{Query, duration};
use crate::Intake;
use crate::stream::{Full, Joined, Most, StreamFilter, StreamInterest, StreamMessage};

/// Interval of signs of life while nothing happens. Shorter than the minute after which proxies like to cut connections.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Largest number of values of one condition.
const MOST_VALUES: usize = 100;
/// Length of a stream without a bound, as far as timers reach.
const ENDLESS: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) fn routes(table: Table) -> Table {
    table.get(
        "/v1/stream",
        follow,
        viewer("Events of orders as they happen, as server-sent events.").scoped()
            .more(
                "`event: order` has a `StreamedEvent` as its data, `event: lagged` says that events are missing (a `StreamLagged`: \
                 ask for the orders again), and `event: end` is the last one (a `StreamEnd`). A comment is sent every \
                 fifteen seconds while nothing happens. Events are sent at least once: `id` shows repeats. Values of a list are \
                 separated by commas; without a condition, events of all orders are sent.",
            )
            .header(
                "Last-Event-ID",
                "The last event that the client received; browsers send it by themselves. The stream of one order continues exactly \
                 after it; other streams do if this node still knows the event and has followed all their orders since, and otherwise start \
                 with `lagged`.",
            )
            .gives_text("text/event-stream", "Events, until the time has passed or the node stops."),
    )
}

/// Query of the stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct StreamQuery {
    /// Ids of orders.
    order: Option<String>,
    /// Names of scenarios.
    scenario: Option<String>,
    /// Statuses that orders have when the event is sent.
    status: Option<String>,
    /// Business transactions.
    transaction_id: Option<String>,
    /// Length of the stream: a number of seconds, or a duration like `1m30s`; default: unlimited.
    timeout: Option<String>,
}

impl StreamQuery {
    fn filter(&self, scope: AccessScope) -> HttpResult<StreamFilter> {
        let filter = StreamFilter {
            scope,
            orders: values("order", self.order.as_deref())?,
            scenarios: values("scenario", self.scenario.as_deref())?,
            statuses: values("status", self.status.as_deref())?,
            transactions: values("transactionId", self.transaction_id.as_deref())?,
        };
        let strange = filter.statuses.iter().find(|word| word.parse::<Status>().is_err());
        if let Some(word) = strange {
            let known: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
            let shown: String = word.chars().take(64).collect();
            return Err(invalid(
                "/status",
                format!("there is no status `{shown}`; there are: {}", known.join(", ")),
            ));
        }
        Ok(filter)
    }
}

/// Returns the values of a condition.
fn values(name: &str, list: Option<&str>) -> HttpResult<Vec<String>> {
    let values: BTreeSet<String> =
        list.into_iter().flat_map(|list| list.split(',')).map(str::to_owned).collect();
    if values.iter().any(|value| value.is_empty() || value.contains('\0')) {
        return Err(invalid(&format!("/{name}"), format!("{name} is a list of values separated by commas")));
    }
    if values.len() > MOST_VALUES {
        return Err(invalid(&format!("/{name}"), format!("{name} has {MOST_VALUES} values at most")));
    }
    Ok(values.into_iter().collect())
}

fn invalid(pointer: &str, detail: String) -> super::ProblemResponse {
    Problem::new(Type::Invalid, detail).at(pointer).into()
}

/// Returns order and number of the event that a client got last.
fn last_event(headers: &HeaderMap) -> HttpResult<Option<(i64, i32)>> {
    let Some(value) = headers.get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(None) };
    let read = || {
        let (no, number) = value.to_str().ok()?.split_once('.')?;
        Some((no.parse().ok()?, number.parse().ok().filter(|number| *number >= 1)?))
    };
    let detail = "the header `Last-Event-ID` is the `id` of an event of this stream";
    read().map(Some).ok_or_else(|| Problem::new(Type::Invalid, detail).into())
}

/// `GET /v1/stream`
async fn follow(
    State(intake): State<Intake>,
    ScopedViews(views): ScopedViews,
    Scope(scope): Scope,
    Query(query): Query<StreamQuery>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> HttpResult<Response<Body>> {
    let filter = query.filter(scope)?;
    let last = last_event(&headers)?;
    let time = query.timeout.as_deref().map(|text| duration("timeout", text)).transpose()?;
    let named = match filter.orders.as_slice() {
        [] => Vec::new(),
        ids => views.followed(ids).await?,
    };
    let is_of = |no: i64| named.iter().any(|order| order.no.0 == no);
    let last_of_one = last.filter(|(no, _)| filter.orders.len() == 1 && is_of(*no));
    // One that is not registered yet has no number by which it could be looked up.
    let all_are_known = !named.is_empty() && named.len() == filter.orders.len();
    let interest = if all_are_known { StreamInterest::Named(named) } else { StreamInterest::All };
    let word = last.map(|(no, number)| format!("{no}.{number}"));
    let settings = intake.host.settings();
    let all = settings.intake.max_streams;
    let most = Most { all, of_one: (all * settings.intake.client_share_percentage / 100).max(1) };
    let joined = intake.streams.join(peer.client(), filter.clone(), interest, word.as_deref(), most);
    let Joined { receiver, missed } = joined.map_err(|full| full_of(full, most))?;
    let mut first: VecDeque<StreamMessage> = VecDeque::new();
    let mut behind = None;
    if let Some((no, number)) = last_of_one {
        let since = FollowedOrder { no: OrderNo(no), sent: number };
        let FoundEvents { events, cut } = views.changes(&[since], Timestamp::UNIX_EPOCH).await?;
        behind = Some(events.last().map_or(number, |event| event.number));
        let taken = events.into_iter().filter(|event| filter.takes(event));
        first.extend(taken.map(Arc::new).map(StreamMessage::Event));
        if !cut.is_empty() {
            let reason = "more happened to the order than is sent at once".to_owned();
            first.push_back(StreamMessage::Lagged(StreamLagged { reason, missed: None }));
        }
    } else if let Some(missed) = missed {
        first.extend(missed.into_iter().map(StreamMessage::Event));
    } else if last.is_some() {
        let reason = "this node does not know any more what came behind that event".to_owned();
        first.push_back(StreamMessage::Lagged(StreamLagged { reason, missed: None }));
    }
    let following = Following {
        first,
        receiver,
        behind,
        until: Instant::now() + time.unwrap_or(ENDLESS).min(ENDLESS),
        draining: intake.host.draining.clone(),
        is_over: false,
    };
    let events = stream::unfold(following, |mut following| async move {
        let event = following.next().await?;
        Some((Ok::<Event, Infallible>(event), following))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("heartbeat")).into_response())
}

fn full_of(full: Full, most: Most) -> Problem {
    let Most { all, of_one } = most;
    let detail = match full {
        Full::Node => {
            format!("{all} clients follow this node already (`intake.max_streams`); follow another one")
        }
        Full::Client => format!(
            "{of_one} follow this node from your address already (`intake.client_share_percentage` of `intake.max_streams`); end \
             one of them, or raise it where many clients come through one gateway"
        ),
    };
    Problem::new(Type::Busy, detail)
}

/// A client that follows, from the side of its connection.
struct Following {
    first: VecDeque<StreamMessage>,
    receiver: mpsc::Receiver<StreamMessage>,
    /// Number of the last event of the one order that was looked up for it: the listener may send it again.
    behind: Option<i32>,
    until: Instant,
    draining: CancellationToken,
    is_over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        if let Some(message) = self.first.pop_front() {
            return Some(sent(&message));
        }
        let reason = loop {
            tokio::select! {
                // What has come goes before an end that came at the same time.
                biased;
                message = self.receiver.recv() => match message {
                    Some(StreamMessage::Event(event)) if self.behind.is_some_and(|number| event.number <= number) => {}
                    Some(message) => return Some(sent(&message)),
                    None if self.draining.is_cancelled() => break "the node stops",
                    None => break "another client follows in your place; come back with `Last-Event-ID`",
                },
                () = self.draining.cancelled() => break "the node stops",
                () = sleep_until(self.until) => break "the time is over",
            }
        };
        self.is_over = true;
        Some(of("end", &StreamEnd { reason: reason.to_owned() }))
    }
}

fn sent(message: &StreamMessage) -> Event {
    match message {
        StreamMessage::Event(event) => of::<StreamedEvent>("order", event).id(event.id()),
        StreamMessage::Lagged(lagged) => of("lagged", lagged),
    }
}

/// Returns plain data as an event, in one line.
fn of<T: Serialize>(name: &str, data: &T) -> Event {
    Event::default().event(name).data(json_text(data))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn http_the_last_event_is_an_order_and_a_number() {
        let read = |text: &'static str| {
            let headers = HeaderMap::from_iter([("last-event-id".parse().unwrap(), text.parse().unwrap())]);
            last_event(&headers).map_err(|answer| answer.0.status)
        };
        assert_eq!(read("7.4"), Ok(Some((7, 4))));
        assert_eq!(read(""), Ok(None));
        for strange in ["7", "7.x", "x.4", "7.0", "7.4.1"] {
            assert_eq!(read(strange), Err(422), "{strange}");
        }
    }

    #[test]
    fn http_conditions_of_a_stream_are_lists() {
        let asked = |status: &str| StreamQuery {
            order: Some("a,b".into()),
            scenario: None,
            status: Some(status.into()),
            transaction_id: None,
            timeout: None,
        };
        let filter = asked("fail,success").filter(AccessScope::WHOLE).unwrap();
        assert_eq!((filter.orders.len(), filter.statuses.len(), filter.scenarios.len()), (2, 2, 0));
        assert_eq!(
            asked("failed").filter(AccessScope::WHOLE).unwrap_err().0.pointer.as_deref(),
            Some("/status")
        );
        assert_eq!(
            asked("fail,").filter(AccessScope::WHOLE).unwrap_err().0.pointer.as_deref(),
            Some("/status")
        );
    }
}
