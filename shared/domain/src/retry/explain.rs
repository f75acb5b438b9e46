//! Tells what a failure would get, and why (ERR-14): for authors of rules who want to try
//! them. Asks the same functions that judge real failures, and must never judge by itself.

use super::asynchronous::{self, AsyncRule};
use super::classify::{RequestMask, always_success};
use super::layers::Half;
use super::mask::{NoMask, Parts};
use super::{Asked, Classified, ErrorClass, ErrorRules, Interaction, Outcome, Policy, Reply, names};
use crate::document::Fault;

/// A failure that somebody asks about. Without `amqp`, `timeout` and `step_status` it is of an HTTP
/// call; with one of them, of an asynchronous request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question<'a> {
    /// The scenario; without it only policies for all scenarios count.
    pub scenario: Option<&'a str>,
    /// The path of the URL, or the URL as a whole.
    pub path: Option<&'a str>,
    /// The HTTP method; without it `GET`.
    pub method: Option<&'a str>,
    /// The host, with the port if the URL has one.
    pub host: Option<&'a str>,
    /// Target of a message: `vhost?exchange=a&key=b`.
    pub amqp: Option<&'a str>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The body of the answer or callback.
    pub body: Option<&'a str>,
    /// Codes, reason and detail of the SOAP fault in the body.
    pub fault: Option<&'a str>,
    /// A name of the failure, or its chain of names with `>` between them.
    pub exception: Option<&'a str>,
    /// Message of the failure.
    pub message: Option<&'a str>,
    /// True if the callback did not come in time.
    pub timeout: bool,
    /// The step status of the callback.
    pub step_status: Option<&'a str>,
}

/// Rule, class and policy that a failure would get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// The rule that gave the class; none for a built-in class, or for none.
    pub rule: Option<String>,
    /// The class.
    pub class: Option<ErrorClass>,
    /// The policy by which it is retried; none where it goes to the scenario at once.
    pub policy: Option<String>,
    /// Reasons for that, a sentence each.
    pub why: Vec<String>,
}

/// Answers a question.
///
/// # Errors
/// Part of the question that is missing or does not fit together.
pub fn explain<'e>(errors: impl Into<ErrorRules<'e>>, question: &Question<'_>) -> Result<Explained, Fault> {
    let errors = errors.into();
    let question = &question.placed();
    let is_async = question.timeout || question.amqp.is_some() || question.step_status.is_some();
    question.check(is_async)?;
    let mut explained = Explained::default();
    let classified = if is_async {
        let parts = question.amqp.map(place).transpose()?;
        let asked = match &parts {
            Some(parts) => Asked::Amqp {
                vhost: parts.vhost.as_deref().unwrap_or("/"),
                exchange: parts.exchange.as_deref().unwrap_or_default(),
                key: parts.key.as_deref().unwrap_or_default(),
            },
            None => Asked::Http(question.interaction()?),
        };
        callback(errors, question, &asked, &mut explained)
    } else {
        call(errors, question, &question.interaction()?, &mut explained)
    };
    if let Some(Classified { rule, class }) = classified {
        explained.rule = rule;
        explained.policy = policy(errors, question, is_async, &class, &mut explained.why);
        explained.class = Some(class);
    }
    Ok(explained)
}

impl<'a> Question<'a> {
    /// The same with the place of a message where that was written as a path, as rules write it.
    fn placed(&self) -> Self {
        let is_of_message = |path: &&str| {
            let query = path.split_once('?').map_or("", |(_, query)| query);
            let mut names = query.split('&').filter_map(|part| part.split('=').next());
            !path.contains("://") && names.any(|name| matches!(name, "exchange" | "key"))
        };
        let ended_by_http = self.status.is_some() || self.exception.is_some();
        match self.path.filter(is_of_message) {
            Some(place) if self.amqp.is_none() && !ended_by_http => {
                Self { path: None, amqp: Some(place), ..*self }
            }
            _ => *self,
        }
    }

    /// True if it says where the request went and how it ended, each once.
    fn check(&self, is_async: bool) -> Result<(), Fault> {
        let fault =
            |pointer: &str, message: &str, hint: &str| Err(Fault::placed(None, pointer, message).hint(hint));
        if self.path.is_none() && self.amqp.is_none() {
            return fault("/path", "where the request went is missing", "give `path`, or `amqp`");
        }
        if self.path.is_some() && self.amqp.is_some() {
            return fault("/amqp", "a request goes by HTTP or by AMQP", "give `path` or `amqp`, not both");
        }
        let answered = self.step_status.is_some() || (is_async && self.body.is_some());
        let endings = [self.status.is_some(), self.exception.is_some(), self.timeout, answered];
        let given = endings.into_iter().filter(|given| *given).count();
        if given == 0 {
            let hint =
                "give `status`, `exception`, or, of an asynchronous request, `timeout` or `stepStatus`";
            return fault("", "how the request ended is missing", hint);
        }
        if given > 1 {
            return fault(
                "",
                "a request ends in one way",
                "give one of `status`, `exception`, `timeout`, `stepStatus`",
            );
        }
        if is_async && (self.status.is_some() || self.exception.is_some()) {
            let hint =
                "of an asynchronous request give `timeout`, or `stepStatus` and `body` of its callback";
            return fault("/amqp", "messages have neither a status nor an exception", hint);
        }
        Ok(())
    }

    fn interaction(&self) -> Result<Interaction<'a>, Fault> {
        let given = self.path.unwrap_or_default();
        let (host, path) = match given.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or((rest, "/"), |at| rest.split_at(at)),
            None => ("", given),
        };
        if !path.starts_with('/') {
            let fault = Fault::placed(None, "/path", format!("the path `{path}` must begin with `/`"));
            return Err(fault.hint("write it like `/shop/items`, or the URL as a whole"));
        }
        let path = path.split(['?', '#']).next().unwrap_or(path);
        Ok(Interaction { method: self.method.unwrap_or("GET"), host: self.host.unwrap_or(host), path })
    }
}

fn place(text: &str) -> Result<Parts, Fault> {
    Parts::read(text).map_err(|NoMask { message, hint }| Fault::placed(None, "/amqp", message).hint(hint))
}

fn call(
    errors: ErrorRules<'_>,
    question: &Question<'_>,
    interaction: &Interaction<'_>,
    explained: &mut Explained,
) -> Option<Classified> {
    let chain = question.exception.map(names::chain_of).unwrap_or_default();
    let outcome = match question.status {
        Some(status) => {
            Outcome::Response { status, body: question.body.unwrap_or_default(), fault: question.fault }
        }
        None => Outcome::Exception { chain: &chain, message: question.message.unwrap_or_default() },
    };
    if !chain.is_empty() {
        explained.why.push(format!("the failure has the names {}", chain.join(" > ")));
    }
    if let Some(status) = question.status.filter(|status| always_success(*status)) {
        explained.why.push(format!("{status} always counts as success"));
        return None;
    }
    for (number, layer) in errors.layers().enumerate() {
        tell_layer(number, &mut explained.why);
        let masks = layer.rules.iter().flat_map(|rule| rule.requests.iter().map(move |mask| (mask, rule)));
        let taking = taking(masks, interaction);
        let tried = taking.iter().map(|(mask, rule)| (rule.name.as_str(), mask.text())).collect::<Vec<_>>();
        tell_rules(&tried, &mut explained.why);
        if let Some((_, rule)) = taking.first() {
            let classes = rule.classes.iter().map(|class| (class.class.as_str(), class.fits(&outcome)));
            tell_classes(classes, &mut explained.why);
        }
        if layer.classify(interaction, &outcome).is_some() {
            break;
        }
    }
    let classified = errors.classify(interaction, &outcome);
    if classified.is_none() {
        explained.why.push(match question.status {
            Some(status) if status < 400 => "it is a success".into(),
            _ => "it has no class and goes to the scenario as a failure".into(),
        });
    }
    classified
}

fn callback(
    errors: ErrorRules<'_>,
    question: &Question<'_>,
    asked: &Asked<'_>,
    explained: &mut Explained,
) -> Option<Classified> {
    let reply = if question.timeout {
        Reply::TimedOut
    } else {
        Reply::Callback {
            step_status: question.step_status,
            body: question.body.unwrap_or_default(),
            fault: question.fault,
        }
    };
    for (number, layer) in errors.layers().enumerate() {
        tell_layer(number, &mut explained.why);
        let taking = taking_async(&layer.async_rules, asked);
        let tried: Vec<_> = taking.iter().map(|(mask, rule)| (rule.name.as_str(), mask.clone())).collect();
        tell_rules(&tried, &mut explained.why);
        if let Some((_, rule)) = taking.first() {
            let classes = rule.classes.iter().map(|class| (class.class.as_str(), class.fits(&reply)));
            tell_classes(classes, &mut explained.why);
        }
        if asynchronous::fitting(&layer.async_rules, asked, &reply).is_some() {
            break;
        }
    }
    let classified = errors.classify_async(asked, &reply);
    match &classified {
        None => explained.why.push("the callback counts as a success".into()),
        Some(Classified { rule: None, class }) => {
            explained.why.push(format!("a time-out that no rule matches has the built-in class `{class}`"));
        }
        Some(_) => {}
    }
    classified
}

/// Rules that a scenario brings along are asked behind the deployment.
fn tell_layer(number: usize, why: &mut Vec<String>) {
    if number > 0 {
        why.push("the rules of the deployment assign no class: those of the scenario apply".into());
    }
}

/// All masks that match, the most specific one first.
fn taking<'a, R>(
    masks: impl Iterator<Item = (&'a RequestMask, R)>,
    interaction: &Interaction<'_>,
) -> Vec<(&'a RequestMask, R)> {
    let mut taking: Vec<_> = masks.filter(|(mask, _)| mask.matches(interaction)).collect();
    taking.sort_by(|(left, _), (right, _)| right.compare(left));
    taking
}

fn taking_async<'a>(rules: &'a [AsyncRule], asked: &Asked<'_>) -> Vec<(String, &'a AsyncRule)> {
    match asked {
        Asked::Http(interaction) => {
            let masks = rules.iter().flat_map(|rule| rule.http.iter().map(move |mask| (mask, rule)));
            taking(masks, interaction).into_iter().map(|(mask, rule)| (mask.text(), rule)).collect()
        }
        Asked::Amqp { vhost, exchange, key } => {
            let masks = rules.iter().flat_map(|rule| rule.amqp.iter().map(move |mask| (mask, rule)));
            let mut taking: Vec<_> = masks.filter(|(mask, _)| mask.matches(vhost, exchange, key)).collect();
            taking.sort_by_key(|(mask, _)| std::cmp::Reverse(mask.specificity()));
            taking.into_iter().map(|(mask, rule)| (mask.as_str().to_owned(), rule)).collect()
        }
    }
}

fn tell_rules(tried: &[(&str, String)], why: &mut Vec<String>) {
    let Some(((first, mask), others)) = tried.split_first() else {
        why.push("no rule matches such a request".into());
        return;
    };
    why.push(format!("rule `{first}` matches the request by its mask `{mask}`"));
    for (rule, mask) in others.iter().filter(|(rule, _)| rule != first) {
        why.push(format!("rule `{rule}` is not used: its mask `{mask}` is less specific"));
    }
}

/// Up to the first class that fits: what stands below it is not tried.
fn tell_classes<'a>(classes: impl Iterator<Item = (&'a str, bool)>, why: &mut Vec<String>) {
    for (class, fits) in classes {
        why.push(format!("class `{class}` {}", if fits { "fits" } else { "does not fit" }));
        if fits {
            return;
        }
    }
}

fn policy(
    errors: ErrorRules<'_>,
    question: &Question<'_>,
    is_async: bool,
    class: &ErrorClass,
    why: &mut Vec<String>,
) -> Option<String> {
    let scenario = question.scenario.unwrap_or_default();
    let (half, which) = if is_async { ("async", Half::Async) } else { ("sync", Half::Sync) };
    let retries = errors.half(which);
    let found = retries.find(scenario, class.as_str());
    if question.scenario.is_none() {
        why.push("no scenario was given: only policies for all scenarios apply".into());
    }
    let Some(policy) = found.policy else {
        why.push(format!(
            "no policy of `{half}` covers class `{class}` here: the failure goes to the scenario"
        ));
        return None;
    };
    why.push(policy_line(policy));
    if found.is_own {
        why.push("the policy is the scenario's own: the deployment has none for it".into());
    }
    if retries.is_off() {
        why.push(format!("but retries are switched off by `{half}.mode: none`"));
        return None;
    }
    Some(policy.name.clone())
}

fn policy_line(policy: &Policy) -> String {
    let Policy { name, initial_interval, multiplier, max_interval, .. } = policy;
    let attempts = policy.max_attempts.map_or("any number of".to_owned(), |most| most.to_string());
    format!(
        "policy `{name}` retries it: {attempts} attempts, the first after {initial_interval:?}, then after waits that \
         grow by a factor of {multiplier}, up to {max_interval:?}"
    )
}
