//! Refused messages.

use pagurus_store::outside::refused::StoredRefused;
use pagurus_wire::refused::RefusedView;

/// Bytes of a body that are shown.
const SHOWN_BYTES: usize = 1024 * 1024;

/// A refused message with what is shown of its body: text as it is, other bytes in hexadecimal.
#[must_use]
pub fn refused_view(stored: StoredRefused) -> RefusedView {
    let StoredRefused { line, properties, body } = stored;
    let (encoding, body) = match std::str::from_utf8(&body) {
        Ok(text) => ("text", text[..text.floor_char_boundary(SHOWN_BYTES)].to_owned()),
        Err(_) => {
            let shown = &body[..body.len().min(SHOWN_BYTES)];
            ("hex", shown.iter().map(|byte| format!("{byte:02x}")).collect())
        }
    };
    RefusedView {
        line,
        properties: serde_json::from_str(&properties).unwrap_or_default(),
        encoding: encoding.to_owned(),
        body,
    }
}
