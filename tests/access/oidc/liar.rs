//! A provider whose lies are chosen by the test. Without any, it is an honest one.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, Uri, header};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use url::form_urlencoded;

pub const DOCUMENT: &str = "/.well-known/openid-configuration";
pub const KEYS: &str = "/keys";
pub const TOKEN: &str = "/token";
pub const USERINFO: &str = "/userinfo";
/// Place to which a redirect leads.
pub const ELSEWHERE: &str = "/elsewhere";
/// Token that only the userinfo endpoint may see.
pub const ACCESS: &str = "access-token-of-the-test";

/// Manner in which an endpoint answers instead of what it should say.
#[derive(Clone, Copy)]
pub enum Manner {
    Status(u16),
    /// A refusal of OAuth, with a description that repeats the code.
    Refusal(&'static str),
    Redirect,
    /// 10 MB.
    Huge,
    /// Never.
    Silent,
    Garbage,
}

/// Signer of the tokens.
#[derive(Clone, Copy)]
pub enum Signer {
    /// The key of this place in [`Liar::pairs`].
    Key(usize),
    Nobody,
    /// HMAC with the public key as the secret.
    PublicKey,
}

/// Lies about the parts of the truth.
#[derive(Clone)]
pub struct Lies {
    pub header: Value,
    /// Claims to add to the true ones; `null` takes one away.
    pub claims: Value,
    pub signer: Signer,
    /// Keys that are published: names, and places in [`Liar::pairs`].
    pub published: Vec<(&'static str, usize)>,
    pub document: Value,
    pub userinfo: Value,
    pub manners: HashMap<&'static str, Manner>,
    /// Takes a finished token, and says another one; `None` says none.
    pub distort: fn(String) -> Option<String>,
}

pub struct Liar {
    address: SocketAddr,
    pub issuer: Mutex<String>,
    pub lies: Mutex<Lies>,
    pairs: [EcdsaKeyPair; 2],
    asked: Mutex<HashMap<String, usize>>,
    /// Requests for tokens that wait until the gate is open.
    pub under_way: watch::Sender<usize>,
    pub gate: watch::Sender<bool>,
}

impl Liar {
    /// A liar who listens, and is honest so far.
    pub async fn start() -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lies = Lies {
            header: json!({"alg": "ES256", "kid": "k1", "typ": "JWT"}),
            claims: json!({}),
            signer: Signer::Key(0),
            published: vec![("k1", 0)],
            document: json!({}),
            userinfo: json!({"sub": "7"}),
            manners: HashMap::new(),
            distort: Some,
        };
        let liar = Arc::new(Self {
            address,
            issuer: Mutex::new(format!("http://{address}")),
            lies: Mutex::new(lies),
            pairs: [pair(), pair()],
            asked: Mutex::default(),
            under_way: watch::Sender::new(0),
            gate: watch::Sender::new(true),
        });
        let app = Router::new().fallback(answer).with_state(Arc::clone(&liar));
        tokio::spawn(async move { axum::serve(listener, app).await });
        liar
    }

    /// Changes the lies.
    pub fn lie(&self, change: impl FnOnce(&mut Lies)) {
        change(&mut self.lies.lock().unwrap());
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn issuer(&self) -> String {
        self.issuer.lock().unwrap().clone()
    }

    /// The code of a login with this nonce.
    pub fn code(nonce: &str) -> String {
        format!("code-of-{nonce}")
    }

    /// Times that an endpoint was asked.
    pub fn asked(&self, path: &str) -> usize {
        self.asked.lock().unwrap().get(path).copied().unwrap_or_default()
    }

    fn id_token(&self, nonce: &str) -> String {
        let now = Timestamp::now().as_second();
        self.token(json!({
            "iss": self.issuer(), "aud": "pagurus", "sub": "7", "nonce": nonce, "iat": now, "exp": now + 300,
            "preferred_username": "ann", "groups": ["operators"], "sid": "session-1",
        }))
    }

    /// An honest logout token, but for the lies about claims.
    pub fn logout_token(&self, jti: &str) -> String {
        let now = Timestamp::now().as_second();
        let events = json!({"http://schemas.openid.net/event/backchannel-logout": {}});
        self.token(json!({
            "iss": self.issuer(), "aud": "pagurus", "sub": "7", "sid": "session-1", "iat": now, "exp": now + 120,
            "jti": jti, "events": events,
        }))
    }

    fn token(&self, mut claims: Value) -> String {
        let lies = self.lies.lock().unwrap();
        put(&mut claims, &lies.claims);
        let part = |value: &Value| BASE64.encode(value.to_string());
        let signed = format!("{}.{}", part(&lies.header), part(&claims));
        let signature = match lies.signer {
            Signer::Key(place) => {
                let random = SystemRandom::new();
                self.pairs[place].sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec()
            }
            Signer::Nobody => Vec::new(),
            Signer::PublicKey => {
                let public = self.pairs[0].public_key().as_ref();
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public);
                ring::hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
            }
        };
        format!("{signed}.{}", BASE64.encode(signature))
    }

    fn document(&self) -> Value {
        let issuer = self.issuer();
        let mut document = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}{TOKEN}"),
            "userinfo_endpoint": format!("{issuer}{USERINFO}"),
            "jwks_uri": format!("{issuer}{KEYS}"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        put(&mut document, &self.lies.lock().unwrap().document);
        document
    }

    fn keys(&self) -> Value {
        let published = self.lies.lock().unwrap().published.clone();
        let keys: Vec<Value> = published.iter().map(|(kid, place)| jwk(&self.pairs[*place], kid)).collect();
        json!({"keys": keys})
    }

    async fn tokens(&self, form: &[u8]) -> Value {
        self.under_way.send_modify(|count| *count += 1);
        self.gate.subscribe().wait_for(|open| *open).await.unwrap();
        self.under_way.send_modify(|count| *count -= 1);
        let form: HashMap<_, _> = form_urlencoded::parse(form).into_owned().collect();
        assert!(form.contains_key("code_verifier") && !form.contains_key("client_secret"), "{form:?}");
        let token = self.id_token(form["code"].strip_prefix("code-of-").unwrap());
        let distort = self.lies.lock().unwrap().distort;
        let mut answer = json!({"access_token": ACCESS, "token_type": "Bearer", "expires_in": 60});
        if let Some(token) = distort(token) {
            answer["id_token"] = json!(token);
        }
        answer
    }
}

async fn answer(State(liar): State<Arc<Liar>>, uri: Uri, body: Bytes) -> Response<Body> {
    let path = uri.path();
    *liar.asked.lock().unwrap().entry(path.to_owned()).or_default() += 1;
    let manner = liar.lies.lock().unwrap().manners.get(path).copied();
    let respond = |status: u16, body: Vec<u8>| {
        let response = Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
        response.header(header::LOCATION, ELSEWHERE).body(Body::from(body)).unwrap()
    };
    let said = match manner {
        Some(Manner::Status(status)) => return respond(status, b"{}".into()),
        Some(Manner::Refusal(name)) => {
            let text = json!({"error": name, "error_description": String::from_utf8_lossy(&body)});
            return respond(400, text.to_string().into());
        }
        Some(Manner::Redirect) => return respond(307, b"{}".into()),
        Some(Manner::Huge) => return respond(200, json!({"a": "a".repeat(10_000_000)}).to_string().into()),
        Some(Manner::Silent) => std::future::pending().await,
        // A token that stands where it should not must not come back in a text.
        Some(Manner::Garbage) => return respond(200, format!("\"{ACCESS}\"").into()),
        None => match path {
            DOCUMENT => liar.document(),
            KEYS => liar.keys(),
            USERINFO => liar.lies.lock().unwrap().userinfo.clone(),
            TOKEN | ELSEWHERE => liar.tokens(&body).await,
            _ => return respond(404, b"{}".into()),
        },
    };
    respond(200, said.to_string().into())
}

fn pair() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random).unwrap()
}

fn jwk(pair: &EcdsaKeyPair, kid: &str) -> Value {
    let point = &pair.public_key().as_ref()[1..];
    let (x, y) = (BASE64.encode(&point[..32]), BASE64.encode(&point[32..]));
    json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": kid, "use": "sig"})
}

/// Puts these members in the place of the former ones; `null` takes one away.
fn put(value: &mut Value, members: &Value) {
    let none = Map::new();
    let value = value.as_object_mut().unwrap();
    for (name, member) in members.as_object().unwrap_or(&none) {
        value.insert(name.clone(), member.clone());
    }
    value.retain(|_, member| !member.is_null());
}
