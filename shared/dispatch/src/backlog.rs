//! How fast the backlog of a flow shrinks, so that its end can be forecast (DSP-18). Must never decide anything.
//!
//! What matters is the small difference between two rates, of stages that end and of stages that become ready, and chance moves it far.
//! So each is averaged since it changed last, for minutes where it does not: an outage changes what ends, and not what comes.

use std::time::Duration;

use super::timing::{Average, chance_of};

/// Delay of a rate in which a change shows, in seconds.
const RECENT: f64 = 5.0;
/// Longest delay of a rate, while it does not change.
const LONGEST: f64 = 300.0;
/// Part of the time since a rate changed that is the delay of its average: what it was at first, such as while a limit grows after an
/// outage, is soon forgotten, by a power of the time (polynomial-decay averaging; Shamir and Zhang, 2013).
const SHARE: f64 = 1.0 / 3.0;
/// Part of a rate by which a limit moves it while it is searched for: no change.
const SEARCH: f64 = 0.3;

/// Standard deviations that a difference of the two rates must have to be one.
const SURE: f64 = 2.0;

/// A rate, averaged since it changed last.
#[derive(Clone, Copy, Debug, Default)]
struct SteadyRate {
    recent: Average,
    steady: Average,
    /// Seconds since it changed last.
    age: f64,
}

impl SteadyRate {
    /// Delay of its average.
    fn delay(&self) -> f64 {
        (SHARE * self.age).clamp(RECENT, LONGEST)
    }

    /// Follows what the rate was for this many seconds.
    fn follow(&mut self, present: f64, seconds: f64) {
        self.age += seconds;
        self.recent.follow(present, seconds, RECENT);
        self.steady.follow(present, seconds, self.delay());
        let (recent, steady) = (self.recent.value(), self.steady.value());
        if (recent - steady).abs() > chance_of([recent, steady], RECENT).max(SEARCH * steady) {
            self.steady = self.recent;
            self.age = RECENT;
        }
    }
}

/// The work of a flow: stages that are ready or in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowBacklog {
    work: Option<u32>,
    /// Stages that became ready.
    came: SteadyRate,
    /// Stages that ended.
    ended: SteadyRate,
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
                self.came.follow(came / seconds, seconds);
            }
            self.ended.follow(ended / seconds, seconds);
        }
    }

    /// Forecasts the seconds until the backlog is gone: no more stages are ready than end in a second. `None` while it does not shrink by
    /// more than chance.
    pub(super) fn seconds_to_empty(&self, ready: u32) -> Option<f64> {
        let (ready, ended) = (f64::from(ready), self.ended.steady.value());
        if ready <= ended {
            return (ended > 0.0).then(|| ready / ended);
        }
        let came = self.came.steady.value();
        let (shrink, doubt) =
            (ended - came, (ended / (2.0 * self.ended.delay()) + came / (2.0 * self.came.delay())).sqrt());
        (shrink > SURE * doubt).then(|| (ready - ended) / shrink + 1.0)
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
        let mut balanced = backlog;
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
}
