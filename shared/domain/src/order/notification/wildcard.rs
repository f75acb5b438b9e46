//! Patterns of `notify.allow`: texts with `*` for any run of characters.

/// True if the text matches the pattern; `*` stands for any run of characters.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn amqp_5_patterns_match_runs_of_characters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*", "abc", true),
            ("a*c", "abbc", true),
            ("a*c", "ab", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("*.x.*", "a.x.b", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
