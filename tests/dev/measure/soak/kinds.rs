//! The kinds of orders in a soak: what is sent, what the called system makes of it, and how it must end.
//! Never depends on chance: the number of an order says its kind.

use serde_json::{Value, json};

/// Kinds of orders, by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A call.
    One,
    /// A question, its answer, and a call.
    Three,
    /// The same, but the answer comes before the question is taken, and twice.
    Early,
    /// A call, in a queue with others.
    Queue,
    /// A sleep, and a call.
    Nap,
    /// A call that is refused twice, and then taken.
    Flaky,
    /// A call that is refused for good.
    Failing,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::One, Self::Three, Self::Early, Self::Queue, Self::Nap, Self::Flaky, Self::Failing];

    /// Kinds of 20 orders in a row.
    const MIX: [Self; 20] = [
        Self::One,
        Self::Three,
        Self::Queue,
        Self::One,
        Self::Nap,
        Self::Queue,
        Self::Flaky,
        Self::One,
        Self::Three,
        Self::Queue,
        Self::Early,
        Self::One,
        Self::Queue,
        Self::Failing,
        Self::One,
        Self::Queue,
        Self::Nap,
        Self::Three,
        Self::Queue,
        Self::One,
    ];

    /// The kind of the order with this number.
    pub fn of(number: u64) -> Self {
        Self::MIX[(number % Self::MIX.len() as u64) as usize]
    }

    /// The word for it; its scenario is called by it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Three => "three",
            Self::Early => "early",
            Self::Queue => "queue",
            Self::Nap => "nap",
            Self::Flaky => "flaky",
            Self::Failing => "failing",
        }
    }

    /// The name of its scenario.
    pub fn scenario(self) -> String {
        format!("soak-{}", self.as_str())
    }

    /// Scenario of the kind.
    pub fn text(self) -> String {
        let text = match self {
            Self::One | Self::Queue | Self::Flaky | Self::Failing => include_str!("call.yaml"),
            Self::Three | Self::Early => include_str!("ask.yaml"),
            Self::Nap => include_str!("nap.yaml"),
        };
        text.replace("NAME", &self.scenario())
    }

    /// The status in which it ends.
    pub const fn ends_as(self) -> &'static str {
        match self {
            Self::Failing => "fail",
            _ => "success",
        }
    }

    /// An order of this kind.
    pub fn order(self, id: &str, number: u64) -> Value {
        let mut order = json!({
            "id": id, "scenario": self.scenario(), "params": {"kind": self.as_str(), "queue": ""},
            "notify": {"url": "amqp://?key=soak"},
        });
        if self == Self::Queue {
            let queue = format!("soak-{}", number / Self::MIX.len() as u64 % QUEUES);
            order["mode"] = json!("sequential");
            order["params"]["queue"] = json!(queue);
            order["queue"] = json!(queue);
        }
        order
    }
}

/// Queues that sequential orders stand in.
const QUEUES: u64 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_sent_and_has_its_own_name() {
        for kind in Kind::ALL {
            assert!(Kind::MIX.contains(&kind), "{kind:?}");
            assert!(kind.text().contains(&format!("scenario: soak-{}\n", kind.as_str())));
            assert_eq!(kind.order("a", 7)["mode"] == "sequential", kind == Kind::Queue);
        }
    }
}
