//! The table of answers while a test runs: which line answers a request, and how often it has.

use pagurus_domain::document::Position;
use pagurus_scenario::Method;
use serde_json::Value;

use super::judge::differences;
use super::{To, Trial, TrialRule};

/// The table, and how often each line was used.
pub(super) struct World<'t> {
    rules: &'t [TrialRule],
    used: Vec<u32>,
}

impl<'t> World<'t> {
    pub(super) fn of(trial: &'t Trial) -> Self {
        Self { rules: &trial.answers, used: vec![0; trial.answers.len()] }
    }

    /// Takes the first line that answers this HTTP request and is not used up.
    pub(super) fn http(&mut self, method: Method, url: &str, body: &Value) -> Option<&'t TrialRule> {
        self.take(|to| match to {
            To::Http { method: wanted, url: mask, body: part } => {
                wanted.is_none_or(|wanted| wanted == method) && mask.fits_url(url) && contains(body, part)
            }
            _ => false,
        })
    }

    /// Takes the first line that answers this message and is not used up.
    pub(super) fn amqp(&mut self, exchange: &str, key: &str, body: &Value) -> Option<&'t TrialRule> {
        self.take(|to| match to {
            To::Amqp { exchange: wanted, key: mask, body: part } => {
                wanted.as_ref().is_none_or(|wanted| wanted.fits(exchange))
                    && mask.as_ref().is_none_or(|mask| mask.fits(key))
                    && contains(body, part)
            }
            _ => false,
        })
    }

    /// Takes the first line that answers a task of this actor.
    pub(super) fn actor(&mut self, actor: &str, body: &Value) -> Option<&'t TrialRule> {
        self.take(|to| match to {
            To::Actor { name, body: part } => name.fits(actor) && contains(body, part),
            _ => false,
        })
    }

    /// Takes the first line that stands for a child order of this scenario.
    pub(super) fn order(&mut self, child: &str, params: &Value) -> Option<&'t TrialRule> {
        self.take(|to| match to {
            To::Order { scenario, params: part } => scenario.fits(child) && contains(params, part),
            _ => false,
        })
    }

    /// The lines that nothing asked for.
    pub(super) fn unused(&self) -> impl Iterator<Item = Position> {
        self.rules.iter().zip(&self.used).filter(|(_, used)| **used == 0).map(|(rule, _)| rule.at)
    }

    fn take(&mut self, answers: impl Fn(&To) -> bool) -> Option<&'t TrialRule> {
        let left = |at: usize, rule: &TrialRule| rule.times.is_none_or(|times| self.used[at] < times);
        let found = self.rules.iter().enumerate().find(|(at, rule)| left(*at, rule) && answers(&rule.to));
        let (at, rule) = found?;
        self.used[at] += 1;
        Some(rule)
    }
}

fn contains(body: &Value, part: &Option<Value>) -> bool {
    part.as_ref().is_none_or(|part| differences(part, body).is_empty())
}
