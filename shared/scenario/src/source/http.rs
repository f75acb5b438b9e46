//! Reads `http` actions. What is constant is checked here; what is evaluated, when it runs.

pub(super) mod cancel;
mod keys;
mod xml;

use std::sync::Arc;

use pagurus_domain::document::form::Keys;
use url::Url;

use super::draft::{Effect, Mark, Named};
use super::reader::{Fields, LONGEST_CALL, ScenarioReader, Spot, quoted, with_nearest};
use super::template::{NamedTemplate, literal_parts, names_request, without_marks};
use crate::value::{Expression, Template};
use crate::xml::Namespaces;
use crate::{Action, Auth, Body, HttpAction, Method, StatusRange, is_certificate_name};
use keys::{AUTH, KEYS};
pub(super) use keys::{GIVEN_UP, HTTP, SAVE};

/// Header fields that the engine writes itself; a second one would break the request.
const OWN_HEADERS: &[&str] = &["connection", "content-length", "idempotency-key", "transfer-encoding"];

/// Result of reading an action: the action, what it can do, the request it registers.
pub(super) type ActionParts = (Option<Action>, Effect, Option<Named>);

/// Reads one `http` action.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let (action, effect, request) = read_call(reader, spot);
    (action.map(|action| Action::Http(Box::new(action))), effect, request)
}

/// Reads the mapping of one HTTP request.
pub(super) fn read_call(
    reader: &mut ScenarioReader<'_>,
    spot: &Spot<'_>,
) -> (Option<HttpAction>, Effect, Option<Named>) {
    let effect = Effect { fails: Some("http"), ..Effect::default() };
    let (action, request) = read_parts(reader, spot, &KEYS);
    let Some(action) = action else { return (None, effect, request) };
    if let Some(request) = request.as_ref().filter(|_| !tells_request(&action)) {
        reader.warn_unanswered_request(request);
    }
    if action.request.is_none() && http_names_request(&action) {
        reader.push(request_without_name(&spot.mark));
        return (None, effect, None);
    }
    (Some(action), effect, request)
}

/// Reads a call with these keys.
fn read_parts(
    reader: &mut ScenarioReader<'_>,
    spot: &Spot<'_>,
    keys: &'static Keys,
) -> (Option<HttpAction>, Option<Named>) {
    let before = reader.fault_count();
    let Some(fields) = reader.fields(spot, keys) else {
        return (None, None);
    };
    reader.is_sent = true;
    let url = reader
        .required(spot, &fields, "url", "url: \"${config.NAME}/path\"")
        .cloned()
        .and_then(|url| self::url(reader, &url));
    let namespaces = xml::namespaces(reader, &fields);
    let soap = xml::soap(reader, &fields, &namespaces);
    let body = body(reader, &fields, &namespaces);
    let method = fields.get("method").and_then(|spot| method(reader, spot));
    let query = named(reader, &fields, "query");
    let headers = headers(reader, &fields);
    let (auth, certificate) = fields.get("auth").map_or((None, None), |spot| auth(reader, spot));
    if let (Some(spot), Some(_)) = (fields.get("url"), &certificate)
        && spot.node.as_str().is_some_and(|url| url.to_ascii_lowercase().starts_with("http://"))
    {
        let fault = spot.fault("a certificate can be presented only over TLS");
        reader.push(fault.hint("write `https://`, or remove `auth: {certificate: …}`"));
    }
    reader.is_sent = false;
    let timeout = fields.get("timeout");
    let timeout = timeout.and_then(|spot| reader.lapse(spot, LONGEST_CALL));
    let expect = fields.get("expect");
    let expect = expect.map_or_else(Vec::new, |spot| expected(reader, spot));
    let save = save(reader, &fields);
    let name = name(reader, &fields, "name", "an answer");
    if let (Some(noted), Some(name)) = (reader.noted.as_mut(), &name) {
        noted.answer(&name.name);
    }
    let request = name_of_request(reader, &fields);
    let cancel = cancel::read(reader, &fields);
    let Some(url) = url.filter(|_| reader.fault_count() == before) else {
        return (None, request);
    };
    let default = if body.is_some() || soap.is_some() { Method::Post } else { Method::Get };
    let mut action = HttpAction {
        method: method.unwrap_or(default),
        url,
        query: without_marks(query),
        headers: without_marks(headers),
        body,
        timeout,
        expect,
        save: without_marks(save),
        name: name.map(|name| name.name),
        auth,
        certificate,
        request: request.as_ref().map(|request| request.name.clone()),
        cancel,
        namespaces,
        soap,
        secrets: Arc::default(),
    };
    action.secrets = secrets(&action).into();
    (Some(action), request)
}

/// The name under which an action registers a request.
pub(super) fn name_of_request(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) -> Option<Named> {
    let named = name(reader, fields, "request", "a request");
    if let (Some(noted), Some(named)) = (reader.noted.as_mut(), &named) {
        noted.request(&named.name);
    }
    named
}

/// The fault of an action that uses a request which it does not register.
pub(super) fn request_without_name(mark: &Mark) -> pagurus_domain::document::Fault {
    let fault = mark.fault("`${request.…}` has no value here: the action registers no request");
    fault.hint("add `request: NAME`")
}

/// A mapping of names to texts and numbers; empty where there is none.
pub(super) fn named(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>, key: &str) -> Vec<NamedTemplate> {
    let spot = fields.get(key);
    spot.and_then(|spot| reader.named_templates(spot)).unwrap_or_default()
}

/// A name that scripts use after a dot.
pub(super) fn name(
    reader: &mut ScenarioReader<'_>,
    fields: &Fields<'_>,
    key: &str,
    label: &str,
) -> Option<Named> {
    let spot = fields.get(key)?;
    let name = reader.reference(spot)?;
    reader.identifier(&name.mark, label, &name.name).then_some(name)
}

/// The secrets that the request names.
fn secrets(http: &HttpAction) -> Vec<String> {
    let mut names = Vec::new();
    http.each_sent(&mut |template| template.collect_secrets(&mut names));
    names
}

/// True if anything that is sent or saved may tell of the request.
fn tells_request(http: &HttpAction) -> bool {
    let mut tells = false;
    let mut look = |template: &Template| {
        template.each_expression(&mut |expression| {
            tells |= match expression {
                Expression::Path(path) => path[0] == "request",
                Expression::Code(code) => code.may_name("request"),
                Expression::Secret(_) => false,
            };
        });
    };
    http.each_sent(&mut look);
    http.save.iter().for_each(|(_, value)| look(value));
    tells
}

fn http_names_request(http: &HttpAction) -> bool {
    let mut names = http.save.iter().any(|(_, value)| names_request(value));
    http.each_sent(&mut |template| names |= names_request(template));
    names
}

fn method(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Method> {
    let word = reader.text(spot)?;
    let method = word.parse::<Method>().ok();
    if method.is_none() {
        let fault = spot.fault(format!("{} is not a method", quoted(word)));
        let known = Method::ALL.iter().map(|method| method.as_str());
        reader.push(with_nearest(fault, word, known));
    }
    method
}

fn url(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = reader.text_template(spot)?;
    let parts = literal_parts(&template);
    let has_gap = |text: &&str| text.contains(|c: char| c.is_whitespace() || c.is_control());
    if parts.iter().flatten().any(has_gap) {
        let fault = spot.fault("a URL may not contain spaces or line breaks");
        reader.push(fault.hint("write a space as `%20`"));
        return None;
    }
    // What comes from an expression is checked when it is called; here stands some letter for it.
    let flat: String = parts.iter().map(|part| part.unwrap_or("x")).collect();
    if let Some(Some(first)) = parts.first() {
        return check_address(reader, spot, first, &flat).then_some(template);
    }
    Some(template)
}

/// Checks scheme, user and host of a URL that begins with a constant.
fn check_address(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, first: &str, flat: &str) -> bool {
    let scheme = ["http://", "https://"].into_iter().find(|scheme| {
        let begin = first.get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    });
    let Some(scheme) = scheme else {
        let fault = spot.fault("a URL begins with `http://` or `https://`");
        reader.push(fault.hint("write it so, or start with a constant: `${config.NAME}/path`"));
        return false;
    };
    let rest = &flat[scheme.len()..];
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    if authority.contains('@') {
        let fault = spot.fault("a URL may not contain a user or a password");
        reader.push(fault.hint("write `auth: {username: …, password: …}`"));
        return false;
    }
    if authority.is_empty() || authority.starts_with(':') {
        let fault = spot.fault("the URL names no host");
        reader.push(fault.hint(format!("write `{scheme}HOST/path`")));
        return false;
    }
    if first.len() > scheme.len() + authority.len() || first.len() == flat.len() {
        warn_of_no_system(reader, spot, &format!("{scheme}{authority}"));
    }
    true
}

/// Warns of a constant place that no call can reach. No fault: stored versions have such places, and may never come there.
fn warn_of_no_system(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>, place: &str) {
    let why = match Url::parse(place) {
        Err(error) => error.to_string(),
        Ok(url) if url.port() == Some(0) => "port 0 stands for no port".to_owned(),
        Ok(_) => return,
    };
    let warning = spot.fault(format!("no system can be called at {}: {why}", quoted(place)));
    reader.warn(warning.hint("write host and port as they are"));
}

fn headers(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) -> Vec<NamedTemplate> {
    let headers = named(reader, fields, "headers");
    let mut seen: Vec<String> = Vec::new();
    for (mark, name, value) in &headers {
        let lower = name.to_ascii_lowercase();
        let shown = quoted(name);
        if name.is_empty() || !name.bytes().all(is_token) {
            let fault = mark.fault(format!("{shown} is not a name of a header field"));
            reader.push(fault.hint("write letters, digits and `-`"));
        } else if OWN_HEADERS.contains(&lower.as_str()) {
            let fault = mark.fault(format!("the header field {shown} is written by the engine"));
            reader.push(fault.hint("remove it"));
        } else if lower == "authorization" && fields.get("auth").is_some() {
            let fault = mark.fault(format!("{shown} and `auth` set the same header"));
            reader.push(fault.hint("remove one of the two"));
        } else if seen.contains(&lower) {
            let fault = mark.fault(format!("the header field {shown} is given twice"));
            reader.push(fault.hint("remove one of the two: upper and lower case are the same"));
        }
        // Comparing many with many would take long, and no real request has them.
        if seen.len() < 100 {
            seen.push(lower);
        }
        let is_bad = |c: char| c.is_control() && c != '\t';
        if literal_parts(value).iter().flatten().any(|text| text.contains(is_bad)) {
            let fault = mark.fault(format!("the value of {shown} contains a line break"));
            reader.push(fault.hint("write it on one line; use `>-` for a long text"));
        }
    }
    headers
}

/// The characters of a `token` in RFC 9110.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn body(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>, namespaces: &Namespaces) -> Option<Body> {
    let mut kinds = ["body", "form", "text"].into_iter().filter_map(|key| fields.entry(key));
    let (_, first) = kinds.next()?;
    for (mark, second) in kinds {
        let message = format!("`{}` and `{}` exclude each other", first.label, second.label);
        reader.push(mark.fault(message).hint("keep one of them"));
    }
    match first.label.as_str() {
        "form" => reader.named_templates(first).map(|fields| Body::Form(without_marks(fields))),
        "text" => reader.text_template(first).map(Body::Text),
        _ => match xml::xml_of(first) {
            Some(document) => xml::body(reader, &document, fields.get("soap").is_some(), namespaces),
            None => reader.template(first).map(Body::Json),
        },
    }
}

/// The variables that an action sets from its answer.
pub(super) fn save(reader: &mut ScenarioReader<'_>, fields: &Fields<'_>) -> Vec<NamedTemplate> {
    let mut saved = Vec::new();
    let Some(spot) = fields.get("save") else {
        return saved;
    };
    if spot.node.as_map().is_none() {
        let fault = spot.must_be("a mapping of variables to values");
        reader.push(fault.hint("write it like `save: {id: \"${response.body.id}\"}`"));
    }
    for (mark, member) in spot.entries() {
        reader.identifier(&mark, "a variable", &member.label);
        if let Some(template) = reader.template(&member) {
            if let Some(noted) = reader.noted.as_mut() {
                noted.variable(&member.label);
            }
            saved.push((mark, member.label, template));
        }
    }
    saved
}

/// Reads the credentials, and the name of the certificate.
fn auth(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> (Option<Auth>, Option<String>) {
    const HINT: &str = "write `{bearer: …}`, `{username: …, password: …}` or `{certificate: NAME}`";
    let before = reader.fault_count();
    let Some(fields) = reader.fields(spot, &AUTH) else { return (None, None) };
    let certificate = fields.get("certificate").and_then(|spot| certificate(reader, spot));
    let mut part = |key: &str| {
        let spot = fields.get(key)?;
        reader.text_template(spot)
    };
    let auth = match (part("bearer"), part("username"), part("password")) {
        (Some(token), None, None) => Some(Auth::Bearer(token)),
        (None, Some(username), Some(password)) => Some(Auth::Basic { username, password }),
        (None, None, None) if certificate.is_some() => None,
        _ => {
            // A part that could not be read has its own fault.
            if reader.fault_count() == before {
                let fault = spot
                    .fault("`auth` is neither a bearer token nor a user with a password nor a certificate");
                reader.push(fault.hint(HINT));
            }
            None
        }
    };
    (auth, certificate)
}

fn certificate(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<String> {
    let name = reader.text(spot)?;
    if !is_certificate_name(name) {
        let fault = spot.fault(format!("{} is not a name of a certificate", quoted(name)));
        reader.push(fault.hint("write letters, digits, `-`, `_` and `.`"));
        return None;
    }
    Some(name.to_owned())
}

fn expected(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Vec<StatusRange> {
    if spot.node.as_list().is_none() {
        return status_range(reader, spot).into_iter().collect();
    }
    let items: Vec<_> = spot.items().collect();
    let ranges = items.iter().filter_map(|item| status_range(reader, item));
    ranges.collect()
}

fn status_range(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<StatusRange> {
    let text = match (spot.node.as_i64(), spot.node.as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    };
    let status = |text: &str| text.trim().parse::<u16>().ok();
    let range = match (text.strip_suffix("xx"), text.split_once('-')) {
        (Some(hundreds), _) => status(hundreds)
            .filter(|hundreds| *hundreds < 10)
            .map(|hundreds| (hundreds * 100, hundreds * 100 + 99)),
        (None, Some((from, to))) => status(from).zip(status(to)),
        (None, None) => status(&text).map(|status| (status, status)),
    };
    let range = range.filter(|(from, to)| (100..=*to).contains(from) && *to <= 599);
    if range.is_none() {
        let message = match text.as_str() {
            "" => format!("`expect` lists statuses, not {}", spot.node.kind()),
            text => format!("{} is not an HTTP status", quoted(text)),
        };
        let fault = spot.fault(message);
        reader.push(fault.hint("write it like `404`, `\"4xx\"` or `\"200-299\"`"));
    }
    range.map(|(from, to)| StatusRange { from, to })
}
