//! Errors as RFC 9457 describes them, each type with a page of its own under `docs/errors/`.

mod missing;

use pagurus_domain::document::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every type of problem that the API and receipts can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// The body is not JSON, or not UTF-8, or the request does not name one host.
    Malformed,
    /// The body is well-formed, but something in it is wrong.
    Invalid,
    /// No scenario of this name or version.
    UnknownScenario,
    /// Another order has this id.
    Conflict,
    /// The present status does not allow the action.
    Refused,
    /// The present version is another one than the request expects.
    PreconditionFailed,
    /// Nothing is there.
    NotFound,
    /// The body is larger than allowed.
    TooLarge,
    /// Nobody has logged in, or the token or session counts no more.
    Unauthenticated,
    /// A page of another site asked, or the role does not permit it.
    Forbidden,
    /// The host of the request is none by which the API is called.
    Misdirected,
    /// The media type is not understood.
    UnsupportedMediaType,
    /// The method is not offered here.
    MethodNotAllowed,
    /// The message has a routing key that means nothing.
    UnknownKey,
    /// Too much at once; later it will do.
    Busy,
    /// The database or the broker is away; repeat with the same id.
    Unavailable,
    /// A defect of the engine.
    Internal,
}

impl Type {
    /// All types.
    pub const ALL: &'static [Self] = &[
        Self::Malformed,
        Self::Invalid,
        Self::UnknownScenario,
        Self::Conflict,
        Self::Refused,
        Self::PreconditionFailed,
        Self::NotFound,
        Self::TooLarge,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::Misdirected,
        Self::UnsupportedMediaType,
        Self::MethodNotAllowed,
        Self::UnknownKey,
        Self::Busy,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The name: last part of the `type` URI and of the page's file name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Invalid => "invalid",
            Self::UnknownScenario => "unknown-scenario",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::PreconditionFailed => "precondition-failed",
            Self::NotFound => "not-found",
            Self::TooLarge => "too-large",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::Misdirected => "misdirected",
            Self::UnsupportedMediaType => "unsupported-media-type",
            Self::MethodNotAllowed => "method-not-allowed",
            Self::UnknownKey => "unknown-key",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// Status of an HTTP answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Invalid | Self::UnknownScenario => 422,
            Self::Conflict | Self::Refused => 409,
            Self::NotFound | Self::UnknownKey => 404,
            Self::PreconditionFailed => 412,
            Self::TooLarge => 413,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::Misdirected => 421,
            Self::UnsupportedMediaType => 415,
            Self::MethodNotAllowed => 405,
            Self::Busy => 429,
            Self::Unavailable => 503,
            Self::Internal => 500,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Malformed => "The request cannot be read",
            Self::Invalid => "The content is not valid",
            Self::UnknownScenario => "There is no such scenario",
            Self::Conflict => "Another order has this id",
            Self::Refused => "The present status does not allow this",
            Self::PreconditionFailed => "The stored version is not the expected one",
            Self::NotFound => "There is no such thing",
            Self::TooLarge => "The body is too large",
            Self::Misdirected => "The API is not reached by this host name",
            Self::Unauthenticated => "This needs a login or a token",
            Self::Forbidden => "This is not permitted",
            Self::UnsupportedMediaType => "The media type is not supported",
            Self::MethodNotAllowed => "The method is not allowed here",
            Self::UnknownKey => "The routing key is not known",
            Self::Busy => "Too much at once",
            Self::Unavailable => "Not available at the moment",
            Self::Internal => "The engine failed",
        }
    }
}

/// Faults that one problem lists at most: an answer must not be many times as long as what was sent.
pub const MAX_ERRORS: usize = 100;
/// Longest text of one fault, in bytes: a pointer holds names that a client chose.
const MAX_TEXT_BYTES: usize = 1000;

/// A fault, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Detail {
    /// JSON pointer to it; empty for the whole body.
    pub pointer: String,
    /// Fault of the field.
    pub message: String,
    /// Text to write instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Line in a text, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// A problem (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Stable URI of the type.
    #[serde(rename = "type")]
    pub type_: String,
    /// Title, the same for every problem of the type.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// Explanation of this occurrence.
    pub detail: String,
    /// Pointer to the first field at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// All faults; at most 100 are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Detail>,
    /// Present status of the order, if that is the reason.
    #[serde(rename = "orderStatus", default, skip_serializing_if = "Option::is_none")]
    pub order_status: Option<String>,
}

impl Problem {
    /// A problem of this type.
    #[must_use]
    pub fn new(kind: Type, detail: impl Into<String>) -> Self {
        Self {
            type_: format!("urn:pagurus:problem:{}", kind.name()),
            title: kind.title().to_owned(),
            status: kind.status(),
            detail: detail.into(),
            pointer: None,
            errors: Vec::new(),
            order_status: None,
        }
    }

    /// A problem that lists faults: the first [`MAX_ERRORS`], and how many there are.
    #[must_use]
    pub fn of_faults(kind: Type, faults: &[Fault]) -> Self {
        let first = faults.first();
        let cut = |text| cut(text, MAX_TEXT_BYTES);
        let detail = first.map_or_else(String::new, |fault| {
            let more = match faults.len() - 1 {
                0 => String::new(),
                more if more < MAX_ERRORS => format!(" (and {more} more)"),
                more => format!(" (and {more} more; the first {MAX_ERRORS} are listed)"),
            };
            let fault = Fault::placed(None, cut(&fault.pointer), cut(&fault.message));
            format!("{}{more}", fault.sentence())
        });
        let errors = faults
            .iter()
            .take(MAX_ERRORS)
            .map(|fault| Detail {
                pointer: cut(&fault.pointer).to_owned(),
                message: cut(&fault.message).to_owned(),
                hint: fault.hint.as_deref().map(|hint| cut(hint).to_owned()),
                line: fault.at.map(|at| at.line),
                column: fault.at.map(|at| at.column),
            })
            .collect();
        Self { pointer: first.map(|fault| cut(&fault.pointer).to_owned()), errors, ..Self::new(kind, detail) }
    }

    /// A problem of one field, which its sentence names.
    #[must_use]
    pub fn of_field(pointer: &str, message: impl Into<String>) -> Self {
        Self::new(Type::Invalid, Fault::placed(None, pointer, message).sentence()).at(pointer)
    }

    /// Type of the problem; none where a version that is yet to come has made it.
    #[must_use]
    pub fn kind(&self) -> Option<Type> {
        let name = self.type_.strip_prefix("urn:pagurus:problem:")?;
        Type::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The problem of a search by a payload, of somebody from whom payloads are hidden.
    #[must_use]
    pub fn payloads_are_hidden(condition: &str) -> Self {
        let detail = format!(
            "`{condition}` searches payloads, which your role does not see (`access.payloads`): search by something else"
        );
        Self::new(Type::Forbidden, detail).at(format!("/{condition}"))
    }

    /// Adds a pointer to the field at fault.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Adds the order's present status.
    #[must_use]
    pub fn with_status(mut self, status: impl ToString) -> Self {
        self.order_status = Some(status.to_string());
        self
    }
}

fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qlt_8_of_many_faults_a_hundred_are_listed_and_all_are_counted() {
        let faults: Vec<Fault> =
            (0..8_400).map(|n| Fault::placed(None, format!("/{n}"), "is not known")).collect();
        let problem = Problem::of_faults(Type::Invalid, &faults);
        assert_eq!(problem.errors.len(), MAX_ERRORS);
        assert_eq!(problem.detail, "[0] is not known (and 8399 more; the first 100 are listed)");
        let problem = Problem::of_faults(Type::Invalid, &faults[..MAX_ERRORS]);
        assert_eq!(problem.detail, "[0] is not known (and 99 more)");
        assert_eq!(problem.errors.len(), MAX_ERRORS);
    }

    #[test]
    fn qlt_8_a_name_without_measure_is_cut_in_what_is_said_of_it() {
        let fault = Fault::placed(None, format!("/{}", "é".repeat(1_000_000)), "is not known");
        let problem = Problem::of_faults(Type::Invalid, &[fault]);
        let length = serde_json::to_string(&problem).map(|text| text.len());
        assert!(length.is_ok_and(|bytes| bytes < 4_000), "{}", problem.detail);
    }
}
