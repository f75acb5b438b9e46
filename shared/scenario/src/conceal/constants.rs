//! Constants of a deployment that are secrets: by the last word of their names.

use serde_json::Value;

/// Last words of names.
const SECRET: [&str; 12] = [
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "token",
    "tokens",
    "credential",
    "credentials",
    "apikey",
    "apikeys",
];
/// Words before `key` or `keys`: a key of another kind, such as one for routing, is no secret.
const OF_KEYS: [&str; 10] =
    ["api", "access", "private", "secret", "signing", "encryption", "shared", "master", "auth", "account"];

/// True for a name such as `billing_token`, `api-key`, `dbPassword`, and not for `token_url`.
#[must_use]
pub(super) fn is_secret(name: &str) -> bool {
    let words = words(name);
    match words.as_slice() {
        [.., before, last] if last == "key" || last == "keys" => OF_KEYS.contains(&before.as_str()),
        [.., last] => SECRET.contains(&last.as_str()),
        [] => false,
    }
}

/// Emits the values of the constants that are secrets: texts and numbers, and those inside of a mapping or list.
pub(super) fn secret(constants: &Value, emit: &mut dyn FnMut(&str)) {
    walk(constants, false, emit);
}

fn walk(value: &Value, is_one: bool, emit: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| walk(value, is_one || is_secret(name), emit));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, is_one, emit)),
        Value::String(text) if is_one => emit(text),
        Value::Number(number) if is_one => emit(&number.to_string()),
        _ => {}
    }
}

/// The words of a name in small letters: apart by what is no letter or digit, and by capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for character in name.chars() {
        let is_part = character.is_alphanumeric();
        if !is_part || (was_small && character.is_uppercase()) {
            words.push(String::new());
        }
        if is_part && let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
        was_small = character.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_15_a_constant_is_a_secret_by_the_last_word_of_its_name() {
        for name in
            ["token", "billing_token", "api-key", "dbPassword", "APIKEY", "crm.credentials", "ACCESS_KEY"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["", "token_url", "routing_key", "key", "passwordless", "secret_name", "tokenizer", "monkey"]
        {
            assert!(!is_secret(name), "{name}");
        }
        let constants = serde_json::json!({
            "crm": {"url": "http://crm.example", "token": "t-1", "retries": 3},
            "credentials": [{"user": "u-1", "pin": 4711}],
        });
        let mut found = Vec::new();
        secret(&constants, &mut |text| found.push(text.to_owned()));
        found.sort();
        assert_eq!(found, ["4711", "t-1", "u-1"]);
    }
}
