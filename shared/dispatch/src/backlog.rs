//! How fast the backlog of a flow shrinks, so that its end can be forecast (DSP-18). Must never decide anything.
//!
//! What matters is the small difference between two rates, of stages that end and of stages that become ready, and chance moves it far.
//! So each is counted since it changed last, for minutes where it does not: an outage changes what ends, and not what comes.

use std::collections::VecDeque;
use std::time::Duration;

/// Standard deviations of a count by which two parts of a window differ, if the rate has changed between them. Chance alone makes
/// five at most among thousands; what ends while a limit is searched for varies by more than chance.
const CHANGED: f64 = 8.0;
/// Spans of one level. More of them place a change more precisely.
const SPANS: usize = 3;
/// Shortest part of a window that shows a change, in seconds.
const SHORTEST: f64 = 2.0;
/// Longest window, in seconds.
const LONGEST: f64 = 600.0;
/// Newest part of a window that gives the rate: while a limit grows after an outage, the rest is already too low.
const NEWEST: f64 = 0.5;
/// Standard deviations that a difference of the two rates must have to be one.
const SURE: f64 = 2.0;

/// A span of time, and what was counted in it.
#[derive(Clone, Copy, Debug, Default)]
struct RateSpan {
    seconds: f64,
    count: f64,
    /// Pairs that were merged into it, one after the other.
    level: u8,
}

impl RateSpan {
    /// Counts in a second.
    fn rate(self) -> f64 {
        if self.seconds > 0.0 { self.count / self.seconds } else { 0.0 }
    }

    /// Variance of the rate by chance.
    fn variance(self) -> f64 {
        if self.seconds > 0.0 { self.rate() / self.seconds } else { 0.0 }
    }

    /// Sum of both, which follow each other.
    fn and(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, count: self.count + other.count, level: self.level }
    }
}

/// Counts since their rate changed last, in spans that are the longer the older they are (adaptive windowing, ADWIN: Bifet and
/// Gavaldà, 2007). Holds a few dozen spans, however long it is.
#[derive(Clone, Debug, Default)]
struct RateWindow {
    /// Spans, the oldest first.
    spans: VecDeque<RateSpan>,
}

impl RateWindow {
    /// Takes in what was counted in this many seconds.
    fn follow(&mut self, count: f64, seconds: f64) {
        self.spans.push_back(RateSpan { seconds, count, level: 0 });
        self.merge();
        while self.spans.len() > 1 && (self.newest(1.0).seconds > LONGEST || self.has_changed()) {
            self.spans.pop_front();
        }
    }

    /// Merges the two oldest spans of each level that has too many. Levels fall from the oldest to the newest.
    fn merge(&mut self) {
        let mut level = 0;
        loop {
            let end = self.spans.iter().rposition(|span| span.level == level).map_or(0, |last| last + 1);
            let start = self.spans.iter().position(|span| span.level == level).unwrap_or(end);
            if end - start <= SPANS {
                return;
            }
            let Some(newer) = self.spans.remove(start + 1) else { return };
            level += 1;
            self.spans[start] = RateSpan { level, ..self.spans[start].and(newer) };
        }
    }

    /// True if some newest part differs from the rest by more than chance.
    fn has_changed(&self) -> bool {
        let all = self.newest(1.0);
        let mut newest = RateSpan::default();
        self.spans.iter().skip(1).rev().any(|span| {
            newest = newest.and(*span);
            let rest =
                RateSpan { seconds: all.seconds - newest.seconds, count: all.count - newest.count, level: 0 };
            let deviation =
                (newest.rate().max(rest.rate()) * (newest.seconds.recip() + rest.seconds.recip())).sqrt();
            newest.seconds >= SHORTEST && (newest.rate() - rest.rate()).abs() > CHANGED * deviation
        })
    }

    /// The newest spans that make up this part of the window.
    fn newest(&self, part: f64) -> RateSpan {
        let wanted = part * self.spans.iter().map(|span| span.seconds).sum::<f64>();
        let mut sum = RateSpan::default();
        for span in self.spans.iter().rev() {
            if sum.seconds >= wanted {
                break;
            }
            sum = sum.and(*span);
        }
        sum
    }
}

/// The work of a flow: stages that are ready or in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowBacklog {
    work: Option<u32>,
    /// Stages that became ready.
    came: RateWindow,
    /// Stages that ended.
    ended: RateWindow,
}

impl FlowBacklog {
    /// Takes in how much work there is after this time, in which this many stages have ended.
    pub(super) fn settle(&mut self, work: u32, ended: u32, passed: Duration) {
        let seconds = passed.as_secs_f64();
        if seconds > 0.0
            && let Some(before) = self.work.replace(work)
        {
            let ended = f64::from(ended);
            let came = f64::from(work) - f64::from(before) + ended;
            // Where many are removed at once, such as those of canceled orders, nobody knows what came.
            if came >= 0.0 {
                self.came.follow(came, seconds);
            }
            self.ended.follow(ended, seconds);
        }
    }

    /// Forecasts the seconds until the backlog is gone: no more stages are ready than end in a second. `None` while it does not shrink by
    /// more than chance.
    pub(super) fn seconds_to_empty(&self, ready: u32) -> Option<f64> {
        let (ended, came) = (self.ended.newest(NEWEST), self.came.newest(NEWEST));
        let (ready, a_second) = (f64::from(ready), ended.rate());
        if ready <= a_second {
            return (a_second > 0.0).then(|| ready / a_second);
        }
        let shrink = a_second - came.rate();
        let doubt = (ended.variance() + came.variance()).sqrt();
        (shrink > SURE * doubt).then(|| (ready - a_second) / shrink + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Lets so much end and come in each of these seconds.
    fn pass(backlog: &mut FlowBacklog, work: &mut u32, seconds: u32, [ended, came]: [u32; 2]) {
        for _ in 0..seconds {
            *work = *work + came - ended;
            backlog.settle(*work, ended, SECOND);
        }
    }

    #[test]
    fn dsp_18_the_end_of_a_backlog_follows_from_what_ends_and_what_comes() {
        let (mut backlog, mut work) = (FlowBacklog::default(), 10_000);
        pass(&mut backlog, &mut work, 60, [100, 80]);
        // By what ends alone it would be gone in a fifth of the time.
        let seconds = backlog.seconds_to_empty(8800).unwrap_or_default();
        assert!((435.0..437.0).contains(&seconds), "{seconds}");
        let always = backlog.seconds_to_empty(50).unwrap_or_default();
        assert!((0.49..0.51).contains(&always), "what always waits: {always}");
    }

    #[test]
    fn dsp_18_a_backlog_that_grows_has_no_end_and_a_change_shows_within_a_minute() {
        let (mut backlog, mut work) = (FlowBacklog::default(), 10_000);
        pass(&mut backlog, &mut work, 200, [0, 80]);
        assert_eq!(backlog.seconds_to_empty(26_000), None, "nothing ends");
        let mut balanced = backlog.clone();
        pass(&mut balanced, &mut work.clone(), 600, [100, 99]);
        assert_eq!(balanced.seconds_to_empty(10_000), None, "what chance may be");
        pass(&mut backlog, &mut work, 200, [60, 80]);
        assert_eq!(backlog.seconds_to_empty(30_000), None, "it grows");
        pass(&mut backlog, &mut work, 60, [100, 80]);
        let seconds = backlog.seconds_to_empty(30_000).unwrap_or_default();
        assert!((1490.0..1750.0).contains(&seconds), "{seconds}");
        // Ten thousand are canceled at once.
        work -= 10_000;
        pass(&mut backlog, &mut work, 1, [100, 80]);
        let seconds = backlog.seconds_to_empty(20_000).unwrap_or_default();
        assert!((900.0..1200.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn dsp_18_the_forecast_is_right_ten_seconds_after_an_outage() {
        let (mut backlog, mut work) = (FlowBacklog::default(), 0);
        pass(&mut backlog, &mut work, 300, [80, 80]);
        pass(&mut backlog, &mut work, 100, [0, 80]);
        pass(&mut backlog, &mut work, 10, [100, 80]);
        let seconds = backlog.seconds_to_empty(8000).unwrap_or_default();
        assert!((390.0..402.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn dsp_18_a_window_of_hours_holds_a_few_dozen_spans() {
        let mut window = RateWindow::default();
        for second in 0..20_000 {
            window.follow(f64::from(90 + second % 20), 1.0);
            assert!(window.spans.len() <= 40, "{}", window.spans.len());
        }
        let all = window.newest(1.0);
        assert!((LONGEST / 2.0..=LONGEST).contains(&all.seconds), "{all:?}");
        // Idle hours are one span, and the next seconds decide.
        window.follow(0.0, 36_000.0);
        for _ in 0..5 {
            window.follow(100.0, 1.0);
        }
        assert!((window.newest(NEWEST).rate() - 100.0).abs() < 0.1, "{window:?}");
    }
}
