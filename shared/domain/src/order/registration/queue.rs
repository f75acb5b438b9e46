//! Mode and queue of an order: its own words, or those of its scenario (ORD-4, SCN-21).

use serde_json::Value;

use super::{MAX_NAME_BYTES, Mode, QueueOfScenario, Request, fault, text_at};
use crate::document::Fault;

/// The name of a queue.
///
/// # Errors
/// The value is none, at this JSON pointer.
pub fn queue_name(value: &Value, pointer: &str) -> Result<String, Fault> {
    text_at(value, pointer, MAX_NAME_BYTES)
}

impl Request {
    /// Mode and queue of the order. Where its scenario gives the queue, the order may leave both out, and may not say
    /// otherwise.
    ///
    /// # Errors
    /// The order contradicts itself or its scenario, or the scenario finds no queue in its parameters.
    pub fn mode_and_queue(
        &self,
        of_scenario: Option<QueueOfScenario>,
    ) -> Result<(Mode, Option<String>), Fault> {
        let said = self.queue.as_deref();
        let Some(of_scenario) = of_scenario else {
            return match (self.mode.unwrap_or(Mode::Parallel), said) {
                (Mode::Sequential, None) => {
                    Err(fault("/queue", "is missing: a sequential order must name its queue"))
                }
                (Mode::Parallel, Some(_)) => {
                    let message =
                        "is only for sequential orders: add `\"mode\": \"sequential\"`, or remove it";
                    Err(fault("/queue", message))
                }
                (mode, queue) => Ok((mode, queue.map(str::to_owned))),
            };
        };
        let queue = of_scenario?;
        if self.mode == Some(Mode::Parallel) {
            let message = format!("scenario `{}` makes its orders sequential: remove `mode`", self.scenario);
            return Err(fault("/mode", message));
        }
        match said {
            Some(said) if said != queue => {
                let message = format!(
                    "scenario `{}` gives this order the queue `{queue}`: remove `queue`",
                    self.scenario
                );
                Err(fault("/queue", message))
            }
            _ => Ok((Mode::Sequential, Some(queue))),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(words: &Value, of_scenario: Option<QueueOfScenario>) -> Result<(Mode, Option<String>), String> {
        let mut body = json!({"id": "a", "scenario": "s"});
        let words = words.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(words);
        Request::read(body).unwrap().mode_and_queue(of_scenario).map_err(|fault| fault.pointer)
    }

    #[test]
    fn ord_4_a_sequential_order_names_its_queue_and_only_it() {
        assert_eq!(of(&json!({"mode": "sequential"}), None), Err("/queue".to_owned()));
        assert_eq!(of(&json!({"queue": "q"}), None), Err("/queue".to_owned()));
        assert_eq!(of(&json!({"mode": "parallel"}), None), Ok((Mode::Parallel, None)));
        let sequential = Ok((Mode::Sequential, Some("q".to_owned())));
        assert_eq!(of(&json!({"mode": "sequential", "queue": "q"}), None), sequential);
    }

    #[test]
    fn scn_21_the_queue_of_the_scenario_counts_and_an_order_may_not_say_otherwise() {
        let given = || Some(Ok("q".to_owned()));
        let sequential = Ok((Mode::Sequential, Some("q".to_owned())));
        for same in [
            json!({}),
            json!({"mode": "sequential"}),
            json!({"queue": "q"}),
            json!({"mode": null, "queue": null}),
        ] {
            assert_eq!(of(&same, given()), sequential, "{same}");
        }
        assert_eq!(of(&json!({"mode": "parallel"}), given()), Err("/mode".to_owned()));
        assert_eq!(of(&json!({"queue": "other"}), given()), Err("/queue".to_owned()));
        assert_eq!(of(&json!({"mode": "sequential", "queue": "other"}), given()), Err("/queue".to_owned()));
        let wrong = Some(Err(fault("/params/msisdn", "is missing")));
        assert_eq!(of(&json!({}), wrong), Err("/params/msisdn".to_owned()));
    }
}
