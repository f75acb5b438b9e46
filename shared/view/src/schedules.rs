//! Schedules with their next times, and the decisions about the last ones.

use jiff::Timestamp;
use pagurus_domain::number::saturated;
use pagurus_domain::order::Status;
use pagurus_domain::schedule::{Schedule, ScheduleRule};
use pagurus_domain::time;
use pagurus_scenario::Mask;
use pagurus_store::upkeep::schedules::runs::{self, ShownRun};
use pagurus_store::upkeep::schedules::{self, StoredSchedule};
use pagurus_store::{Client, Error};
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use pagurus_wire::schedules::{
    ScheduleCounts, ScheduleProblem, ScheduleRunView, ScheduleTimesView, ScheduleView,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::Views;
use crate::query::{ListQuery, invalid, limit, page, strange_cursor};
use crate::windows::parsed;

/// Times that are shown of each schedule.
const SHOWN_AHEAD: usize = 5;
/// Times of an answer that has nothing else, as usual and at most.
const TIMES: (usize, usize) = (SHOWN_AHEAD, 1000);
/// Past times on a page, as usual and at most: no more are kept, but for those that have not ended.
const RUNS: (usize, usize) = (100, 1000);

/// Query of the next times of a schedule.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ScheduleTimesQuery {
    /// Times of the answer; default: 5.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    count: Option<String>,
    /// Show times after this one; default: now.
    after: Option<String>,
}

/// Query of the times of a schedule that have come.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct ScheduleRunsQuery {
    /// Times of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Schedules by name.
    pub async fn schedules(&self, query: &ListQuery) -> Result<Page<ScheduleView>, Problem> {
        let limit = query.limit()?;
        let after = query.cursor().unwrap_or_default();
        let read = async {
            let client = self.host.store.reports().await?;
            self.catalogue.refresh(&client).await?;
            let stored = schedules::list(&client, after, saturated(limit)).await?;
            let next = stored.last().filter(|_| stored.len() >= limit).map(|last| last.name.clone());
            let mut items = Vec::with_capacity(stored.len());
            for one in stored.into_iter().filter(|one| self.has_template(&parsed(&one.template))) {
                items.push(self.schedule_view(&client, one).await?);
            }
            Ok(Page { items, next })
        };
        read.await.map_err(self.failed("schedules"))
    }

    /// A schedule by its name.
    pub async fn schedule(&self, name: &str) -> Result<ScheduleView, Problem> {
        let read = async {
            let client = self.host.store.api().await?;
            self.catalogue.refresh(&client).await?;
            match schedules::find(&client, name).await? {
                Some(stored) => self.schedule_view(&client, stored).await.map(Some),
                None => Ok(None),
            }
        };
        read.await.map_err(self.failed("schedules"))?.ok_or_else(|| Problem::no_schedule(name))
    }

    /// The next times of a schedule.
    pub async fn schedule_times(
        &self,
        name: &str,
        query: &ScheduleTimesQuery,
    ) -> Result<ScheduleTimesView, Problem> {
        let count = query.count.as_deref().map_or(Ok(TIMES.0), str::parse);
        let count = count.ok().filter(|count| (1..=TIMES.1).contains(count));
        let count = count.ok_or_else(|| invalid("/count", format!("count must be 1 to {}", TIMES.1)))?;
        let after = query.after.as_deref().map(|text| {
            time::read(text).ok_or_else(|| invalid("/after", format!("after must be {}", time::RANGE)))
        });
        let after = after.transpose()?;
        let stored = async { schedules::find(&self.host.store.api().await?, name).await };
        let stored =
            stored.await.map_err(self.failed("schedules"))?.ok_or_else(|| Problem::no_schedule(name))?;
        let schedule = read_rule(&stored).and_then(|rule| Schedule::read(&rule).ok());
        let times = schedule.map(|schedule| {
            let after = after.unwrap_or_else(|| stored.decided_until.max(stored.now));
            schedule.plan.times(after).take(count).collect()
        });
        Ok(ScheduleTimesView { times: times.unwrap_or_default() })
    }

    /// Times of a schedule that have come, the newest first.
    pub async fn schedule_runs(
        &self,
        name: &str,
        query: &ScheduleRunsQuery,
    ) -> Result<Page<ScheduleRunView>, Problem> {
        let limit = limit(query.limit.as_deref(), RUNS.0, RUNS.1)?;
        let before =
            query.cursor.as_deref().map(|text| time::read(text).ok_or_else(strange_cursor)).transpose()?;
        let before = before.unwrap_or(LAST);
        let read = async {
            let client = self.host.store.api().await?;
            if schedules::find(&client, name).await?.is_none() {
                return Ok(None);
            }
            runs::page(&client, name, before, saturated(limit)).await.map(Some)
        };
        let rows = read.await.map_err(self.failed("schedules"))?.ok_or_else(|| Problem::no_schedule(name))?;
        Ok(page(rows, limit, |row| time::shown(row.run.due_at), run_view))
    }

    async fn schedule_view(&self, client: &Client, stored: StoredSchedule) -> Result<ScheduleView, Error> {
        let rule = read_rule(&stored).unwrap_or_default();
        let after = stored.decided_until.max(stored.now);
        let next: Vec<Timestamp> = Schedule::read(&rule)
            .map(|schedule| schedule.plan.times(after).take(SHOWN_AHEAD).collect())
            .unwrap_or_default();
        let last = runs::page(client, &stored.name, LAST, 1).await?.into_iter().next();
        let order = self.shown_template(client, &parsed(&stored.template)).await?;
        let state = match (&stored.paused, stored.next_at, stored.queued) {
            (Some(_), ..) => "paused",
            (None, None, 0) => "over",
            (None, ..) => "active",
        };
        let tag = stored.tag();
        let (paused_at, paused_by, pause_reason) = match stored.paused {
            Some((at, by, reason)) => {
                (Some(at), Some(parsed(&by)), Some(reason).filter(|reason| !reason.is_empty()))
            }
            None => (None, None, None),
        };
        let lasts = stored.refused_in_row > 0;
        Ok(ScheduleView {
            name: stored.name,
            tag,
            order,
            rule,
            note: stored.note,
            state: state.to_owned(),
            paused: paused_at.is_some(),
            paused_at,
            paused_by,
            pause_reason,
            next,
            queued: stored.queued,
            last: last.map(run_view),
            counts: ScheduleCounts {
                registered: stored.counts.registered,
                skipped: stored.counts.skipped,
                missed: stored.counts.missed,
                refused: stored.counts.refused,
            },
            problem: stored.problem.map(|(message, at)| ScheduleProblem { message, at, lasts }),
            by: parsed(&stored.made_by),
            made_at: stored.made_at,
            changed_by: parsed(&stored.changed_by),
            changed_at: stored.changed_at,
        })
    }

    /// The order of a schedule, without what the newest version of its scenario hides.
    async fn shown_template(&self, client: &Client, order: &Value) -> Result<Value, Error> {
        let name = order["scenario"].as_str().unwrap_or_default();
        let known = self.catalogue.find(client, name, None).await?;
        let hidden = match known {
            Some(known) => self.hidden_by(client, Some(known.no)).await?,
            None => None,
        };
        Ok(match hidden {
            Some(hidden) => hidden.mask.registration(order, &hidden.secrets),
            None => {
                let mut shown = Mask::default().registration(order, &pagurus_scenario::Concealed::default());
                shown["params"] = pagurus_domain::MASKED.into();
                shown
            }
        })
    }
}

/// Behind every time.
const LAST: Timestamp = Timestamp::constant(253_402_207_200, 0);

fn read_rule(stored: &StoredSchedule) -> Option<ScheduleRule> {
    serde_json::from_str(&stored.rule).ok()
}

fn run_view(shown: ShownRun) -> ScheduleRunView {
    let ShownRun { run, decided_at, status } = shown;
    ScheduleRunView {
        time: run.due_at,
        outcome: run.outcome.to_string(),
        order: run.order_id,
        order_status: status.map(|status: Status| status.to_string()),
        reason: run.reason,
        missed: run.missed.map(|(count, _)| count),
        missed_from: run.missed.map(|(_, from)| from),
        decided_at,
    }
}
