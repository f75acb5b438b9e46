//! Orders of a measurement, sent in batches by several senders at a time.

use std::ops::Range;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use pagurus_wire::order::RegisteredView;
use reqwest::Method;
use serde_json::json;

use super::follow::id_of;
use super::{Bench, GRACE};
use crate::client::ApiClient;
use crate::failure::CliError;

/// Pause of a sender whose batch was not taken, or not all of it.
const PAUSE: Duration = Duration::from_millis(500);

/// Sends until all is sent, the time is over, or somebody wants it to end.
pub(super) async fn all(bench: &Bench, parallel: usize, client: &ApiClient) {
    let senders = join_all((0..parallel).map(|_| sender(bench, client)));
    let stopped = async {
        bench.stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        _ = senders => {}
        () = stopped => {}
    }
    let mut state = bench.state();
    state.is_sent = true;
    state.figures.sent_within = bench.begun.elapsed();
}

async fn sender(bench: &Bench, client: &ApiClient) {
    while let Some(numbers) = next(bench) {
        let begun = Instant::now();
        let answer =
            client.send_text(Method::POST, "/v1/orders/batch", "application/x-ndjson", body(bench, &numbers));
        let answer: Result<Vec<RegisteredView>, CliError> = answer.await.and_then(|reply| reply.read());
        if !noted(bench, &numbers, answer, begun.elapsed()) {
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = bench.stop.cancelled() => {}
            }
        }
    }
}

/// Takes the numbers of the next batch; `None` if nothing more is to be sent.
fn next(bench: &Bench) -> Option<Range<u64>> {
    let is_over = bench.stop.is_cancelled() || bench.until.is_some_and(|until| Instant::now() >= until);
    let mut state = bench.state();
    if is_over || state.next >= bench.orders {
        return None;
    }
    let end = state.next.saturating_add(bench.batch).min(bench.orders);
    let numbers = state.next..end;
    state.next = end;
    state.groups.begin(&numbers);
    Some(numbers)
}

/// Returns the orders, one a line.
fn body(bench: &Bench, numbers: &Range<u64>) -> String {
    let scenario = json!(bench.scenario);
    let line = |number| {
        let id = id_of(&bench.prefix, number);
        format!("{{\"id\":\"{id}\",\"scenario\":{scenario},\"params\":{}}}\n", bench.params)
    };
    numbers.clone().map(line).collect()
}

/// Notes the outcome of a batch; true if all of it was taken.
fn noted(
    bench: &Bench,
    numbers: &Range<u64>,
    answer: Result<Vec<RegisteredView>, CliError>,
    took: Duration,
) -> bool {
    let mut state = bench.state();
    state.groups.answered(numbers);
    let orders = numbers.end - numbers.start;
    state.figures.sent += orders;
    let registered = match answer {
        Ok(registered) => registered,
        Err(failure) => {
            let class = if failure.is_away() { "no answer" } else { "not registered" };
            state.figures.fail(class, orders);
            if !failure.is_away() {
                state.hopeless.get_or_insert(failure);
                bench.stop.cancel();
            }
            return false;
        }
    };
    let mut taken = 0;
    for one in &registered {
        // The same batch is never sent twice: a duplicate is of somebody else.
        if one.status == "accepted" {
            taken += 1;
            continue;
        }
        let kind =
            one.error.as_ref().and_then(|problem| problem.type_.rsplit(':').next()).unwrap_or(&one.status);
        state.figures.fail(&format!("not registered: {kind}"), 1);
    }
    state.figures.accept(taken, took);
    let is_hopeless = taken == 0 && registered.iter().all(|one| one.status == "rejected");
    if is_hopeless && let Some(problem) = registered.into_iter().find_map(|one| one.error) {
        state.hopeless.get_or_insert(problem.into());
        bench.stop.cancel();
    }
    taken == orders
}
