//! Texts that a secret becomes as a whole: hexadecimal digits, Base64, and its bytes read as Latin-1.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;

/// Emits the secret and its other forms.
pub(super) fn forms(secret: &str, emit: &mut dyn FnMut(&str)) {
    emit(secret);
    if !secret.is_ascii() {
        // Header fields are read as Latin-1 by many, and written as UTF-8 into what they answer.
        let latin: String = secret.bytes().map(char::from).collect();
        emit(&latin);
    }
    let digits = |upper: bool| -> String {
        let digit = |bits: u8| char::from_digit(u32::from(bits), 16).unwrap_or_default();
        let lower = secret.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]);
        lower.map(|digit| if upper { digit.to_ascii_uppercase() } else { digit }).collect()
    };
    emit(&digits(false));
    emit(&digits(true));
    in_base64(secret, emit);
}

/// Forms of the secret inside a longer text in Base64, such as the name and password of a login: three
/// bytes become four characters, so by its place there it has one of three spellings. Characters that
/// hold bits of what stands around it are left out. Each in the alphabet of URLs as well.
fn in_base64(secret: &str, emit: &mut dyn FnMut(&str)) {
    for before in 0..3_usize {
        let mut bytes = vec![0; before];
        bytes.extend(secret.as_bytes());
        let text = BASE64.encode(&bytes);
        if let Some(inner) = text.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6) {
            emit(&inner.replace('+', "-").replace('/', "_"));
            emit(inner);
        }
    }
}
