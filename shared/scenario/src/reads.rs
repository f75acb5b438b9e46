//! What a state reads of answers that came before: known from its code alone, without running any of it.

use std::collections::BTreeSet;

use crate::action::{Action, Auth, Body, HttpAction, Lapse, SleepUntil};
use crate::value::{Expression, Template};
use crate::{Scenario, StateId};

impl Scenario {
    /// Names of the requests whose answers a state reads, `callbacks.NAME`, and does not ask itself. A name that code makes
    /// at run time is not found.
    #[must_use]
    pub fn answers_read_in(&self, state: StateId) -> BTreeSet<String> {
        let actions = || self.state(state).actions.iter().flat_map(Action::with_inner);
        let asked: BTreeSet<&str> = actions().filter_map(Action::request).collect();
        let mut read = BTreeSet::new();
        for action in actions() {
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

impl Action {
    /// Looks at each path of a value of the order that the action names, but for those of the actions inside it.
    fn each_path(&self, look: &mut dyn FnMut(&[String])) {
        match self {
            Self::Script(script) => script.names().paths.iter().for_each(|path| look(path)),
            Self::Http(http) => http.each_template(&mut |template| paths_of(template, look)),
            Self::Parallel(steps) => {
                steps.iter().for_each(|http| http.each_template(&mut |template| paths_of(template, look)))
            }
            Self::Amqp(amqp) => {
                let texts = amqp.vhost.iter().chain([&amqp.exchange, &amqp.key]);
                let headers = amqp.headers.iter().map(|(_, value)| value);
                texts.chain(headers).chain(&amqp.body).for_each(|template| paths_of(template, look));
            }
            Self::Actor(actor) => {
                let saved = actor.save.iter().map(|(_, value)| value);
                actor.body.iter().chain(saved).for_each(|template| paths_of(template, look));
            }
            Self::Order(order) => order.fields.iter().for_each(|(_, value)| paths_of(value, look)),
            Self::Each(each) => {
                paths_of(&each.list, look);
                each.save.iter().for_each(|(_, value)| paths_of(value, look));
            }
            Self::Choose { branches, .. } => branches.iter().for_each(|branch| paths_of(&branch.when, look)),
            Self::Log(text) => paths_of(text, look),
            Self::Sleep(SleepUntil::For(time) | SleepUntil::Until(time)) => paths_of(time, look),
            Self::Wait { timeout: Some(Lapse::Computed(time)) } => paths_of(time, look),
            Self::Wait { .. } | Self::Release | Self::Skip(_) => {}
        }
    }
}

impl HttpAction {
    fn each_template(&self, look: &mut dyn FnMut(&Template)) {
        look(&self.url);
        let named = self.query.iter().chain(&self.headers).chain(&self.save);
        named.for_each(|(_, value)| look(value));
        match &self.body {
            Some(Body::Json(body) | Body::Text(body)) => look(body),
            Some(Body::Form(fields)) => fields.iter().for_each(|(_, value)| look(value)),
            None => {}
        }
        match &self.auth {
            Some(Auth::Bearer(token)) => look(token),
            Some(Auth::Basic { username, password }) => [username, password].into_iter().for_each(look),
            None => {}
        }
    }
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
                "{each: {in: '${callbacks.list}', as: one, actions: [{script: 'vars.x = get(callbacks, \"in.body\", 0)'}]}}"
            ),
            ["in", "list"]
        );
        assert_eq!(
            reads("{log: 'nothing of ${vars.callbacks}'}, {script: 'let callbacks = 1; log(callbacks)'}"),
            [""; 0]
        );
        assert_eq!(
            reads(
                "{http: {url: 'http://h', request: own}}, {wait: {timeout: 1m}}, {log: '${callbacks.own.body}'}"
            ),
            [""; 0]
        );
    }
}
