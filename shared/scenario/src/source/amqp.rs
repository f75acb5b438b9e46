//! Reads `amqp` actions. What is constant is checked here; what is evaluated, when it runs.

use pagurus_domain::document::form::{Form, Keys, key, required};

use super::draft::Effect;
use super::http::{ActionParts, GIVEN_UP, cancel, name_of_request, named, request_without_name};
use super::reader::{IDENTIFIER, ScenarioReader, Spot, quoted};
use super::template::{NamedTemplate, names_request, without_marks};
use crate::value::Template;
use crate::{Action, AmqpAction};

/// The keys of one message.
#[rustfmt::skip]
pub(super) static KEYS: Keys = Keys::new(&[
    required("exchange", Form::Matching(r"^(?!amq\.).{1,255}$"), "The exchange, neither the default one nor one of the broker or the engine."),
    required("key", SHORT_TEXT, "The routing key."),
    key("vhost", SHORT_TEXT, "The virtual host; default: the engine's own."),
    key("headers", HEADERS, "Header fields of the message."),
    key("body", Form::Something, "A text is sent as it is, anything else as JSON."),
    key("request", Form::Matching(IDENTIFIER), "Registers an asynchronous request of this name, for which a `wait` waits."),
    GIVEN_UP,
]);

/// A text that AMQP can take as a name.
const SHORT_TEXT: Form = Form::Matching("^.{0,255}$");
const HEADERS: Form = Form::Map { names: "^.{1,128}$", of: &Form::AsWritten, least: 0 };

/// Names in AMQP are short strings.
const LONGEST_SHORT_STRING: usize = 255;
/// Longest name of a header field: the specification of AMQP 0-9-1 asks for no more of a server.
const LONGEST_HEADER_NAME: usize = 128;

/// Reads one `amqp` action.
pub(super) fn read(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> ActionParts {
    let effect = Effect { fails: Some("amqp"), ..Effect::default() };
    let before = reader.fault_count();
    let Some(fields) = reader.fields(spot, &KEYS) else {
        return (None, effect, None);
    };
    reader.is_sent = true;
    let exchange = reader
        .required(spot, &fields, "exchange", "exchange: NAME")
        .cloned()
        .and_then(|exchange| self::exchange(reader, &exchange));
    let key = reader
        .required(spot, &fields, "key", "key: ROUTING_KEY")
        .cloned()
        .and_then(|key| short_text(reader, &key));
    let vhost = fields.get("vhost").and_then(|vhost| short_text(reader, vhost));
    let headers = named(reader, &fields, "headers");
    check_header_names(reader, &headers);
    let body = fields.get("body").and_then(|body| reader.template(body));
    reader.is_sent = false;
    let request = name_of_request(reader, &fields);
    let cancel = cancel::read(reader, &fields);
    let (Some(exchange), Some(key)) = (exchange, key) else {
        return (None, effect, request);
    };
    if reader.fault_count() > before {
        return (None, effect, request);
    }
    let mut secrets = Vec::new();
    let sent = headers.iter().map(|(_, _, value)| value).chain(&body).chain(&vhost).chain([&exchange, &key]);
    sent.for_each(|template| template.collect_secrets(&mut secrets));
    let action = AmqpAction {
        vhost,
        exchange,
        key,
        headers: without_marks(headers),
        body,
        request: request.as_ref().map(|request| request.name.clone()),
        cancel,
        secrets: secrets.into(),
    };
    if action.request.is_none() && amqp_names_request(&action) {
        reader.push(request_without_name(&spot.mark));
        return (None, effect, None);
    }
    (Some(Action::Amqp(Box::new(action))), effect, request)
}

fn amqp_names_request(amqp: &AmqpAction) -> bool {
    let headers = amqp.headers.iter().map(|(_, value)| value);
    let mut all = headers.chain(&amqp.body).chain(&amqp.vhost).chain([&amqp.exchange, &amqp.key]);
    all.any(names_request)
}

fn exchange(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = short_text(reader, spot)?;
    let fault = match template.constant_text() {
        Some("") => spot
            .fault("messages cannot be published to the default exchange")
            .hint("name an exchange of your own; the default one would reach any queue by its name"),
        Some(name) if name.starts_with("amq.") => {
            spot.fault(format!("{} belongs to the broker", quoted(name))).hint("name an exchange of your own")
        }
        _ => return Some(template),
    };
    reader.push(fault);
    None
}

/// A text that AMQP can take as a name.
pub(super) fn short_text(reader: &mut ScenarioReader<'_>, spot: &Spot<'_>) -> Option<Template> {
    let template = reader.text_template(spot)?;
    let text = template.constant_text().unwrap_or_default();
    if text.len() > LONGEST_SHORT_STRING {
        let fault = spot.fault(format!("`{}` is longer than 255 bytes", spot.label));
        reader.push(fault.hint("AMQP allows no more"));
        return None;
    }
    Some(template)
}

fn check_header_names(reader: &mut ScenarioReader<'_>, headers: &[NamedTemplate]) {
    for (mark, name, _) in headers {
        let good =
            !name.is_empty() && name.len() <= LONGEST_HEADER_NAME && !name.contains(|c: char| c.is_control());
        if !good {
            let fault = mark.fault(format!("{} is not a name of a header field", quoted(name)));
            reader.push(fault.hint("write 1 to 128 characters"));
        }
    }
}
