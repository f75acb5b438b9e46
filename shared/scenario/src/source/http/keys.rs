//! The keys of an `http` action.

use pagurus_domain::document::form::{Form, Key, KeyRule, Keys, NamedForm, key, required};

use super::super::reader::{IDENTIFIER, NAMED};
use crate::Method;

#[rustfmt::skip]
const METHOD: Key = key("method", Form::Words(methods), "The method; default: `POST` with a body, else `GET`.");
#[rustfmt::skip]
const ADDRESS: Key = required("url", Form::Matching(URL), "`http://` or `https://`, or a constant in front: `${config.NAME}/path`. What comes from the order is percent-encoded.");
#[rustfmt::skip]
const QUERY: Key = key("query", NAMED, "Appended to the URL, encoded.");
#[rustfmt::skip]
const FIELDS: Key = key("headers", HEADERS, "Header fields; some are the engine's.");
#[rustfmt::skip]
const BODY: Key = key("body", Form::Something, "Any value, sent as JSON; `{xml: …}` is a text of XML, in which values are escaped.");
#[rustfmt::skip]
const FORM: Key = key("form", NAMED, "A mapping, sent as a form.");
#[rustfmt::skip]
const TEXT: Key = key("text", Form::Text, "A text, sent as it is.");
#[rustfmt::skip]
const PREFIXES: Key = key("namespaces", NAMESPACES, "Prefixes for namespaces of XML that is sent and answered: `{o: \"http://shop.example/orders\"}`.");
#[rustfmt::skip]
const SOAP: Key = key("soap", Form::Written(r"^1\.[12]$"), "Version of SOAP, `\"1.1\"` or `\"1.2\"`: the engine writes the envelope around `body: {xml: …}` and takes it off the answer; a fault is a failure.");
#[rustfmt::skip]
const SOAP_ACTION: Key = key("soapAction", Form::Text, "The action of a SOAP call.");
#[rustfmt::skip]
const SOAP_HEADER: Key = key("soapHeader", Form::Text, "Content of the header of the envelope, as XML.");
#[rustfmt::skip]
const TIMEOUT: Key = key("timeout", Form::Lapse, "Time-out for the whole call with its answer, at most 5 minutes; default: `worker.http.timeout`.");
#[rustfmt::skip]
const EXPECTED: Key = key("expect", EXPECT, "Statuses that are not errors: `404`, `\"4xx\"`, `\"400-404\"`, or a list of them.");
#[rustfmt::skip]
const CREDENTIALS: Key = key("auth", Form::Fields(&AUTH), "`{bearer: …}`, or `{username: …, password: …}`; beside them, or alone, `{certificate: NAME}`.");

/// The keys of what a call sends, and these.
macro_rules! keys_of_a_call {
    ($($more:expr),+ $(,)?) => {
        Keys::with_rules(
            &[
                METHOD, ADDRESS, QUERY, FIELDS, BODY, FORM, TEXT, PREFIXES, SOAP, SOAP_ACTION, SOAP_HEADER, TIMEOUT, EXPECTED,
                $($more),+
            ],
            &[KeyRule::OneOf(&[&[], &["body"], &["form"], &["text"]])],
        )
    };
}

/// The keys of one HTTP request.
#[rustfmt::skip]
pub(super) static KEYS: Keys = keys_of_a_call![
    key("save", SAVE, "Variables to set from the answer."),
    key("name", Form::Matching(IDENTIFIER), "Keeps the answer as `responses.NAME`, too."),
    CREDENTIALS,
    key("request", Form::Matching(IDENTIFIER), "Registers an asynchronous request of this name, for which a `wait` waits."),
    GIVEN_UP,
];

/// Key of the call by which an asynchronous request is given up.
#[rustfmt::skip]
pub(in super::super) const GIVEN_UP: Key = key("cancel", Form::Fields(&CANCEL), "`{http: …}`: called once the answer to the request is not wanted any more.");

pub(super) static CANCEL: Keys =
    Keys::new(&[required("http", Form::Fields(&CANCELING), "The call, with the keys of what is sent.")]);

/// The keys of a call by which a request is given up: nobody reads its answer.
pub(super) static CANCELING: Keys = keys_of_a_call![CREDENTIALS];

/// Form of an HTTP request.
pub(in super::super) static HTTP: NamedForm = NamedForm { name: "http", form: Form::Fields(&KEYS) };

/// Names of certificates: those of files in one folder.
pub(super) const CERTIFICATE: &str = r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$";

#[rustfmt::skip]
pub(super) static AUTH: Keys = Keys::with_rules(
    &[
        key("bearer", Form::Text, "The token."),
        key("username", Form::Text, "The user."),
        key("password", Form::Text, "The password."),
        key("certificate", Form::Matching(CERTIFICATE), "The certificate that is shown to the system, by its name in `worker.http.certificates`."),
    ],
    &[KeyRule::OneOf(&[&[], &["bearer"], &["username", "password"]]), KeyRule::AtLeastOne],
);

/// A URL with a host, or one that begins with an expression.
const URL: &str = r"^(\$\{|[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\:@])";

/// Names of header fields, without those that the engine writes.
const HEADERS: Form = Form::Map {
    names: r"^(?!([Cc]onnection|[Cc]ontent-[Ll]ength|[Ii]dempotency-[Kk]ey|[Tt]ransfer-[Ee]ncoding)$)[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    of: &Form::AsWritten,
    least: 0,
};

/// Namespaces by their prefixes.
const NAMESPACES: Form = Form::Map {
    names: r"^(?![Xx][Mm][Ll])[A-Za-z_][A-Za-z0-9_-]{0,31}$",
    of: &Form::Matching("^[^ ]+$"),
    least: 0,
};

const EXPECT: Form = Form::Either(&[STATUSES, Form::List { of: &STATUSES, least: 0, most: None }]);

const STATUSES: Form = Form::Either(&[
    Form::Whole { least: 100, most: 599 },
    Form::Matching(r"^\s*([1-5]xx|[1-5]\d\d(\s*-\s*[1-5]\d\d)?)\s*$"),
]);

/// Variables that an action sets.
pub(in super::super) const SAVE: Form = Form::Map { names: IDENTIFIER, of: &Form::Anything, least: 0 };

fn methods() -> Vec<&'static str> {
    Method::ALL.iter().map(|method| method.as_str()).collect()
}
