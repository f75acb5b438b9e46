//! The text of a random scenario.

use super::{COUNT, SEQUENTIAL};
use crate::chance::Chance;
use crate::constant::{ConstantWorld, IN_VAIN, url_of};

/// A scenario that is to be written.
#[derive(Debug)]
pub(super) struct Draft<'e> {
    /// Number in its name.
    number: usize,
    /// Index in its library.
    index: usize,
    /// Set where the called systems always answer the same: nothing leads back then, and times are short.
    world: Option<ConstantWorld>,
    /// Exchange of its messages.
    exchange: &'e str,
}

impl<'e> Draft<'e> {
    /// The scenario of this index, beside systems that answer now one way and now another.
    pub(super) const fn changing(index: usize) -> Self {
        Self { number: index, index, world: None, exchange: "e" }
    }

    /// The scenario of this number and index, beside systems that always answer the same.
    pub(super) const fn constant(
        number: usize,
        index: usize,
        world: ConstantWorld,
        exchange: &'e str,
    ) -> Self {
        Self { number, index, world: Some(world), exchange }
    }

    /// Writes it.
    pub(super) fn text(&self, chance: &mut Chance) -> String {
        let states = usize::try_from(chance.between(1, 4)).unwrap_or(1);
        // The scenario itself names the queue of its orders, where they name none.
        let is_sequential = self.world.is_some() && self.index == SEQUENTIAL;
        let queue = if is_sequential { "sequential: 'by-scenario-${params.n}'\n" } else { "" };
        let mut out = format!("scenario: s{}\ninitialState: s0\n{queue}states:\n", self.number);
        let mut back = usize::from(self.world.is_none());
        let mut repeats = false;
        for at in 0..states {
            let mut place = |chance: &mut Chance| {
                let bound = states as u64 + 2;
                let mut to = usize::try_from(chance.below(bound)).unwrap_or(0);
                // One way back is enough: more of them make orders that go round for ever.
                if to <= at && back == 0 {
                    to = at + 1;
                } else if to <= at {
                    back -= 1;
                }
                name(to, states)
            };
            let (fail, late) = (place(chance), place(chance));
            let next = name(at + 1, states);
            let (is_entry, kinds) = (chance.happens(400_000), if self.index + 1 < COUNT { 9 } else { 8 });
            let kind = chance.below(kinds);
            // A state that repeats ends the repeats of those before it: what leads back behind both of them would go on for ever
            // where all answers stay the same.
            let is_behind = self.world.is_some() && repeats && matches!(kind, 3 | 4 | 7);
            repeats |= matches!(kind, 3 | 4 | 7);
            let entry = if is_entry || is_behind { "entryPoint: true, " } else { "" };
            out.push_str(&self.state(at, kind, entry, [&next, &fail, &late], chance));
        }
        out.push_str("  done: {kind: terminal}\n");
        if out.contains(": failed") {
            out.push_str("  failed: {kind: terminal, outcome: fail}\n");
        }
        out
    }

    fn state(
        &self,
        at: usize,
        kind: u64,
        entry: &str,
        [next, fail, late]: [&str; 3],
        chance: &mut Chance,
    ) -> String {
        let call = format!("{{http: {{{}}}}}", self.url(at, 0));
        match kind {
            0..=2 => {
                let count = chance.between(1, 3);
                let acts: Vec<String> = (0..count).map(|slot| self.action(at, slot, chance)).collect();
                format!(
                    "  s{at}: {{{entry}actions: [{}], on: {{success: {next}, fail: {fail}}}}}\n",
                    acts.join(", ")
                )
            }
            3 | 4 => self.ask(chance, at, entry, [next, fail, late]),
            5 => format!(
                "  s{at}: {{{entry}actions: [{call}, {{sleep: {{for: {}s}}}}], on: {{sleep: z{at}, fail: {fail}}}}}\n  \
                 z{at}: {{kind: sleeping, on: {{timeout: {next}}}}}\n",
                self.world.map_or_else(|| chance.between(1, 25), |_| 1)
            ),
            6 => format!(
                "  s{at}: {{{entry}actions: [{call}, \
                 {{script: 'let way = response.body.n % 3; if way == 1 {{ event(\"left\") }} if way == 2 {{ event(\"right\") }}'}}], \
                 on: {{success: {next}, fail: {fail}, left: {late}, right: {next}}}}}\n"
            ),
            // No way back: a child may end the same way whenever it is started, and its parent would go round for ever.
            8 => format!(
                "  s{at}: {{{entry}actions: [{}], on: {{success: {next}, fail: {}}}}}\n",
                self.child(at, chance),
                if chance.happens(500_000) { next } else { "failed" }
            ),
            _ => self.poll(chance, at, entry, [next, fail, late]),
        }
    }

    fn ask(&self, chance: &mut Chance, at: usize, entry: &str, [next, fail, late]: [&str; 3]) -> String {
        let is_silent = self.world.is_some_and(|world| world.is_silent(&self.asked(at, 0)));
        // A request that stays open is awaited by the next wait, too, where the second one cannot be made.
        let requests = if is_silent { 1 } else { chance.between(1, 2) };
        let one = |k: i64, chance: &mut Chance| {
            if chance.happens(300_000) {
                format!(
                    "{{amqp: {{exchange: {}, key: '{}', body: '${{request.id}}', request: q{at}_{k}}}}}",
                    self.exchange,
                    self.asked(at, k)
                )
            } else {
                format!(
                    "{{http: {{method: POST, {}, body: {{callbackUrl: '${{request.url}}'}}, request: q{at}_{k}}}}}",
                    self.url(at, k)
                )
            }
        };
        let asks: Vec<String> = if !is_silent && chance.happens(250_000) {
            vec![format!(
                "{{each: {{in: [0, 1, 2], atOnce: 2, actions: [{{http: {{method: POST, {}, \
                 body: {{callbackUrl: '${{request.url}}'}}, request: q{at}}}}}]}}}}",
                self.url(at, "${item}")
            )]
        } else {
            (0..requests).map(|k| one(k, chance)).collect()
        };
        let timeout = match self.world {
            None => format!("{}s", chance.between(5, 20)),
            Some(_) if is_silent => "2s".into(),
            Some(_) => "5m".into(),
        };
        let only = chance.happens(500_000);
        format!(
            "  s{at}: {{{entry}actions: [{}, {{wait: {{timeout: {timeout}}}}}], on: {{wait: r{at}, fail: {fail}}}}}\n  \
             r{at}: {{kind: waiting, retryFailedOnly: {only}, on: {{callback: {next}, timeout: {late}, fail: {fail}}}}}\n",
            asks.join(", ")
        )
    }

    fn poll(&self, chance: &mut Chance, at: usize, entry: &str, [next, fail, late]: [&str; 3]) -> String {
        let (url, times, again) = match self.world {
            None => (self.url(at, 0), "interval: 3s, timeout: 10s", "response.body.n % 3 == 0"),
            Some(_) if chance.happens(300_000) => {
                (self.url(at, IN_VAIN), "interval: 1s, timeout: 1500ms", "true")
            }
            Some(_) => (self.url(at, 0), "interval: 1s, timeout: 5m", "false"),
        };
        format!(
            "  s{at}: {{{entry}kind: polling, poll: {{{times}}}, actions: [{{http: {{{url}}}}}, \
             {{script: 'if {again} {{ poll() }} else if response.body.n % 3 == 2 {{ fail() }}'}}], \
             on: {{success: {next}, fail: {fail}, timeout: {late}}}}}\n"
        )
    }

    /// Starts a child of the last scenario, in a queue of others or in none, and waits for its end or not.
    fn child(&self, at: usize, chance: &mut Chance) -> String {
        let last = self.number + COUNT - 1 - self.index;
        let wait = if chance.happens(800_000) {
            let timeout = self.world.map_or_else(|| format!("{}s", chance.between(10, 60)), |_| "5m".into());
            format!(", wait: true, request: c{at}, timeout: {timeout}")
        } else {
            String::new()
        };
        let queue = if (at + self.index).is_multiple_of(3) { ", mode: sequential, queue: q0" } else { "" };
        format!("{{order: {{scenario: s{last}, params: {{n: {}}}{queue}{wait}}}}}", (at + self.index) % 10)
    }

    fn action(&self, at: usize, slot: i64, chance: &mut Chance) -> String {
        let url = |part: i64| self.url(at, slot * 10 + part);
        match chance.below(7) {
            // With a call, because a state whose actions cannot fail may not say what follows a failure.
            6 => format!("release, {{http: {{{}}}}}", url(0)),
            0..=2 => format!(
                "{{http: {{{}}}}}, \
                 {{script: 'vars.sum = (vars?.sum ?? 0) + response.body.n; result(#{{sum: vars.sum}})'}}",
                url(0)
            ),
            3 => format!(
                "{{choose: [{{when: 'params.n % 2 == 0', actions: [{{http: {{{}}}}}]}}, {{otherwise: [{{http: {{{}}}}}]}}]}}",
                url(0),
                url(1)
            ),
            4 => format!(
                "{{each: {{in: [{}, {}, {}], atOnce: 2, actions: [{{http: {{{}}}}}]}}}}",
                slot * 10,
                slot * 10 + 1,
                slot * 10 + 2,
                self.url(at, "${item}")
            ),
            _ => format!(
                "{{parallel: [{{http: {{name: n{slot}a, {}}}}}, {{http: {{name: n{slot}b, {}}}}}]}}",
                url(0),
                url(1)
            ),
        }
    }

    fn asked(&self, at: usize, slot: impl std::fmt::Display) -> String {
        format!("s{}/{at}/{slot}", self.number)
    }

    fn url(&self, at: usize, slot: impl std::fmt::Display) -> String {
        format!("url: '{}'", url_of(&self.asked(at, slot)))
    }
}

fn name(to: usize, states: usize) -> String {
    match to.checked_sub(states) {
        None => format!("s{to}"),
        Some(0) => "done".to_owned(),
        Some(_) => "failed".to_owned(),
    }
}
