//! Random turns of a schedule against a naive account of its times: two activators whose clocks differ and who die before they
//! commit, orders that end or are refused, and rules that people change (ORD-39).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::id::OrderNo;
use pagurus_domain::order::Status;
use pagurus_domain::schedule::{CatchUpPolicy, MOST_QUEUED, ON_TIME, ScheduleRule};
use pagurus_store::upkeep::schedules::RunCounts;
use proptest::prelude::*;

use super::*;

/// The start of every play, in seconds: a multiple of every period.
const START: i64 = 1_814_400_000;
/// Seconds by which an order may be late.
const WITHIN: i64 = 1200;

/// Something that happens to a schedule or to one of its orders.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An activator looks after a pause in seconds, and dies before it commits or does not.
    Look { is_second: bool, pause: i64, dies: bool },
    /// The oldest order that has not ended ends.
    End,
    /// People put another policy in the place of the old one.
    Change { overlap: Overlap },
}

/// A play.
#[derive(Clone, Debug)]
struct Drawn {
    /// Minutes between two times.
    period: i64,
    policy: CatchUpPolicy,
    overlap: Overlap,
    /// Seconds by which the clock of each activator is ahead.
    ahead: [i64; 2],
    /// Orders that a turn registers, at most.
    most: usize,
    /// Times of which the orders are refused: those that leave these rests.
    refused: Vec<i64>,
    steps: Vec<Step>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let pause = prop_oneof![4 => 0..90_i64, 3 => 90..1_500_i64, 1 => 1_500..9_000_i64];
    let overlap = || (0..4_usize).prop_map(|overlap| Overlap::ALL[overlap]);
    let step = prop_oneof![
        6 => (any::<bool>(), pause, prop::bool::weighted(0.2))
            .prop_map(|(is_second, pause, dies)| Step::Look { is_second, pause, dies }),
        3 => Just(Step::End),
        1 => overlap().prop_map(|overlap| Step::Change { overlap }),
    ];
    let rule = (1..12_i64, (0..3_usize).prop_map(|policy| CatchUpPolicy::ALL[policy]), overlap());
    let most = prop_oneof![2 => 1..6_usize, 1 => Just(MOST)];
    let refused = proptest::collection::vec(0..9_i64, 0..3);
    let steps = proptest::collection::vec(step, 1..40);
    (rule, [-120..120_i64, -120..120_i64], most, refused, steps).prop_map(
        |((period, policy, overlap), ahead, most, refused, steps)| Drawn {
            period,
            policy,
            overlap,
            ahead,
            most,
            refused,
            steps,
        },
    )
}

impl Drawn {
    fn rule(&self, overlap: Overlap) -> ScheduleRule {
        let within = (self.policy != CatchUpPolicy::Skip).then(|| format!("{WITHIN}s"));
        let catch_up = json!({"policy": self.policy, "within": within});
        serde_json::from_value(
            json!({"every": format!("{}m", self.period), "catchUp": catch_up, "overlap": overlap}),
        )
        .unwrap()
    }

    fn is_refused(&self, at: i64) -> bool {
        self.refused.contains(&(at / (self.period * 60) % 9))
    }
}

fn stamp(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap()
}

/// Outcomes of times, by their seconds.
type Outcomes = BTreeMap<i64, RunOutcome>;

/// The rows of a schedule, as the database keeps them.
struct Rows {
    stored: StoredSchedule,
    outcomes: Outcomes,
    unended: BTreeSet<i64>,
}

impl Rows {
    fn new() -> Self {
        let stored = StoredSchedule {
            name: "s".into(),
            rule: String::new(),
            template: String::new(),
            note: String::new(),
            revision: 1,
            paused: None,
            decided_until: stamp(START),
            next_at: None,
            queued: 0,
            counts: RunCounts::default(),
            refused_in_row: 0,
            problem: None,
            made_by: String::new(),
            made_at: stamp(START),
            changed_by: String::new(),
            changed_at: stamp(START),
            now: stamp(START),
        };
        Self { stored, outcomes: Outcomes::new(), unended: BTreeSet::new() }
    }

    /// Does what a turn does with the decisions, and commits them where it does not die: whether there is more to decide.
    fn turn(&mut self, schedule: &Schedule, drawn: &Drawn, dies: bool) -> bool {
        let order =
            |at: &i64| UnendedOrder { no: OrderNo(*at), id: order_id("s", stamp(*at)), status: Status::Wait };
        let unended: Vec<UnendedOrder> = self.unended.iter().map(order).collect();
        let mut decisions = Decisions::of(&self.stored, schedule, &unended);
        if self.stored.queued > 0 && unended.is_empty() {
            let queued = |(_, outcome): &(&i64, &RunOutcome)| **outcome == RunOutcome::Queued;
            let first = self.outcomes.iter().find(queued).map(|(at, _)| stamp(*at));
            decisions.register.extend(first);
            decisions.change.queued -= 1;
        }
        let due = schedule.due(self.stored.decided_until, self.stored.now, drawn.most);
        let Some((decided_until, mut has_more)) = decisions.decide(&due) else {
            // Ended by transactions of their own, which a death behind them leaves.
            self.unended.clear();
            return true;
        };
        for at in std::mem::take(&mut decisions.register) {
            match drawn.is_refused(at.as_second()) {
                true => decisions.refuse(at, "refused".into()),
                false => decisions.register_one(at, &order_id("s", at)),
            }
        }
        has_more |= decisions.change.refused_in_row > 0 && self.stored.queued > 0;
        let Decisions { runs, change, .. } = decisions;
        if dies {
            return false;
        }
        for run in runs {
            let at = run.due_at.as_second();
            let before = self.outcomes.insert(at, run.outcome);
            assert!(matches!(before, None | Some(RunOutcome::Queued)), "{at} was {before:?} already");
            assert_eq!(run.order_id.is_some(), run.outcome == RunOutcome::Registered);
            assert!(run.order_id.is_some() || run.reason.is_some(), "no order and no reason: {at}");
            if run.outcome == RunOutcome::Registered {
                assert!(self.unended.insert(at));
            }
        }
        let counts = &mut self.stored.counts;
        counts.registered += change.counts.registered;
        counts.skipped += change.counts.skipped;
        counts.missed += change.counts.missed;
        counts.refused += change.counts.refused;
        self.stored.queued += change.queued;
        self.stored.decided_until = decided_until;
        has_more
    }
}

/// The naive account: a walk over the seconds, one time after the other.
struct Account {
    decided: i64,
    outcomes: Outcomes,
    unended: BTreeSet<i64>,
}

impl Account {
    fn is_queued(&self, at: i64) -> bool {
        self.outcomes.get(&at) == Some(&RunOutcome::Queued)
    }

    fn queued(&self) -> Vec<i64> {
        self.outcomes.keys().copied().filter(|at| self.is_queued(*at)).collect()
    }

    /// Decides at this time all that has come.
    fn look(&mut self, now: i64, drawn: &Drawn, overlap: Overlap) {
        loop {
            let mut of_turn = Vec::new();
            let queued = self.queued();
            if self.unended.is_empty() {
                of_turn.extend(queued.first().copied());
            }
            let come: Vec<i64> =
                (self.decided + 1..=now).filter(|at| at % (drawn.period * 60) == 0).collect();
            let kept = Self::kept(&come, now, drawn.policy);
            let missed = come.iter().filter(|at| !kept.contains(at));
            self.outcomes.extend(missed.map(|at| (*at, RunOutcome::Missed)));
            let due = &kept[..kept.len().min(drawn.most)];
            // What is to be replaced is ended first, and the turn begins again.
            if overlap == Overlap::Replace && !due.is_empty() && !self.unended.is_empty() {
                self.unended.clear();
                continue;
            }
            let mut until = self.decided.max(now);
            let mut has_more = kept.len() > due.len();
            if has_more {
                until = *due.last().unwrap();
            }
            for at in due {
                let is_busy = !self.unended.is_empty() || !of_turn.is_empty();
                let waits = queued.iter().filter(|at| !of_turn.contains(at)).count()
                    + due.iter().filter(|at| self.is_queued(**at)).count();
                match overlap {
                    Overlap::Skip if is_busy => drop(self.outcomes.insert(*at, RunOutcome::Skipped)),
                    Overlap::Queue if waits >= MOST_QUEUED => {
                        self.outcomes.insert(*at, RunOutcome::Skipped);
                    }
                    Overlap::Queue if is_busy || waits > 0 => {
                        self.outcomes.insert(*at, RunOutcome::Queued);
                    }
                    // What this turn registers is there when the next one ends it.
                    Overlap::Replace if !of_turn.is_empty() => {
                        (until, has_more) = (at - 1, true);
                        break;
                    }
                    _ => of_turn.push(*at),
                }
            }
            let is_one_refused = of_turn.iter().any(|at| drawn.is_refused(*at));
            for at in of_turn {
                let is_refused = drawn.is_refused(at);
                self.outcomes
                    .insert(at, if is_refused { RunOutcome::Refused } else { RunOutcome::Registered });
                if !is_refused {
                    self.unended.insert(at);
                }
            }
            self.decided = until;
            if !(has_more || (is_one_refused && !queued.is_empty())) {
                return;
            }
        }
    }

    fn kept(come: &[i64], now: i64, policy: CatchUpPolicy) -> Vec<i64> {
        let longest = if policy == CatchUpPolicy::All { WITHIN } else { ON_TIME.as_secs() };
        let kept: Vec<i64> = come.iter().copied().filter(|at| now - at <= longest).collect();
        let last = come.last().copied().filter(|at| policy == CatchUpPolicy::One && now - at <= WITHIN);
        if kept.is_empty() { last.into_iter().collect() } else { kept }
    }
}

fn play(drawn: &Drawn) -> Result<(), TestCaseError> {
    let mut rows = Rows::new();
    let mut account = Account { decided: START, outcomes: Outcomes::new(), unended: BTreeSet::new() };
    let (mut overlap, mut clock) = (drawn.overlap, START);
    for step in &drawn.steps {
        let schedule = Schedule::read(&drawn.rule(overlap)).unwrap();
        match *step {
            Step::End => {
                let first = rows.unended.pop_first();
                prop_assert_eq!(first, account.unended.pop_first());
            }
            Step::Change { overlap: other } => overlap = other,
            Step::Look { is_second, pause, dies } => {
                clock += pause;
                let now = clock + drawn.ahead[usize::from(is_second)];
                rows.stored.now = stamp(now);
                if dies {
                    let before = rows.unended.clone();
                    rows.turn(&schedule, drawn, true);
                    // What it has ended for the next order stays ended.
                    if rows.unended != before {
                        account.unended.clear();
                    }
                    continue;
                }
                let mut turns = 0;
                while rows.turn(&schedule, drawn, false) {
                    turns += 1;
                    prop_assert!(turns < 1000, "the turns do not end");
                }
                account.look(now, drawn, overlap);
            }
        }
        prop_assert_eq!(
            &rows.outcomes_but_missed(),
            &account.outcomes_but_missed(),
            "{:?} of {:?}",
            step,
            drawn
        );
        prop_assert_eq!(&rows.unended, &account.unended, "{:?} of {:?}", step, drawn);
        prop_assert_eq!(rows.stored.decided_until, stamp(account.decided));
        let count = |outcome| i64::try_from(account.outcomes.values().filter(|one| **one == outcome).count());
        let counts = RunCounts {
            registered: count(RunOutcome::Registered).unwrap(),
            skipped: count(RunOutcome::Skipped).unwrap(),
            missed: count(RunOutcome::Missed).unwrap(),
            refused: count(RunOutcome::Refused).unwrap(),
        };
        prop_assert_eq!(rows.stored.counts, counts, "each time once: {:?} of {:?}", step, drawn);
        prop_assert_eq!(i64::from(rows.stored.queued), count(RunOutcome::Queued).unwrap());
        prop_assert!(rows.stored.queued <= i32::try_from(MOST_QUEUED).unwrap());
        let is_planned = |at: &i64| *at > START && *at <= account.decided && at % (drawn.period * 60) == 0;
        let planned = (START / (drawn.period * 60)..).map(|number| number * drawn.period * 60);
        let planned: Vec<i64> = planned.take_while(|at| *at <= account.decided).filter(is_planned).collect();
        prop_assert_eq!(
            account.outcomes.keys().copied().collect::<Vec<_>>(),
            planned,
            "no time is forgotten"
        );
    }
    Ok(())
}

fn but_missed(outcomes: &Outcomes) -> Outcomes {
    let kept = outcomes.iter().filter(|(_, outcome)| **outcome != RunOutcome::Missed);
    kept.map(|(at, outcome)| (*at, *outcome)).collect()
}

impl Rows {
    /// Missed times share a row: the counts have them.
    fn outcomes_but_missed(&self) -> Outcomes {
        but_missed(&self.outcomes)
    }
}

impl Account {
    fn outcomes_but_missed(&self) -> Outcomes {
        but_missed(&self.outcomes)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn ord_39_each_time_has_one_order_or_the_reason_why_not_whatever_dies(drawn in drawn()) {
        play(&drawn)?;
    }
}
