//! Durations as people write them.

use std::time::Duration;

/// Reads a duration such as `500ms`, `5s`, `10m`, `1h30m` or `2d`.
///
/// Each unit may occur once, from the largest to the smallest, each with a whole number. A bare
/// `0` is the empty duration; any other number without a unit is refused, because nobody can tell
/// whether it means seconds or milliseconds.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let refused = || format!("`{text}` is not a duration; write it like `500ms`, `5s`, `1h30m`, `2d`");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut total: u64 = 0;
    let mut largest_allowed = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(refused)?;
        let number: u64 = rest[..number_end].parse().map_err(|_| refused())?;
        rest = &rest[number_end..];
        let unit_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = UNITS.iter().position(|(name, _)| *name == &rest[..unit_end]).ok_or_else(refused)?;
        if unit < largest_allowed {
            return Err(refused());
        }
        largest_allowed = unit + 1;
        rest = &rest[unit_end..];
        total = number
            .checked_mul(UNITS[unit].1)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| format!("`{text}` is too long"))?;
    }
    if largest_allowed == 0 {
        return Err(refused());
    }
    Ok(Duration::from_millis(total))
}
