//! Logins at a certified provider, through the pages that it shows to a browser.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use pagurus_access::LoginFailure;
use pagurus_access::oidc::PendingLogin;
use pagurus_harness::npm::with_packages;
use reqwest::header;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;
use url::{Url, form_urlencoded};

use super::{REDIRECT, SECRET, asked, provider};

/// The provider, which ends with this value.
pub(super) struct Certified {
    pub(super) issuer: String,
    /// Logout tokens that it has sent.
    pub(super) logouts: mpsc::Receiver<String>,
    _process: Child,
    /// Output of the process, which ends where nobody could read it.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Certified {
    pub(super) async fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let folder = root.join("tests/access/oidc/oidc-provider");
        let place = tokio::task::spawn_blocking({
            let root = root.to_owned();
            move || with_packages(&folder, &root).unwrap()
        });
        let place = place.await.unwrap();
        let (sender, logouts) = mpsc::channel(8);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let logout = format!("http://{}/logout", listener.local_addr().unwrap());
        let app = Router::new().route("/logout", post(take_logout)).with_state(Arc::new(sender));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let mut process = Command::new("node")
            .arg(place.join("provider.mjs"))
            .args([REDIRECT, &logout])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("`./dev test` installs node");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let issuer = lines.next_line().await.unwrap().expect("the provider says where it listens");
        Self { issuer, logouts, _process: process, _output: lines }
    }
}

async fn take_logout(State(sender): State<Arc<mpsc::Sender<String>>>, body: Bytes) {
    let mut form = form_urlencoded::parse(&body);
    let token = form.find(|(name, _)| name == "logout_token").expect("a logout token").1;
    sender.send(token.into_owned()).await.unwrap();
}

/// A browser: keeps cookies, and follows redirects until they leave the provider.
pub(super) struct Browser {
    http: reqwest::Client,
    cookies: HashMap<String, String>,
}

impl Browser {
    pub(super) fn new() -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_only([])
            .build()
            .unwrap();
        Self { http, cookies: HashMap::new() }
    }

    /// Opens an address, or sends it a form; returns the page, or the address outside to which it leads.
    async fn open(&mut self, url: &Url, form: Option<&[(&str, &str)]>) -> Result<(Url, String), Url> {
        let (mut url, mut form) = (url.clone(), form);
        loop {
            let cookies: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let request = match form.take() {
                Some(form) => self.http.post(url.clone()).form(form),
                None => self.http.get(url.clone()),
            };
            let answer = request.header(header::COOKIE, cookies.join("; ")).send().await.unwrap();
            for cookie in answer.headers().get_all(header::SET_COOKIE) {
                let (cookie, _) = cookie.to_str().unwrap().split_once(';').unwrap();
                let (name, value) = cookie.split_once('=').unwrap();
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
            let Some(location) = answer.headers().get(header::LOCATION) else {
                return Ok((url, answer.text().await.unwrap()));
            };
            let next = url.join(location.to_str().unwrap()).unwrap();
            if next.as_str().starts_with(REDIRECT) {
                return Err(next);
            }
            url = next;
        }
    }

    /// Signs in as somebody, agrees to all that is asked, and returns state and code.
    pub(super) async fn sign_in(&mut self, url: &str, name: &str) -> (String, String) {
        let mut opened = self.open(&Url::parse(url).unwrap(), None).await;
        loop {
            let (url, page) = match opened {
                Ok(page) => page,
                Err(back) => {
                    let given: HashMap<_, _> = back.query_pairs().into_owned().collect();
                    return (given["state"].clone(), given["code"].clone());
                }
            };
            let action = url.join(part(&page, "action=\"")).unwrap();
            let prompt = part(&page, "name=\"prompt\" value=\"").to_owned();
            let form = [("prompt", prompt.as_str()), ("login", name), ("password", "any")];
            opened = self.open(&action, Some(&form)).await;
        }
    }
}

impl Browser {
    /// Ends the session at the provider, by the page that it shows.
    pub(super) async fn sign_out(&mut self, issuer: &str) {
        let end = Url::parse(&format!("{issuer}/session/end")).unwrap();
        let (_, page) = self.open(&end, None).await.unwrap();
        let (action, xsrf) =
            (part(&page, "action=\"").to_owned(), part(&page, "name=\"xsrf\" value=\"").to_owned());
        let form = [("xsrf", xsrf.as_str()), ("logout", "yes")];
        self.open(&Url::parse(&action).unwrap(), Some(&form)).await.unwrap();
    }
}

/// Text of a page behind a mark, up to the next quotation mark.
fn part<'a>(page: &'a str, mark: &str) -> &'a str {
    let (_, behind) = page.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {page}"));
    behind.split_once('"').unwrap().0
}

fn refused<T: std::fmt::Debug>(found: Result<T, LoginFailure>) -> String {
    match found {
        Err(LoginFailure::Refused(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ui_1_a_person_signs_in_at_a_certified_provider_and_out_of_it() {
    let mut certified = Certified::start().await;
    let provider = provider(&certified.issuer, &[]);
    let start = provider.start(REDIRECT).await.unwrap();
    let mut browser = Browser::new();
    let (state, code) = browser.sign_in(&start.url, "ann").await;

    let login = provider.finish(&start.pending, &state, &code, REDIRECT).await.unwrap();
    assert_eq!(login.person.subject, format!("{}#ann", certified.issuer));
    assert_eq!(login.person.name, "ann@shop");
    assert_eq!(login.person.groups, ["operators", "night"]);
    let session = login.provider_session.expect("the client asks for the session");

    let again = refused(provider.finish(&start.pending, &state, &code, REDIRECT).await);
    assert!(again.contains("`invalid_grant`") && !again.contains(&code), "{again}");

    // The provider takes back what a misused code has given: the logout is that of another login.
    let start = provider.start(REDIRECT).await.unwrap();
    let (state, code) = browser.sign_in(&start.url, "ann").await;
    let login = provider.finish(&start.pending, &state, &code, REDIRECT).await.unwrap();
    assert_eq!(login.provider_session.as_deref(), Some(session.as_str()));

    browser.sign_out(&certified.issuer).await;
    let token = certified.logouts.recv().await.unwrap();
    let ended = provider.logged_out(&token).await.unwrap();
    assert_eq!(ended.subject.as_deref(), Some(login.person.subject.as_str()));
    assert_eq!(ended.provider_session.as_deref(), Some(session.as_str()));
    assert!(refused(provider.logged_out(&token).await).contains("used before"));
}

#[tokio::test]
async fn ui_1_a_code_is_of_use_to_nobody_but_the_browser_that_began_the_login() {
    let certified = Certified::start().await;
    let provider_of = |secret| provider(&certified.issuer, &[("CLIENT_SECRET", secret)]);
    let honest = provider_of(SECRET);

    let start = honest.start(REDIRECT).await.unwrap();
    let (state, code) = Browser::new().sign_in(&start.url, "ann").await;
    let wrong_state = refused(honest.finish(&start.pending, "other", &code, REDIRECT).await);
    assert!(wrong_state.contains("`state`"), "{wrong_state}");
    let mut kept = serde_json::to_value(&start.pending).unwrap();
    kept["verifier"] = json!("v".repeat(43));
    let thief: PendingLogin = serde_json::from_value(kept).unwrap();
    let wrong_verifier = refused(honest.finish(&thief, &state, &code, REDIRECT).await);
    assert!(wrong_verifier.contains("`invalid_grant`"), "{wrong_verifier}");

    let start = honest.start(REDIRECT).await.unwrap();
    let (state, code) = Browser::new().sign_in(&start.url, "ann").await;
    let elsewhere = honest.finish(&start.pending, &state, &code, "http://127.0.0.1:9/other").await;
    assert!(refused(elsewhere).contains("`invalid_grant`"));

    let start = honest.start(REDIRECT).await.unwrap();
    let (state, code) = Browser::new().sign_in(&start.url, "ann").await;
    assert_eq!(asked(&start, "state"), state);
    let other = provider_of("another-secret").finish(&start.pending, &state, &code, REDIRECT).await;
    let other = refused(other);
    assert!(other.contains("`invalid_client`") && !other.contains("another-secret"), "{other}");
    // The nonce is in the signed token: that of another login does not fit.
    let mut kept = serde_json::to_value(&start.pending).unwrap();
    kept["nonce"] = json!("other");
    let thief: PendingLogin = serde_json::from_value(kept).unwrap();
    let wrong_nonce = refused(honest.finish(&thief, &state, &code, REDIRECT).await);
    assert!(wrong_nonce.contains("`nonce`"), "{wrong_nonce}");
}
