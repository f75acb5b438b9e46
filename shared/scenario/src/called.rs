//! The calls of a scenario as they are known before an order makes them.

use pagurus_domain::system::host_and_path;
use serde_json::Value;

use crate::value::{Expression, Piece, Placed, Template};
use crate::{Action, HttpAction, Scenario};

impl Scenario {
    /// Methods and URLs of its calls, with these constants of the deployment filled in, and `x` for what only an order knows.
    #[must_use]
    pub fn called(&self, constants: &Value) -> Vec<(&'static str, String)> {
        self.actions()
            .flat_map(calls_of)
            .map(|call| (call.method.as_str(), example(&call.url, constants, "x")))
            .collect()
    }

    /// URLs of the calls that hold secrets, with the names of these, where the host is the same for every order.
    #[must_use]
    pub fn called_with_secrets(&self, constants: &Value) -> Vec<(String, &[String])> {
        /// No URL has this character.
        const UNKNOWN: &str = "\0";
        self.actions()
            .flat_map(calls_of)
            .filter(|call| !call.secrets.is_empty())
            .map(|call| (example(&call.url, constants, UNKNOWN), &*call.secrets))
            .filter(|(url, _)| url.contains("://") && !host_and_path(url).0.contains(UNKNOWN))
            .map(|(url, secrets)| (url.replace(UNKNOWN, "x"), secrets))
            .collect()
    }
}

impl Scenario {
    /// The names of the secrets that its actions use, by action.
    pub fn secrets(&self) -> impl Iterator<Item = &[String]> {
        self.actions().flat_map(|action| match action {
            Action::Http(http) => [&*http.secrets].into_iter().chain(secrets_of_cancel(action)).collect(),
            Action::Amqp(amqp) => [&*amqp.secrets].into_iter().chain(secrets_of_cancel(action)).collect(),
            Action::Parallel(steps) => steps.iter().map(|http| &*http.secrets).collect(),
            _ => Vec::new(),
        })
    }

    /// True if an action says how its request is given up.
    #[must_use]
    pub fn cancels(&self) -> bool {
        self.actions().any(|action| action.cancel().is_some())
    }
}

fn secrets_of_cancel(action: &Action) -> Option<&[String]> {
    action.cancel().map(|cancel| &*cancel.secrets)
}

fn calls_of(action: &Action) -> impl Iterator<Item = &HttpAction> {
    let calls = match action {
        Action::Http(http) => std::slice::from_ref(&**http),
        Action::Parallel(steps) => steps,
        _ => &[],
    };
    calls.iter().chain(action.cancel())
}

fn example(url: &Template, constants: &Value, unknown: &str) -> String {
    let filled = |placed: &Placed| match &placed.expression {
        Expression::Path(path) if path.len() == 2 && path[0] == "config" => {
            constants[&path[1]].as_str().unwrap_or(unknown).to_owned()
        }
        _ => unknown.to_owned(),
    };
    match url {
        Template::Constant(value) => value.as_str().unwrap_or_default().to_owned(),
        Template::Expression(placed) => filled(placed),
        Template::Text(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Expression(placed) => filled(placed),
            })
            .collect(),
        Template::List(_) | Template::Map(_) => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use crate::Bounds;
    use crate::script::{Limits, Scripting};
    use crate::source::read;

    #[test]
    fn err_15_calls_are_known_with_the_constants_of_the_deployment() {
        let text = "scenario: s\ninitialState: a\nstates:\n  \
                    a: {actions: [{http: {url: '${config.shop}/orders/${params.id}', body: {}}}, {parallel: [{http: {url: 'http://h/b', name: b}}]}], on: {success: done, fail: done}}\n  \
                    done: {kind: terminal}\n";
        let scenario = read(text, &Scripting::new(Limits::default()), &Bounds::default()).unwrap();
        let called = scenario.called(&json!({"shop": "http://shop:1/api"}));
        let expected = [("POST", "http://shop:1/api/orders/x"), ("GET", "http://h/b")];
        assert_eq!(called, expected.map(|(method, url)| (method, url.to_owned())));
        assert_eq!(scenario.called(&json!({}))[0].1, "x/orders/x");
    }

    #[test]
    fn scn_15_hosts_of_calls_with_secrets_are_known_where_no_order_chooses_them() {
        let auth = "auth: {bearer: '${secret.key}'}";
        let text = format!(
            "scenario: s\ninitialState: a\nstates:\n  \
             a: {{actions: [{{http: {{url: '${{config.shop}}/${{params.id}}', {auth}}}}}, {{http: {{url: 'http://h/b'}}}}, \
             {{http: {{url: 'http://${{params.h}}/', {auth}}}}}, {{http: {{url: 'http://h:1/?k=${{secret.key}}'}}}}], on: {{success: done, fail: done}}}}\n  \
             done: {{kind: terminal}}\n"
        );
        let scenario = read(&text, &Scripting::new(Limits::default()), &Bounds::default()).unwrap();
        let urls = |constants| {
            let called = scenario.called_with_secrets(&constants);
            called.iter().map(|(url, secrets)| format!("{url} {}", secrets.join(","))).collect::<Vec<_>>()
        };
        assert_eq!(
            urls(json!({"shop": "http://shop:1/api"})),
            ["http://shop:1/api/x key", "http://h:1/?k=x key"]
        );
        assert_eq!(urls(json!({})), ["http://h:1/?k=x key"]);
    }
}
