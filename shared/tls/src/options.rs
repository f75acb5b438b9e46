//! Options of TLS in the query of a URL.

use percent_encoding::percent_decode_str;

/// Takes options with these names out of the query of a URL; returns the URL without them, and their values.
///
/// # Errors
/// A value is no UTF-8. The message does not repeat the URL, which may hold a password.
pub fn taken_out<const COUNT: usize>(
    url: &str,
    names: [&str; COUNT],
) -> Result<(String, [Option<String>; COUNT]), String> {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut values, mut others) = ([const { None }; COUNT], Vec::new());
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match names.iter().position(|known| *known == name) {
            None => others.push(option),
            Some(index) => {
                let value = percent_decode_str(value).decode_utf8();
                let value = value.map_err(|_| format!("has `{name}`, whose value is not UTF-8"))?;
                values[index] = Some(value.into_owned());
            }
        }
    }
    let rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
    Ok((rest, values))
}
