//! Header fields that carry credentials, by their names: they are stored nowhere.

/// Parts of names.
const PARTS: [&str; 13] = [
    "authorization",
    "cookie",
    "key",
    "token",
    "secret",
    "signature",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "session",
    "jwt",
    "bearer",
];

/// Names that hold such a part and are no credentials: what they carry names a request, a message or a place.
const NO_CREDENTIALS: [&str; 10] = [
    "idempotency-key",
    "x-idempotency-key",
    "routing-key",
    "x-routing-key",
    "partition-key",
    "x-partition-key",
    "message-key",
    "x-message-key",
    "correlation-key",
    "x-correlation-key",
];

/// True for a header field such as `Authorization`, `Set-Cookie`, `X-Api-Key` or `X-Hub-Signature-256`; upper and
/// lower case are the same, and `_` is `-`.
#[must_use]
pub fn holds_credentials(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    !NO_CREDENTIALS.contains(&&*name) && PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_15_a_header_field_holds_credentials_by_its_name() {
        for name in [
            "Authorization",
            "cookie",
            "Proxy-Authorization",
            "X-Api-Key",
            "api_key",
            "X-Auth-Token",
            "X-Hub-Signature-256",
            "webhook-signature",
            "Client-Secret",
            "X-Session-Id",
            "PHPSESSION",
            "X-JWT-Assertion",
        ] {
            assert!(holds_credentials(name), "{name}");
        }
        for name in [
            "content-type",
            "Idempotency-Key",
            "routing_key",
            "step-status",
            "keep-alive",
            "x-death",
            "traceparent",
        ] {
            assert!(!holds_credentials(name), "{name}");
        }
    }
}
