//! Masks of where messages go: virtual host, exchange and routing key. Must never allocate while
//! matching, like all masks.

use percent_encoding::percent_decode_str;

use super::Glob;
use crate::document::nearest;

/// A mask such as `%2F?exchange=orders&key=shop.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::retry) struct AmqpMask {
    text: String,
    vhost: Glob,
    exchange: Glob,
    key: Glob,
}

/// Why a text is no mask, and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::retry) struct NoMask {
    pub(in crate::retry) message: String,
    pub(in crate::retry) hint: String,
}

const FORM: &str = "write it like `/vhost?exchange=orders&key=shop.*`, the virtual host `/` as `%2F`";

impl AmqpMask {
    /// Reads a mask. What is left out stands for any; an empty exchange is the default one.
    pub(in crate::retry) fn parse(text: &str) -> Result<Self, NoMask> {
        let Parts { vhost, exchange, key } = Parts::read(text)?;
        let glob = |part: Option<String>| Glob::new(part.as_deref().unwrap_or("*"));
        Ok(Self { text: text.to_owned(), vhost: glob(vhost), exchange: glob(exchange), key: glob(key) })
    }

    pub(in crate::retry) fn as_str(&self) -> &str {
        &self.text
    }

    pub(in crate::retry) fn matches(&self, vhost: &str, exchange: &str, key: &str) -> bool {
        self.vhost.matches(vhost) && self.exchange.matches(exchange) && self.key.matches(key)
    }

    /// Greater is more specific: more names without a star, then more letters beside the stars.
    pub(in crate::retry) fn specificity(&self) -> (usize, usize) {
        let parts = [&self.vhost, &self.exchange, &self.key];
        let exact = parts.iter().filter(|part| part.is_exact()).count();
        let letters = parts.iter().filter(|part| !part.is_exact()).map(|part| part.specificity()).sum();
        (exact, letters)
    }

    /// True if some message is meant by both.
    pub(in crate::retry) fn overlaps(&self, other: &Self) -> bool {
        self.vhost.overlaps(&other.vhost)
            && self.exchange.overlaps(&other.exchange)
            && self.key.overlaps(&other.key)
    }
}

/// Target of a message, or a mask of targets. `None` is what was left out.
pub(in crate::retry) struct Parts {
    pub(in crate::retry) vhost: Option<String>,
    pub(in crate::retry) exchange: Option<String>,
    pub(in crate::retry) key: Option<String>,
}

impl Parts {
    pub(in crate::retry) fn read(text: &str) -> Result<Self, NoMask> {
        let (vhost, query) = text.split_once('?').unwrap_or((text, ""));
        let mut parts = Self { vhost: vhost_of(vhost)?, exchange: None, key: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(no_mask(format!("`{pair}` has no `=`"), FORM));
            };
            let part = match name {
                "exchange" => &mut parts.exchange,
                "key" => &mut parts.key,
                _ => return Err(unknown(name)),
            };
            if part.is_some() {
                return Err(no_mask(format!("`{name}` occurs twice"), "give each once; a mask has stars"));
            }
            *part = Some(decoded(value)?);
        }
        Ok(parts)
    }
}

fn unknown(name: &str) -> NoMask {
    let hint = nearest(name, ["exchange", "key"])
        .map_or_else(|| FORM.to_owned(), |name| format!("did you mean `{name}`?"));
    NoMask { message: format!("unknown part `{name}`"), hint }
}

/// `/a` and `a` are the virtual host `a`; `%2F`, `/%2F` and `/` alone are `/`, which every broker
/// has; no text at all is any.
fn vhost_of(text: &str) -> Result<Option<String>, NoMask> {
    if text.is_empty() {
        return Ok(None);
    }
    let name = decoded(text.strip_prefix('/').unwrap_or(text))?;
    Ok(Some(if name.is_empty() { "/".to_owned() } else { name }))
}

/// The text with its percent escapes read.
fn decoded(text: &str) -> Result<String, NoMask> {
    let broken = || no_mask(format!("`{text}` is not percent-encoded text"), "write `%25` for `%`");
    // The library takes what is no escape as it stands.
    for escape in text.split('%').skip(1) {
        let digits = escape.as_bytes().first_chunk::<2>();
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)).ok_or_else(broken)?;
        if digits.eq_ignore_ascii_case(b"2a") {
            let message = format!("`{text}` escapes a star, but a star always stands for any letters");
            return Err(no_mask(message, "write `*`"));
        }
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| broken())?;
    Ok(decoded.into_owned())
}

fn no_mask(message: String, hint: &str) -> NoMask {
    NoMask { message, hint: hint.to_owned() }
}
