//! The kinds of values that configuration keys have, and how each is read from a document. Must
//! never know a key by name.

use std::net::SocketAddr;
use std::time::Duration;

use pagurus_domain::document::{DocumentNode, Value, nearest, parse_duration};

use super::destinations::AllowedDestination;
use super::exchanges::AllowedExchange;

/// Kind of the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text that is not empty.
    Text,
    /// A text that may be left out.
    OptionalText,
    /// A URL that may hold a password: may come from a file, and is shown without it.
    SecretUrl,
    /// A secret that may be left out: may come from a file, and is never shown.
    OptionalSecret,
    /// A word of letters, digits, `-`, `_` and `.`.
    Name,
    /// `true` or `false`.
    Flag,
    /// A whole number within bounds.
    Count {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A number of bytes, plain or with `KiB`, `MiB`, `GiB`.
    Bytes,
    /// The same; 0 has a meaning of its own.
    BytesOrZero,
    /// A duration longer than 0.
    Duration,
    /// A duration; 0 has a meaning of its own.
    DurationOrZero,
    /// A duration that may be left out.
    OptionalDuration,
    /// An IP address with a port.
    Address,
    /// The same, which may be left out.
    OptionalAddress,
    /// A choice among these words.
    Choice(&'static [&'static str]),
    /// A list of texts with at least one.
    Texts,
    /// A list of texts; it may be empty.
    TextsOrNone,
    /// A list of words out of these; it may be empty.
    Words(&'static [&'static str]),
    /// A list of names of hosts; `*` is any, and `*.` before a name any below it.
    Hosts,
    /// A list of hosts and networks.
    Calls,
    /// A list of exchanges.
    Exchanges,
    /// A tree with a reader of its own; the text tells what it is.
    Tree(&'static str),
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Typed {
    Absent,
    Text(String),
    Flag(bool),
    Count(u64),
    Duration(Duration),
    Address(SocketAddr),
    Texts(Vec<String>),
    Calls(Vec<AllowedDestination>),
    Exchanges(Vec<AllowedExchange>),
    Tree(DocumentNode),
}

impl Kind {
    /// The kind in words, for the reference.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Text | Self::OptionalText | Self::SecretUrl | Self::OptionalSecret => "text".into(),
            Self::Name => "name".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Count { least, most } if most >= u64::from(u32::MAX) => {
                format!("whole number from {least}")
            }
            Self::Count { least, most } => format!("whole number, {least} to {most}"),
            Self::Bytes | Self::BytesOrZero => "bytes".into(),
            Self::Duration | Self::DurationOrZero | Self::OptionalDuration => "duration".into(),
            Self::Address | Self::OptionalAddress => "IP address and port".into(),
            Self::Choice(words) => listed(words),
            Self::Texts | Self::TextsOrNone => "list of texts".into(),
            Self::Words(words) => format!("list of {}", listed(words)),
            Self::Hosts => "list of names of hosts".into(),
            Self::Calls => "list of hosts and networks".into(),
            Self::Exchanges => "list of exchanges".into(),
            Self::Tree(what) => what.into(),
        }
    }

    /// True if the value is text that the environment gives as it stands, without YAML.
    pub(super) fn is_text(self) -> bool {
        self.is_secret() || matches!(self, Self::Text | Self::OptionalText | Self::Name)
    }

    /// True if the value may come from a file, and is never shown whole.
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::SecretUrl | Self::OptionalSecret)
    }

    /// Reads a value.
    ///
    /// # Errors
    /// Says what was expected instead.
    pub(super) fn read(self, node: &DocumentNode) -> Result<Typed, String> {
        match self {
            Self::OptionalText | Self::OptionalSecret | Self::OptionalDuration | Self::OptionalAddress
                if node.is_null() =>
            {
                Ok(Typed::Absent)
            }
            Self::Text | Self::OptionalText | Self::SecretUrl | Self::OptionalSecret => {
                text(node).map(Typed::Text)
            }
            Self::Name => name(node).map(Typed::Text),
            Self::Flag => node.as_bool().map(Typed::Flag).ok_or_else(|| expected("`true` or `false`", node)),
            Self::Count { least, most } => count(node, least, most).map(Typed::Count),
            Self::BytesOrZero if node.as_i64() == Some(0) => Ok(Typed::Count(0)),
            Self::Bytes | Self::BytesOrZero => bytes(node).map(Typed::Count),
            Self::DurationOrZero => duration(node).map(Typed::Duration),
            Self::Duration | Self::OptionalDuration => match duration(node)? {
                Duration::ZERO => Err("the duration must be longer than 0".into()),
                duration => Ok(Typed::Duration(duration)),
            },
            Self::Address | Self::OptionalAddress => address(node).map(Typed::Address),
            Self::Choice(words) => choice(node, words).map(Typed::Text),
            Self::Texts => texts(node, 1).map(Typed::Texts),
            Self::TextsOrNone => texts(node, 0).map(Typed::Texts),
            Self::Words(words) => {
                let list = node.as_list().ok_or_else(|| expected("a list", node))?;
                let chosen = list.iter().map(|item| choice(item, words));
                chosen.collect::<Result<_, _>>().map(Typed::Texts)
            }
            Self::Hosts => {
                let list = node.as_list().ok_or_else(|| expected("a list", node))?;
                list.iter().map(host).collect::<Result<_, _>>().map(Typed::Texts)
            }
            Self::Calls => {
                let list = node.as_list().ok_or_else(|| expected("a list", node))?;
                let destinations = list.iter().map(|item| AllowedDestination::parse(&text(item)?));
                destinations.collect::<Result<_, _>>().map(Typed::Calls)
            }
            Self::Exchanges => {
                let list = node.as_list().ok_or_else(|| expected("a list", node))?;
                let exchanges = list.iter().map(|item| AllowedExchange::parse(&text(item)?));
                exchanges.collect::<Result<_, _>>().map(Typed::Exchanges)
            }
            Self::Tree(_) => Ok(Typed::Tree(node.clone())),
        }
    }
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn expected(what: &str, node: &DocumentNode) -> String {
    format!("expected {what}, found {}", node.kind())
}

/// Plain numbers and truth values are taken as they were written.
pub(super) fn text(node: &DocumentNode) -> Result<String, String> {
    let text = match node.value {
        Value::String(_) => node.as_str(),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) => node.source_text(),
        _ => None,
    };
    match text {
        Some("") => Err("the text is empty".into()),
        Some(text) => Ok(text.to_owned()),
        None => Err(expected("a text", node)),
    }
}

fn name(node: &DocumentNode) -> Result<String, String> {
    let text = text(node)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.len() > 64 || !text.chars().all(allowed) {
        return Err("a name has up to 64 letters, digits, `-`, `_` and `.`".into());
    }
    Ok(text)
}

fn count(node: &DocumentNode, least: u64, most: u64) -> Result<u64, String> {
    let number = node.as_i64().ok_or_else(|| expected("a whole number", node))?;
    u64::try_from(number)
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("{number} is not between {least} and {most}"))
}

fn bytes(node: &DocumentNode) -> Result<u64, String> {
    const UNITS: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let text = text(node)?;
    let refused = || format!("`{text}` is not a number of bytes; write it like `65536` or `64KiB`");
    let unit = UNITS.iter().find(|(name, _)| text.ends_with(name));
    let (digits, factor) = match unit {
        Some((name, factor)) => (text.trim_end_matches(name).trim_end(), *factor),
        None => (text.as_str(), 1),
    };
    let number: u64 = digits.parse().map_err(|_| refused())?;
    match number.checked_mul(factor) {
        // Bodies of 4 GiB would not fit the broker, the memory, nor a count of 32 bits.
        Some(bytes @ 1..=0xffff_ffff) => Ok(bytes),
        _ => Err(format!("`{text}` is not between 1 byte and 4 GiB")),
    }
}

fn duration(node: &DocumentNode) -> Result<Duration, String> {
    parse_duration(&text(node)?)
}

fn address(node: &DocumentNode) -> Result<SocketAddr, String> {
    let text = text(node)?;
    text.parse()
        .map_err(|_| format!("`{text}` is not an IP address with a port; write it like `127.0.0.1:8080`"))
}

fn choice(node: &DocumentNode, words: &[&str]) -> Result<String, String> {
    let text = text(node)?;
    if words.contains(&text.as_str()) {
        return Ok(text);
    }
    Err(match nearest(&text, words.iter().copied()) {
        Some(word) => format!("`{text}` is not known; did you mean `{word}`?"),
        None => format!("`{text}` is not one of {}", listed(words)),
    })
}

fn texts(node: &DocumentNode, least: usize) -> Result<Vec<String>, String> {
    let list = node.as_list().ok_or_else(|| expected("a list of texts", node))?;
    if list.len() < least {
        return Err("the list is empty".into());
    }
    list.iter().map(text).collect()
}

/// The name of a host in lower case, `*`, or `*.` and a name.
fn host(node: &DocumentNode) -> Result<String, String> {
    let text = text(node)?;
    let name = text.strip_prefix("*.").unwrap_or(&text);
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_name = name.split('.').all(|label| !label.is_empty() && label.chars().all(allowed));
    if text.len() > 255 || !(text == "*" || is_name) {
        return Err(format!(
            "`{text}` is not the name of a host; write it like `api.example`, without scheme and port"
        ));
    }
    Ok(text.to_ascii_lowercase())
}
