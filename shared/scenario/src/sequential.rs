//! `sequential`: the queue that a scenario gives its orders (SCN-21).
//!
//! Names parameters and nothing else, so that a registration runs no code for it and another process that reads the same
//! version finds the same queue.

use pagurus_domain::attributes::written;
use pagurus_domain::document::{Fault, pointer_to};
use pagurus_domain::order::registration::{QueueOfScenario, queue_name};
use serde_json::Value;

/// Name of a queue, made of constant texts and parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueTemplate(Vec<QueuePiece>);

/// A part of the name of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueuePiece {
    /// Text as it stands.
    Text(String),
    /// The value of a parameter, by its keys below `params`.
    Param(Vec<String>),
}

impl QueueTemplate {
    /// The name that these pieces make.
    #[must_use]
    pub const fn new(pieces: Vec<QueuePiece>) -> Self {
        Self(pieces)
    }

    /// The parameters that it reads, each by its path below `params`.
    pub fn params(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|piece| match piece {
            QueuePiece::Param(path) => Some(path.join(".")),
            QueuePiece::Text(_) => None,
        })
    }

    /// The queue of an order with these parameters.
    ///
    /// # Errors
    /// A parameter is missing or is no text, number or truth value, or the name is none for a queue.
    pub fn queue(&self, params: &Value) -> QueueOfScenario {
        let mut name = String::new();
        for piece in &self.0 {
            match piece {
                QueuePiece::Text(text) => name.push_str(text),
                QueuePiece::Param(path) => name.push_str(&text_at(params, path)?),
            }
        }
        let read = self.0.iter().find_map(|piece| match piece {
            QueuePiece::Param(path) => Some(pointer_of(path)),
            QueuePiece::Text(_) => None,
        });
        queue_name(&Value::String(name), &read.unwrap_or_default()).map_err(|fault| Fault {
            message: format!("gives the queue of the order, which {}", fault.message),
            ..fault
        })
    }
}

fn text_at(params: &Value, path: &[String]) -> Result<String, Fault> {
    let found = path.iter().try_fold(params, |value, key| value.get(key));
    let message = match found {
        None | Some(Value::Null) => "is missing: the scenario takes the queue of the order from it",
        Some(value) => match written(value) {
            Some(text) if text.is_empty() => "is empty: the scenario takes the queue of the order from it",
            Some(text) => return Ok(text),
            None => {
                "must be a text, a number or a truth value: the scenario takes the queue of the order from it"
            }
        },
    };
    Err(Fault::placed(None, pointer_of(path), message))
}

fn pointer_of(path: &[String]) -> String {
    path.iter().fold("/params".to_owned(), |parent, key| pointer_to(&parent, key))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;

    fn template() -> QueueTemplate {
        let path = |path: &str| QueuePiece::Param(path.split('.').map(str::to_owned).collect());
        QueueTemplate::new(vec![
            QueuePiece::Text("sim-".into()),
            path("sim.no"),
            QueuePiece::Text("/".into()),
            path("n"),
        ])
    }

    #[test]
    fn scn_21_the_queue_is_made_of_parameters() {
        let queue = |params: Value| template().queue(&params).map_err(|fault| (fault.pointer, fault.message));
        assert_eq!(queue(json!({"sim": {"no": "79"}, "n": 7})).unwrap(), "sim-79/7");
        assert_eq!(queue(json!({"sim": {"no": true}, "n": 1.5})).unwrap(), "sim-true/1.5");
        let at = |params: Value| queue(params).unwrap_err().0;
        assert_eq!(at(json!({"n": 7})), "/params/sim/no");
        assert_eq!(at(json!({"sim": {"no": null}, "n": 7})), "/params/sim/no");
        assert_eq!(at(json!({"sim": {"no": ""}, "n": 7})), "/params/sim/no");
        assert_eq!(at(json!({"sim": {"no": "a"}, "n": [7]})), "/params/n");
        let long = queue(json!({"sim": {"no": "x".repeat(250)}, "n": 7})).unwrap_err();
        assert_eq!(long.0, "/params/sim/no");
        assert!(long.1.contains("255 bytes"), "{}", long.1);
        assert!(queue(json!({"sim": {"no": "a\nb"}, "n": 7})).is_err());
    }
}
