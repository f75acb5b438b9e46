//! Speech of a script: an event, a result, a message, an answer, lines of the log.
//!
//! Every run has an engine of its own, because what is said must reach that run alone.

use std::sync::{Arc, Mutex, PoisonError};

use pagurus_domain::classes::{MAX_CLASS_BYTES, SCRIPT_LIMIT};
use rhai::{Dynamic, Engine, EvalAltResult, Position};
use serde_json::Value;

use super::convert::from_dynamic;
use super::holding::{DEPTH, too_large};
use super::{Limits, RunError};

/// The event a script raises; raising one ends the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raised {
    /// `success()`.
    Success,
    /// `poll()`: try again, in a polling state.
    Poll,
    /// `event(name)`: an event of the scenario's own (SCN-16).
    Event(String),
    /// `fail()`, `fail(message)`, `fail(message, class)`.
    Fail {
        /// Message for people.
        message: Option<String>,
        /// Takes part in synchronous retries (ERR-5).
        class: Option<String>,
    },
}

/// Speech of one run of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The event, if the script raised one.
    pub raised: Option<Raised>,
    /// The argument of the last `result(…)`.
    pub result: Option<Value>,
    /// The argument of the last `message(…)`.
    pub message: Option<String>,
    /// The argument of the last `answer(…)`: what the caller of a call gets.
    pub answer: Option<Value>,
    /// The arguments of every `log(…)`, `print(…)`.
    pub log: Vec<String>,
}

/// Functions by which a script speaks, as hints list them; `log` is a function of expressions as well, the logarithm.
pub(super) const SAID: &[&str] = &["success", "fail", "poll", "event", "result", "message", "answer", "log"];

/// Lines one script may log; the rest are dropped and counted in a last line.
const MAX_LOG_LINES: usize = 100;

/// Carries the event out of a script that raised it.
#[derive(Clone)]
pub(super) struct Token(pub(super) Raised);

/// An engine whose functions say things into `said`.
pub(super) fn speaking_engine(limits: &Limits, said: &Arc<Mutex<Said>>) -> Engine {
    type SpeechResult<T> = Result<T, Box<EvalAltResult>>;
    let mut engine = limits.engine();
    let raise = |raised: Raised| -> Box<EvalAltResult> {
        Box::new(EvalAltResult::ErrorTerminated(Dynamic::from(Token(raised)), Position::NONE))
    };
    engine.register_fn("success", move || -> SpeechResult<()> { Err(raise(Raised::Success)) });
    engine.register_fn("poll", move || -> SpeechResult<()> { Err(raise(Raised::Poll)) });
    engine.register_fn("event", move |name: &str| -> SpeechResult<()> {
        Err(raise(Raised::Event(name.to_owned())))
    });
    engine.register_fn("fail", move || -> SpeechResult<()> {
        Err(raise(Raised::Fail { message: None, class: None }))
    });
    engine.register_fn("fail", move |message: Dynamic| -> SpeechResult<()> {
        Err(raise(Raised::Fail { message: Some(text_of(&message)?), class: None }))
    });
    engine.register_fn("fail", move |message: Dynamic, class: &str| -> SpeechResult<()> {
        Err(raise(Raised::Fail { message: Some(text_of(&message)?), class: class_of(class)? }))
    });
    let say = |said: &Arc<Mutex<Said>>, change: &dyn Fn(&mut Said)| {
        change(&mut said.lock().unwrap_or_else(PoisonError::into_inner));
    };
    let shared = said.clone();
    engine.register_fn("result", move |value: Dynamic| -> SpeechResult<()> {
        let value = from_dynamic(&value).map_err(failed)?;
        say(&shared, &|said| said.result = Some(value.clone()));
        Ok(())
    });
    let shared = said.clone();
    engine.register_fn("answer", move |value: Dynamic| -> SpeechResult<()> {
        let value = from_dynamic(&value).map_err(failed)?;
        say(&shared, &|said| said.answer = Some(value.clone()));
        Ok(())
    });
    let shared = said.clone();
    engine.register_fn("message", move |value: Dynamic| -> SpeechResult<()> {
        let text = text_of(&value)?;
        say(&shared, &|said| said.message = Some(text.clone()));
        Ok(())
    });
    let shared = said.clone();
    engine.register_fn("log", move |value: Dynamic| -> SpeechResult<()> {
        let text = text_of(&value)?;
        say(&shared, &|said| push_line(&mut said.log, text.clone()));
        Ok(())
    });
    let shared = said.clone();
    engine.on_print(move |text| say(&shared, &|said| push_line(&mut said.log, text.to_owned())));
    engine
}

fn push_line(log: &mut Vec<String>, line: String) {
    if log.len() < MAX_LOG_LINES {
        log.push(line);
    } else if log.len() == MAX_LOG_LINES {
        log.push(format!("(lines after the first {MAX_LOG_LINES} are left out)"));
    }
}

/// The error of a value that cannot be kept, inside a run.
fn failed(error: RunError) -> Box<EvalAltResult> {
    if error.class == SCRIPT_LIMIT { too_large(DEPTH) } else { error.message.into() }
}

/// The class that a script names; an empty one is none.
fn class_of(class: &str) -> Result<Option<String>, Box<EvalAltResult>> {
    if class.len() > MAX_CLASS_BYTES {
        return Err(format!("the class of a failure has {MAX_CLASS_BYTES} bytes at most").into());
    }
    Ok((!class.is_empty()).then(|| class.to_owned()))
}

fn text_of(value: &Dynamic) -> Result<String, Box<EvalAltResult>> {
    match from_dynamic(value) {
        Ok(Value::String(text)) => Ok(text),
        Ok(other) => Ok(other.to_string()),
        Err(error) if error.class == SCRIPT_LIMIT => Err(failed(error)),
        Err(_) => Ok(value.to_string()),
    }
}
