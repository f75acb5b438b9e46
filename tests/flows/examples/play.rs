//! One test of one example, made ready for a running engine: every name that it shares with others
//! gets the mark of its order, the systems it calls become local ones, and long times short ones.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::files::{Example, Test};
use super::pace::{Ends, Mark, Pace, ahead, duration, each_time};
use super::table::{Table, contains};

/// Time at which a test begins that says nothing of it.
const START: &str = "2026-03-01T10:00:00Z";
/// Address at which nobody listens.
const NOWHERE: &str = "http://127.0.0.1:1";

/// A test that can be played.
#[derive(Debug)]
pub struct Play {
    /// The id of its order, and the mark of everything that belongs to it.
    pub mark: String,
    /// The example and the test, for people.
    pub title: String,
    /// The name under which its scenario is applied.
    pub scenario: String,
    /// The scenario; JSON is YAML, too.
    pub text: String,
    /// The called systems.
    pub table: Table,
    /// Exchanges that it publishes to, as it names them, and whether anybody takes what it publishes.
    pub exchanges: Vec<(String, bool)>,
    /// Actors that it hands tasks to, as it names them.
    pub actors: Vec<String>,
    /// Times of it in the play.
    pub pace: Pace,
    /// Expectations of its author.
    pub expect: Value,
    /// Stand-ins for its child orders.
    pub children: Vec<Arc<Self>>,
    test: Value,
}

impl Play {
    /// A test as an order of this id.
    pub fn new(example: &Example, test: &Test, mark: &str, all: &[Example]) -> Self {
        let text = test.text.to_string().replace("order-1", mark);
        let mut play = Self::cast(example, serde_json::from_str(&text).unwrap(), test, mark);
        let children = play.answers().into_iter().filter(|answer| !answer["order"].is_null());
        let child = |(no, answer)| Arc::new(child(&answer, &format!("{mark}-{no}"), all));
        play.children = children.enumerate().map(child).collect();
        play
    }

    fn cast(example: &Example, text: Value, test: &Test, mark: &str) -> Self {
        let now: Timestamp = text["now"].as_str().unwrap_or(START).parse().unwrap();
        let answers = list(&text["answers"]);
        let ends = Ends {
            timed_out: test.timed_out.clone(),
            silent_actor: answers.iter().any(|answer| answer["decision"] == "none"),
        };
        let mut scenario = example.scenario.clone();
        let mut marks = times_of(&text, now);
        each_time(&mut scenario, &ends, &mut |time| marks.push(Mark::Timer(duration(time))));
        let pace = Pace::of(now, marks);
        each_time(&mut scenario, &ends, &mut |time| *time = written(pace.short(duration(time))));
        let mut play = Self {
            mark: mark.to_owned(),
            title: format!("{}: {}", example.name, text["test"].as_str().unwrap()),
            scenario: marked(&example.name, mark),
            text: String::new(),
            table: Table::new(&answers),
            exchanges: Vec::new(),
            actors: Vec::new(),
            pace,
            expect: text["expect"].clone(),
            children: Vec::new(),
            test: text,
        };
        scenario["scenario"] = play.scenario.clone().into();
        play.rewrite(&mut scenario);
        play.text = scenario.to_string();
        play
    }

    /// Gives what a scenario shares with others, and the systems that it calls, names of their own.
    fn rewrite(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.resolve(text),
            Value::Array(list) => list.iter_mut().for_each(|item| self.rewrite(item)),
            Value::Object(map) => {
                for (key, inner) in map {
                    match key.as_str() {
                        "amqp" => self.rename_exchange(inner),
                        "actor" => {
                            let name = inner["name"].as_str().unwrap().to_owned();
                            inner["name"] = marked(&name, &self.mark).into();
                            self.actors.push(name);
                        }
                        "order" if inner.is_object() => {
                            // The first child of this test; there is none with two kinds of them.
                            let child = format!("{}-0", self.mark);
                            inner["scenario"] = marked(inner["scenario"].as_str().unwrap(), &child).into();
                        }
                        // Only a system that never answers makes a call run into its time-out.
                        "http" if self.fails("ReadTimeout") => inner["timeout"] = "1s".into(),
                        _ => {}
                    }
                    self.rewrite(inner);
                }
            }
            _ => {}
        }
    }

    fn resolve(&self, text: &mut String) {
        for (name, url) in self.test["config"].as_object().into_iter().flatten() {
            let url = url.as_str().unwrap();
            let refuses = |answer: &Value| {
                answer["fails"] == "ConnectionRefused" && answer["http"].to_string().contains(url)
            };
            let here = match self.answers().iter().any(refuses) {
                true => NOWHERE.to_owned(),
                false => url.replace("http:/", &format!("${{config.demo}}/{}", self.mark)),
            };
            *text = text.replace(&format!("${{config.{name}}}"), &here);
        }
    }

    fn rename_exchange(&mut self, action: &mut Value) {
        let name = action["exchange"].as_str().unwrap().to_owned();
        // `<prefix>` is put in when the engine is known.
        action["exchange"] = format!("<prefix>-{}", marked(&name, &self.mark)).into();
        if !self.exchanges.iter().any(|(known, _)| *known == name) {
            let taken = !self.fails("unroutable");
            self.exchanges.push((name, taken));
        }
    }

    /// True where a called system fails in this way.
    pub fn fails(&self, how: &str) -> bool {
        self.answers().iter().any(|answer| answer["fails"] == how)
    }

    /// The order as it is registered at this moment.
    pub fn order(&self, begun: Timestamp) -> Value {
        let params = self.pace.moved(&self.test["params"], begun);
        let mut order = json!({"id": self.mark, "scenario": self.scenario, "params": params});
        if let Some(queue) = self.test["order"]["queue"].as_str() {
            order["mode"] = "sequential".into();
            order["queue"] = marked(queue, &self.mark).into();
        }
        order
    }

    /// The calls from outside: how long after the registration, and what is sent.
    pub fn calls(&self, begun: Timestamp) -> Vec<(Duration, Value)> {
        let calls = list(&self.test["calls"]).into_iter();
        calls
            .map(|call| {
                let body = self.pace.moved(&call["body"], begun);
                (self.pace.short(duration(&call["after"])), json!({"name": call["name"], "body": body}))
            })
            .collect()
    }

    /// Settings that an engine needs before it starts: rules for errors, and secrets.
    pub fn deployment(&self) -> Value {
        let mut errors = self.test["errors"].clone();
        shorten_retries(&mut errors);
        json!({"errors": errors, "secrets": self.test["secrets"]})
    }

    fn answers(&self) -> Vec<Value> {
        list(&self.test["answers"])
    }
}

/// A name that belongs to one order alone.
pub fn marked(name: &str, mark: &str) -> String {
    format!("{name}.{mark}")
}

/// Returns the play of a child order: a test of its own example that ends as the answer says, else a
/// scenario that only ends.
fn child(answer: &Value, mark: &str, all: &[Example]) -> Play {
    let name = answer["order"].as_str().or(answer["order"]["scenario"].as_str()).unwrap();
    let status = answer["status"].as_str().unwrap_or("success");
    let as_answered = |test: &&Test| {
        let expect = &test.text["expect"];
        expect["status"] == status
            && contains(&answer["error"]["class"], &expect["error"])
            && contains(&answer["result"], &expect["result"])
    };
    let own = all.iter().find(|example| example.name == name);
    let own = own.and_then(|example| Some((example, example.tests.iter().find(as_answered)?)));
    if let Some((example, test)) = own {
        let mut text = test.text.clone();
        // Its parent gives it other parameters than its test, and so its requests have other bodies.
        for answer in text["answers"].as_array_mut().into_iter().flatten() {
            for to in ["http", "amqp", "actor"] {
                answer.get_mut(to).and_then(Value::as_object_mut).map(|to| to.remove("body"));
            }
        }
        return Play::cast(example, text, test, mark);
    }
    let error = &answer["error"];
    assert_eq!(status, "fail", "no example `{name}` ends as {answer}, and nothing else can");
    let script = format!("fail({}, {})", error["message"], error["class"]);
    let scenario = json!({"kind": "operation", "actions": [{"script": script}]});
    let text = json!({"test": "a stub", "expect": {"status": "fail", "error": error["class"]}});
    let test = Test { text: text.clone(), timed_out: std::collections::HashSet::new() };
    Play::cast(&Example { name: name.to_owned(), scenario, tests: Vec::new() }, text, &test, mark)
}

/// Returns all times of a test that count from its start or from a request.
fn times_of(test: &Value, now: Timestamp) -> Vec<Mark> {
    let mut marks = Vec::new();
    for answer in list(&test["answers"]) {
        if answer["http"].is_null() {
            marks.extend(answer.get("after").map(duration).map(Mark::Outside));
        }
        marks.extend(answer["callback"].get("after").map(duration).map(Mark::Outside));
    }
    for call in list(&test["calls"]) {
        marks.push(Mark::Outside(duration(&call["after"])));
        ahead(&call["body"], now, &mut marks);
    }
    ahead(&test["params"], now, &mut marks);
    marks
}

fn shorten_retries(value: &mut Value) {
    let (Value::Object(_) | Value::Array(_)) = value else { return };
    if let Some(parameters) = value.get_mut("initial_interval") {
        *parameters = "200ms".into();
        value["max_interval"] = "1s".into();
    }
    match value {
        Value::Object(map) => map.values_mut().for_each(shorten_retries),
        Value::Array(list) => list.iter_mut().for_each(shorten_retries),
        _ => {}
    }
}

fn written(time: Duration) -> Value {
    format!("{}ms", time.as_millis()).into()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
