//! Work for an order, done and to be done: its stages, its open questions, its notifications (REC-15).

use std::ops::ControlFlow;

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::order::{Mode, Status};
use pagurus_store::hot::history::HistoryEvent;
use pagurus_store::hot::outbox;
use pagurus_store::hot::requests;
use pagurus_store::outside::orders::OrderRow as Row;
use pagurus_wire::order::{Page, UnsentView};
use pagurus_wire::parts::{RequestView, TaskView};
use pagurus_wire::problem::Problem;

use crate::history::{ENTERED, parsed, text};
use crate::part::{PartQuery, read_on};
use crate::query::invalid;
use crate::{Views, steps};

/// Beginning of the names of requests to actors.
const ACTOR: &str = "actor.";

/// Tasks that a page may stand behind.
const MOST: usize = 100_000;

impl Views {
    /// The tasks of an order, by the time from which each may be done.
    pub async fn tasks(&self, id: &str, query: &PartQuery) -> Result<Page<TaskView>, Problem> {
        let (before, size) = query.counted()?;
        if before > MOST {
            return Err(invalid(
                "/cursor",
                format!("at most {MOST} tasks are listed; its steps and events show everything"),
            ));
        }
        // Stages and requests come by their time: of each kind no more are on the page or before it, and one tells if there
        // are others.
        let reach = before + size + 1;
        let (client, row) = self.found(id).await?;
        let mut tasks: Vec<TaskView> = Vec::new();
        let mut keys = CallKeys::default();
        let read = async {
            read_on(&client, row.no, 0, |event| {
                if event.kind == "stage" {
                    tasks.push(done(&row, event));
                }
                keys.take(event);
                if tasks.len() < reach { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })
            .await?;
            let most = saturated::<i64>(reach);
            Ok((
                requests::of_order(&client, row.no, 0, most).await?,
                outbox::shown::of_order(&client, row.no).await?,
            ))
        };
        let (asked, unsent) = read.await.map_err(self.failed("read"))?;
        tasks
            .extend(asked.iter().map(|one| TaskView { idempotency_key: keys.of(one), ..request(&row, one) }));
        tasks.extend(unsent.iter().map(|one| notification(&row, one)));
        tasks.extend(present(&row));
        tasks.sort_by_key(|task| task.scheduled_at.or(task.started_at));
        let next = (tasks.len() > before + size).then(|| (before + size).to_string());
        Ok(Page { items: tasks.into_iter().skip(before).take(size).collect(), next })
    }
}

/// Keys under which calls were made that ask something which is answered later.
#[derive(Default)]
struct CallKeys(Vec<(i32, Timestamp, String, String)>);

impl CallKeys {
    /// Takes the calls of a stage, or of the part of it up to an entry point.
    fn take(&mut self, event: &HistoryEvent) {
        if event.kind != "stage" && event.kind != ENTERED {
            return;
        }
        let detail = parsed(&event.detail);
        for step in detail["steps"].as_array().into_iter().flatten() {
            let actor = (step["kind"] == "actor").then(|| format!("{ACTOR}{}", text(step, "target")));
            let request = step["name"].as_str().map(str::to_owned).or(actor);
            if let Some(((request, key), at)) = request.zip(step["key"].as_str()).zip(steps::moment(step)) {
                self.0.push((event.life.0, at, request, key.to_owned()));
            }
        }
    }

    /// The key of the first call that was made for a request.
    fn of(&self, asked: &RequestView) -> Option<String> {
        let of_name = self.0.iter().filter(|(life, _, name, _)| *life == asked.life && *name == asked.name);
        let distance = |at: Timestamp| asked.registered_at.duration_since(at).unsigned_abs();
        of_name.min_by_key(|(_, at, ..)| distance(*at)).map(|(.., key)| key.clone())
    }
}

fn task(row: &Row, kind: &str, name: &str, status: &str) -> TaskView {
    TaskView {
        kind: kind.to_owned(),
        name: name.to_owned(),
        status: status.to_owned(),
        life: row.life.0,
        attempts: 0,
        scheduled_at: None,
        started_at: None,
        finished_at: None,
        idempotency_key: None,
        trace: row.trace.clone(),
        node: None,
    }
}

/// A stage that has ended.
fn done(row: &Row, event: &HistoryEvent) -> TaskView {
    let detail = parsed(&event.detail);
    let failed = matches!(text(&detail, "status").as_str(), "fail" | "retry");
    TaskView {
        life: event.life.0,
        attempts: detail["attempt"].as_i64().unwrap_or_default(),
        started_at: text(&detail, "startedAt").parse().ok(),
        finished_at: Some(event.at),
        node: Some(event.source.clone()),
        ..task(row, "stage", &text(&detail, "wake"), if failed { "error" } else { "finished" })
    }
}

/// The stage that runs, or is the next to run.
fn present(row: &Row) -> Option<TaskView> {
    if let Some((attempt, since)) = row.running {
        let node = row.node.clone();
        let attempts = attempt.0.into();
        return Some(TaskView {
            attempts,
            started_at: Some(since),
            node,
            ..task(row, "stage", "now", "running")
        });
    }
    let scheduled_at = row.ready_since.or(row.due_at).or(row.start_at);
    match row.status {
        status if status.is_final() => None,
        // A condition or a time that it was registered with.
        Status::Postponed => Some(TaskView { scheduled_at, ..task(row, "stage", "next", "blocked") }),
        _ => {
            // Behind others of its queue; `explain` says which ones.
            let is_queued = row.mode == Mode::Sequential && row.ready_since.is_some();
            Some(TaskView {
                scheduled_at,
                ..task(row, "stage", "next", if is_queued { "blocked" } else { "waiting" })
            })
        }
    }
}

fn request(row: &Row, asked: &RequestView) -> TaskView {
    let status = match asked.status.as_str() {
        "open" => "waiting",
        "answered" => "finished",
        "timeout" => "error",
        _ => "cancelled",
    };
    let (kind, name) = match asked.name.strip_prefix(ACTOR) {
        Some(actor) => ("actor", actor),
        None => ("request", asked.name.as_str()),
    };
    TaskView {
        life: asked.life,
        attempts: 1,
        scheduled_at: Some(asked.registered_at),
        started_at: Some(asked.registered_at),
        finished_at: asked.closed_at,
        ..task(row, kind, name, status)
    }
}

fn notification(row: &Row, unsent: &UnsentView) -> TaskView {
    let status = if unsent.parked_because.is_some() { "error" } else { "waiting" };
    TaskView {
        life: unsent.life,
        attempts: unsent.attempts.into(),
        scheduled_at: unsent.next_at,
        ..task(row, "notification", &unsent.kind, status)
    }
}
