//! The consistency check in the background (REC-6): slowly over everything, and over the unfinished orders of some
//! scenarios besides. What a look finds is kept until it is looked at again; what a process forgets by its end, the
//! next round finds.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pagurus_command::check::{self, Suspect};
use pagurus_domain::number::saturated;
use pagurus_domain::order::principal::Principal;
use pagurus_runtime::Host;
use pagurus_runtime::config::CheckSettings;
use pagurus_runtime::metrics::{Count, Level, Work};
use pagurus_runtime::node::chain;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_store::Error;
use pagurus_store::recovery::consistency;
use pagurus_store::upkeep::walks::{self, Step};

use crate::recover::note;

/// Name of the walk over the unfinished orders of the scenarios that come first.
const FIRST: &str = "check-first";
/// Numbers of one page: their facts are in memory together, the longest of them some hundred KiB each.
const PAGE: i64 = 200;
/// Interval at which somebody asks whether it is time for a page.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Interval at which the gauges are set.
const SHOW_EVERY: Duration = Duration::from_secs(10);
/// Pause between two rounds over a small number of orders.
const BETWEEN_ROUNDS: Duration = Duration::from_secs(5);
/// Suspects at a time: while there are more, nothing else is looked at.
const MOST_SUSPECTS: usize = 2000;

/// The consistency check, with what it suspects and when it shows that next.
pub(crate) struct Checker {
    host: Host,
    /// Orders in which something was found, with the time of that look; the oldest first.
    suspects: VecDeque<(Suspect, Instant)>,
    show_at: Instant,
}

impl Checker {
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone(), suspects: VecDeque::new(), show_at: Instant::now() }
    }

    /// Takes the first look at the next page of a walk, if it is time for it.
    async fn page(&mut self, walk: &str, rate: u32, settings: &CheckSettings) -> Result<(), Error> {
        let begun = Instant::now();
        let Some(nos) = self.take(walk, rate, settings).await? else { return Ok(()) };
        let client = self.host.store.operations().await?;
        let found = check::suspects(&client, &nos).await?;
        drop(client);
        for suspect in found {
            if !self.suspects.iter().any(|(known, _)| known.no == suspect.no) {
                self.suspects.push_back((suspect, Instant::now()));
            }
        }
        self.host.metrics.batch(Work::Check, begun.elapsed());
        Ok(())
    }

    /// Takes the numbers of the next page; none before its time, or while another process takes it.
    async fn take(&self, walk: &str, rate: u32, settings: &CheckSettings) -> Result<Option<Vec<i64>>, Error> {
        let mut client = self.host.store.operations().await?;
        let Some((tx, Step { after_no, .. })) = walks::take(&mut client, walk).await? else {
            return Ok(None);
        };
        let numbers = if walk == FIRST {
            consistency::living(&tx, after_no, PAGE, &settings.first).await?
        } else {
            let all = consistency::numbers(&tx, after_no, PAGE).await?;
            all.into_iter().map(|no| (no, true)).collect()
        };
        let last = numbers.last().map(|(no, _)| *no);
        let is_full = i64::try_from(numbers.len()).is_ok_and(|count| count == PAGE);
        let next = last.filter(|_| is_full).map(|after_no| Step { after_no, ..Step::default() });
        let time = Duration::from_secs(1) * saturated::<u32>(numbers.len()) / rate;
        let pause = if next.is_some() { time } else { time.max(BETWEEN_ROUNDS) };
        walks::come_to(&tx, walk, next.as_ref(), pause).await?;
        tx.commit().await?;
        Ok(Some(numbers.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(no, _)| no).collect()))
    }

    /// Takes the second look at what was found so long ago.
    async fn confirm(&mut self, after: Duration) {
        let by = Principal::node(&self.host.name);
        while let Some((suspect, _)) =
            self.suspects.front().filter(|(_, found)| found.elapsed() >= after).cloned()
        {
            self.suspects.pop_front();
            if let Err(error) = check::settle(&self.host, &suspect, &by, None).await {
                self.host.metrics.count(Count::StoreErrors, "check", 1);
                tracing::warn!(order = %suspect.no, error = chain(&error), "an order could not be looked at again");
                if error.is_contention() {
                    self.suspects.push_back((suspect, Instant::now()));
                }
                return;
            }
        }
    }
}

impl BackgroundTask for Checker {
    const PAUSE: TurnPause = |_| LOOK_EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let settings = host.settings().recovery.check.clone();
        self.confirm(settings.confirm_after).await;
        if let Some(rate) = settings.rate.filter(|_| self.suspects.len() < MOST_SUSPECTS) {
            note(host, "check", self.page(walks::CHECK, rate, &settings).await);
            if !settings.first.is_empty() {
                note(host, "check", self.page(FIRST, rate, &settings).await);
            }
        }
        if Instant::now() >= self.show_at {
            self.show_at = Instant::now() + SHOW_EVERY;
            note(host, "check", show(host).await);
        }
        NextTurn::AfterPause
    }
}

async fn show(host: &Host) -> Result<(), Error> {
    let client = host.store.operations().await?;
    let marks = consistency::marks::count(&client).await?;
    host.metrics.level(Level::Inconsistent, "", marks as f64);
    let Some(walk) = walks::view(&client, walks::CHECK).await? else { return Ok(()) };
    let since = walk.ended_at.unwrap_or(walk.begun_at);
    let age = jiff::Timestamp::now().duration_since(since).as_secs_f64();
    host.metrics.level(Level::CheckAge, "", age.max(0.0));
    host.metrics.level(Level::CheckShare, "", walk.share());
    Ok(())
}
