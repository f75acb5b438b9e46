//! Access: who may do what, by every way of login.

mod directory;
mod matrix;
mod revoked;
mod sessions;
mod tenants;
mod tokens;

use pagurus_harness::client::{Answer, Api};
use pagurus_harness::nodes::{Node, Role};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::installation::Installation;

/// Name and password of the local administrator of the tests.
pub(crate) const ROOT: (&str, &str) = ("root", "correct horse battery staple");

/// An engine that asks who somebody is, with a local administrator.
pub(crate) async fn guarded(test: &str, roles: &[Role], settings: &[(&str, &str)]) -> Installation {
    let hash = pagurus_access::hash_password(ROOT.1).unwrap();
    let access = [
        ("PAGURUS__ACCESS__MODE", "token"),
        ("PAGURUS__ACCESS__LOCAL__NAME", ROOT.0),
        ("PAGURUS__ACCESS__LOCAL__PASSWORD_HASH", &hash),
    ];
    Installation::only(test, roles, &[&access[..], settings].concat()).await
}

/// Proof that a request carries.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    None,
    Token(String),
    Session { cookie: String, csrf: String },
}

impl Proof {
    pub(crate) fn on(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Self::None => request,
            Self::Token(token) => request.bearer_auth(token),
            Self::Session { cookie, csrf } => request.header("cookie", cookie).header("x-csrf-token", csrf),
        }
    }
}

/// A client that carries a proof.
pub(crate) struct Caller<'a> {
    api: &'a Api,
    http: &'a reqwest::Client,
    proof: Proof,
}

impl<'a> Caller<'a> {
    pub(crate) fn of(engine: &'a Installation, proof: Proof) -> Self {
        Self { api: engine, http: engine.env().http(), proof }
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        self.ask_at(self.api.base(), method, path, body).await
    }

    async fn ask_at(&self, base: &str, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let request = self.proof.on(self.http.request(method, format!("{base}{path}")));
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        // A stream has no end to wait for.
        let is_stream = answer.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let text = if is_stream { String::new() } else { answer.text().await.unwrap() };
        Answer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
    }

    pub(crate) async fn status(&self, method: Method, path: &str, body: Option<&Value>) -> u16 {
        self.ask(method, path, body).await.status
    }
}

/// Logs in by name and password; what the answer was, and the proof that it gave.
async fn log_in(engine: &Installation, name: &str, password: &str) -> (Answer, Proof) {
    let login = json!({"name": name, "password": password});
    let answer = engine.env().http().post(format!("{}/v1/session", engine.base())).json(&login);
    let answer = answer.send().await.unwrap();
    let status = answer.status().as_u16();
    let cookie = answer.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
    let body: Value = answer.json().await.unwrap();
    let Some(cookie) = cookie else { return (Answer { status, body }, Proof::None) };
    for word in ["__Host-pagurus=", "; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let csrf = body["csrfToken"].as_str().unwrap().to_owned();
    (Answer { status, body }, Proof::Session { cookie, csrf })
}

/// The local administrator, logged in.
pub(crate) async fn root(engine: &Installation) -> Proof {
    let (answer, proof) = log_in(engine, ROOT.0, ROOT.1).await;
    assert_eq!((answer.status, &answer.body["role"]), (200, &json!("admin")), "{answer:?}");
    proof
}

/// Makes a token, and returns its id and the token.
pub(crate) async fn token(engine: &Installation, by: &Proof, name: &str, role: &str) -> (String, Proof) {
    let asked = json!({"name": name, "role": role, "reason": "a test"});
    let made = Caller::of(engine, by.clone()).ask(Method::POST, "/v1/access/tokens", Some(&asked)).await;
    assert_eq!(made.status, 201, "{made:?}");
    let text = |field: &str| made.body[field].as_str().unwrap().to_owned();
    (text("id"), Proof::Token(text("token")))
}

/// A token of a program that sends orders.
pub(crate) async fn client_token(engine: &Installation) -> String {
    match token(engine, &root(engine).await, "shop", "client").await.1 {
        Proof::Token(token) => token,
        other => panic!("{other:?}"),
    }
}

/// Base of the API of a node.
fn base_of(node: &Node) -> String {
    node.url()
}
