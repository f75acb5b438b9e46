//! The calls of a scenario as they are known before an order makes them.

use serde_json::Value;

use crate::value::{Expression, Piece, Placed, Template};
use crate::{Action, HttpAction, Scenario};

impl Scenario {
    /// Methods and URLs of its calls, with these constants of the deployment filled in, and `x` for what only an order knows.
    #[must_use]
    pub fn called(&self, constants: &Value) -> Vec<(&'static str, String)> {
        self.actions()
            .flat_map(calls_of)
            .map(|call| (call.method.as_str(), example(&call.url, constants)))
            .collect()
    }
}

fn calls_of(action: &Action) -> &[HttpAction] {
    match action {
        Action::Http(http) => std::slice::from_ref(&**http),
        Action::Parallel(steps) => steps,
        _ => &[],
    }
}

fn example(url: &Template, constants: &Value) -> String {
    let filled = |placed: &Placed| match &placed.expression {
        Expression::Path(path) if path.len() == 2 && path[0] == "config" => {
            constants[&path[1]].as_str().unwrap_or("x").to_owned()
        }
        _ => "x".to_owned(),
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
}
