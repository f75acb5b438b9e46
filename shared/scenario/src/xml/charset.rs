//! Bytes of an answer as text.

use encoding_rs::{Encoding, UTF_8};

use super::read::is_xml_type;

/// Bytes at the beginning in which a declaration names the encoding.
const DECLARATION_BYTES: usize = 256;

/// The text of a body. That of an XML type is read by its byte order mark, by the `charset` of its content type, or by its
/// declaration; all else is UTF-8, and what is none is replaced.
#[must_use]
pub fn decode(bytes: Vec<u8>, content_type: Option<&str>) -> String {
    if let Some(kind) = content_type.filter(|kind| is_xml_type(kind)) {
        let named = || charset_of(kind).or_else(|| declared(&bytes)).unwrap_or(UTF_8);
        let encoding = Encoding::for_bom(&bytes).map_or_else(named, |(encoding, _)| encoding);
        if encoding != UTF_8 {
            return encoding.decode(&bytes).0.into_owned();
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The encoding of `text/xml; charset=windows-1251`.
fn charset_of(kind: &str) -> Option<&'static Encoding> {
    let named = kind.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })?;
    Encoding::for_label(named.as_bytes())
}

/// The encoding that `<?xml version="1.0" encoding="…"?>` names.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let beginning = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    let text = String::from_utf8_lossy(beginning);
    let declaration = text.strip_prefix("<?xml")?;
    let declaration = &declaration[..declaration.find("?>")?];
    let rest = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let named = rest[1..].split(quote).next()?;
    // Who could read the declaration as it stands has found bytes of ASCII: it is not UTF-16.
    Encoding::for_label(named.as_bytes()).filter(|encoding| encoding.is_ascii_compatible())
}
