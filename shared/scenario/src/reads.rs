//! What a state reads of answers that came before: known from its code alone, without running any of it.

use std::collections::BTreeSet;

use crate::action::{Action, HttpAction, Lapse, SleepUntil};
use crate::value::{Expression, Template};
use crate::{Scenario, StateId};

impl Scenario {
    /// Names of the requests whose answers a state reads, `callbacks.NAME`, and does not ask itself. A name that code makes
    /// at run time is not found; operations that the state runs have names of their own, and ask what they read.
    #[must_use]
    pub fn answers_read_in(&self, state: StateId) -> BTreeSet<String> {
        let own = || own_actions(&self.state(state).actions).flat_map(Action::with_inner);
        let asked: BTreeSet<&str> = own().filter_map(Action::request).collect();
        let mut read = BTreeSet::new();
        for action in own() {
            action.each_path(&mut |path| {
                if let [root, name, ..] = path
                    && root == "callbacks"
                    && !asked.contains(name.as_str())
                {
                    read.insert(name.clone());
                }
            });
        }
        read
    }
}

/// The actions that know the names of the state: not those of the operations that it runs, but their entries and exits.
fn own_actions(actions: &[Action]) -> impl Iterator<Item = &Action> {
    let mut depth = 0_usize;
    actions.iter().filter(move |action| match action {
        Action::Enter(_) => {
            depth += 1;
            depth == 1
        }
        Action::Exit(_) => {
            depth = depth.saturating_sub(1);
            depth == 0
        }
        _ => depth == 0,
    })
}

impl Action {
    /// Looks at each path of a value of the order that the action names, but for those of the actions inside it.
    fn each_path(&self, look: &mut dyn FnMut(&[String])) {
        match self {
            Self::Script(script) => script.names().paths.iter().for_each(|path| look(path)),
            Self::Http(http) => paths_of_call(http, look),
            Self::Parallel(steps) => steps.iter().for_each(|http| paths_of_call(http, look)),
            Self::Amqp(amqp) => {
                let texts = amqp.vhost.iter().chain([&amqp.exchange, &amqp.key]);
                let headers = amqp.headers.iter().map(|(_, value)| value);
                texts.chain(headers).chain(&amqp.body).for_each(|template| paths_of(template, look));
            }
            Self::Actor(actor) => {
                actor.body.iter().for_each(|template| paths_of(template, look));
                paths_of_all(&actor.save, look);
            }
            Self::Order(order) => paths_of_all(&order.fields, look),
            Self::Each(each) => {
                paths_of(&each.list, look);
                paths_of_all(&each.save, look);
            }
            Self::Choose { branches, .. } => branches.iter().for_each(|branch| paths_of(&branch.when, look)),
            Self::Enter(enter) => enter.params.iter().for_each(|params| paths_of(params, look)),
            Self::Exit(exit) => paths_of_all(&exit.save, look),
            Self::Log(text) => paths_of(text, look),
            Self::Sleep(SleepUntil::For(time) | SleepUntil::Until(time)) => paths_of(time, look),
            Self::Wait { timeout: Some(Lapse::Computed(time)) } => paths_of(time, look),
            Self::Wait { .. } | Self::Release | Self::Skip(_) | Self::Savepoint(_) => {}
        }
    }
}

fn paths_of_call(http: &HttpAction, look: &mut dyn FnMut(&[String])) {
    http.each_sent(&mut |template| paths_of(template, look));
    paths_of_all(&http.save, look);
}

fn paths_of_all(named: &[(String, Template)], look: &mut dyn FnMut(&[String])) {
    named.iter().for_each(|(_, value)| paths_of(value, look));
}

fn paths_of(template: &Template, look: &mut dyn FnMut(&[String])) {
    template.each_expression(&mut |expression| match expression {
        Expression::Path(path) => look(path),
        Expression::Code(code) => code.names().paths.iter().for_each(|path| look(path)),
        Expression::Secret(_) => {}
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::Bounds;
    use crate::script::{Limits, Scripting};
    use crate::source::read;

    #[test]
    fn ord_22_the_answers_that_a_state_reads_are_known() {
        let reads = |actions: &str| -> Vec<String> {
            let text = format!(
                "scenario: s\ninitialState: a\nstates:\n  a: {{actions: [{actions}], on: {{success: done, fail: done}}}}\n  done: {{kind: terminal}}\n"
            );
            let scenario = read(&text, &Scripting::new(Limits::default()), &Bounds::default())
                .unwrap_or_else(|faults| panic!("{faults:?}"));
            scenario.answers_read_in(StateId(0)).into_iter().collect()
        };
        assert_eq!(reads("{script: 'if callbacks.pay.body.code != 0 { fail(\"no\") }'}"), ["pay"]);
        assert_eq!(
            reads("{http: {url: 'http://h/${callbacks.a.body}', body: {x: '${callbacks.b.body + 1}'}}}"),
            ["a", "b"]
        );
        assert_eq!(
            reads(
                "{each: {in: '${callbacks.list}', as: one, actions: [{script: 'one.x = get(callbacks, \"in.body\", 0)'}]}}"
            ),
            ["in", "list"]
        );
        assert_eq!(
            reads("{log: 'nothing of ${vars.callbacks}'}, {script: 'let callbacks = 1; log(callbacks)'}"),
            [""; 0]
        );
        assert_eq!(reads("{http: {url: 'http://h', request: own}}, {log: '${callbacks.own.body}'}"), [""; 0]);
    }
}
