//! Days made seconds. Keeps the times of one test in their order: the shortest becomes one step, the
//! next two steps, and so on, with more between what comes from outside and the timer that it must
//! forestall. A time-out that the test does not reach stays as long as it is.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::document::parse_duration;
use serde_json::Value;

/// Distance between two times of one test.
const STEP: Duration = Duration::from_secs(1);
/// Distance between them besides where a timer follows something from outside: a busy machine must
/// not turn the two round.
const SLACK: Duration = Duration::from_secs(3);

/// A time in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// A callback, a decision or a call comes.
    Outside(Duration),
    /// The engine wakes the order.
    Timer(Duration),
}

/// Times of one test: virtual ones, and the real ones that they are moved to.
#[derive(Debug)]
pub struct Pace {
    now: Timestamp,
    /// Virtual and real, in their order.
    times: Vec<(Duration, Duration)>,
}

/// Time-outs of a scenario that end a rest in a test: only these are made short.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The states whose time runs out.
    pub timed_out: HashSet<String>,
    /// True where an actor never decides.
    pub silent_actor: bool,
}

impl Pace {
    /// The times of a test that begins `now` in virtual time.
    pub fn of(now: Timestamp, mut marks: Vec<Mark>) -> Self {
        marks.retain(|mark| !mark.time().is_zero());
        marks.sort_unstable_by_key(|mark| (mark.time(), *mark));
        let (mut times, mut real) = (Vec::<(Duration, Duration)>::new(), Duration::ZERO);
        let mut outside = false;
        for mark in marks {
            if times.last().is_none_or(|(time, _)| *time < mark.time()) {
                let timer = matches!(mark, Mark::Timer(_));
                real += STEP + if outside && timer { SLACK } else { Duration::ZERO };
                outside = !timer;
                times.push((mark.time(), real));
            }
        }
        Self { now, times }
    }

    /// The real time that stands for this virtual one.
    pub fn short(&self, time: Duration) -> Duration {
        let reached = self.times.iter().rev().find(|(virtual_time, _)| *virtual_time <= time);
        reached.map_or(Duration::ZERO, |(_, real)| *real)
    }

    /// Moves every time of the calendar in a value to the run that began at this moment.
    pub fn moved(&self, value: &Value, begun: Timestamp) -> Value {
        match value {
            Value::String(text) => match offset(text, self.now) {
                Some(offset) => (begun + self.short(offset)).to_string().into(),
                None => value.clone(),
            },
            Value::Array(list) => list.iter().map(|item| self.moved(item, begun)).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, item)| (key.clone(), self.moved(item, begun))).collect()
            }
            other => other.clone(),
        }
    }
}

impl Mark {
    const fn time(self) -> Duration {
        match self {
            Self::Outside(time) | Self::Timer(time) => time,
        }
    }
}

/// Distance of the times of the calendar in a value from now.
pub fn ahead(value: &Value, now: Timestamp, marks: &mut Vec<Mark>) {
    match value {
        Value::String(text) => marks.extend(offset(text, now).map(Mark::Timer)),
        Value::Array(list) => list.iter().for_each(|item| ahead(item, now, marks)),
        Value::Object(map) => map.values().for_each(|item| ahead(item, now, marks)),
        _ => {}
    }
}

fn offset(text: &str, now: Timestamp) -> Option<Duration> {
    let at: Timestamp = text.parse().ok()?;
    Some(at.duration_since(now).try_into().unwrap_or(Duration::ZERO))
}

/// A duration of a scenario or of a test.
pub fn duration(value: &Value) -> Duration {
    parse_duration(value.as_str().unwrap()).unwrap()
}

/// Visits every duration of a scenario that is to be made short.
pub fn each_time(scenario: &mut Value, ends: &Ends, each: &mut dyn FnMut(&mut Value)) {
    let Some(states) = scenario.get_mut("states").and_then(Value::as_object_mut) else {
        // The states of an operation have no names of its author: all its waits are one matter.
        return visit(&mut scenario["actions"], ends, !ends.timed_out.is_empty(), each);
    };
    for state in states.values_mut() {
        let rest = state["on"]["wait"].as_str().unwrap_or_default();
        let runs_out = ends.timed_out.contains(rest);
        visit(state, ends, runs_out, each);
    }
}

fn visit(value: &mut Value, ends: &Ends, runs_out: bool, each: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|item| visit(item, ends, runs_out, each)),
        Value::Object(map) => {
            for (key, inner) in map {
                let times: &[&str] = match key.as_str() {
                    "sleep" => &["for"],
                    "wait" if runs_out => &["timeout"],
                    "poll" => &["delay", "interval"],
                    "actor" if ends.silent_actor => &["workTimeout", "taskTimeout"],
                    _ => &[],
                };
                for time in times {
                    inner.as_object_mut().and_then(|inner| inner.get_mut(*time)).map(&mut *each);
                }
                visit(inner, ends, runs_out, each);
            }
        }
        _ => {}
    }
}
