//! Credentials of requests, as the document describes them: which there are, and which an operation takes.

use pagurus_domain::access::AccessRole;
use serde_json::{Value, json};

use crate::http::identity::{COOKIE, CSRF, Needs};

/// Describes all credentials, by the names under which operations ask for them.
pub(super) fn schemes() -> Value {
    json!({
        "token": {
            "type": "http", "scheme": "bearer", "bearerFormat": "pgr_…",
            "description": "Token of a program. With `access.mode: public`, no operation needs a credential.",
        },
        "session": {
            "type": "apiKey", "in": "cookie", "name": COOKIE,
            "description": "Session of a person; `POST /v1/session` sets the cookie.",
        },
        "csrf": {
            "type": "apiKey", "in": "header", "name": CSRF,
            "description": "`csrfToken` of `/v1/session`; every change in a session needs it.",
        },
    })
}

/// Describes the credentials of an operation, any one of which is enough.
pub(super) fn of(needs: Needs, method: &str) -> Value {
    match needs {
        Needs::Nothing => json!([]),
        // The address of a request is the right to answer it, unless `access.callbacks` asks for a token.
        Needs::Role(AccessRole::System) => json!([{}, {"token": []}]),
        Needs::Role(_) if method == "get" => json!([{"token": []}, {"session": []}]),
        Needs::Role(_) => json!([{"token": []}, {"session": [], "csrf": []}]),
    }
}
