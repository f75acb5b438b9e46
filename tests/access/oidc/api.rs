//! A login at the identity provider by the routes of the API: to the provider and back, and out when the provider says so.

use pagurus_harness::env::Env;
use pagurus_harness::nodes::Role;
use reqwest::{Response, header};
use serde_json::{Value, json};

use super::certified::{Browser, Certified};
use super::{CLIENT, SECRET};

/// Base of [`super::REDIRECT`].
const BASE: &str = "http://127.0.0.1:9";

/// The first cookie that an answer sets, without its attributes.
fn cookie(answer: &Response) -> String {
    let cookie = answer.headers().get(header::SET_COOKIE).expect("a cookie").to_str().unwrap();
    for word in ["; Secure", "; HttpOnly", "; Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn ui_1_a_person_comes_back_from_the_provider_with_a_session_that_the_provider_can_end() {
    let mut certified = Certified::start().await;
    let env = Env::new("access_oidc").await.unwrap();
    for (key, value) in [
        ("MODE", "oidc"),
        ("URL", BASE),
        ("OIDC__ISSUER", certified.issuer.as_str()),
        ("OIDC__CLIENT_ID", CLIENT),
        ("OIDC__CLIENT_SECRET", SECRET),
        ("OIDC__TIMEOUT", "60s"),
        ("GROUPS__OPERATOR", "[operators]"),
    ] {
        env.set(&format!("PAGURUS__ACCESS__{key}"), value);
    }
    let intake = env.start(Role::Intake, "intake").await.unwrap();
    let (base, http) = (intake.url(), env.http());
    let ask = async |cookie: &str, path: &str| {
        http.get(format!("{base}{path}")).header(header::COOKIE, cookie).send().await.unwrap()
    };
    let start = ask("", "/v1/session/login").await;
    assert_eq!(start.status().as_u16(), 303);
    let pending = cookie(&start);
    let provider = start.headers().get(header::LOCATION).unwrap().to_str().unwrap().to_owned();
    assert!(provider.starts_with(&certified.issuer), "{provider}");
    let mut browser = Browser::new();
    let (state, code) = browser.sign_in(&provider, "ann").await;
    let back = format!("/v1/session/oidc?state={state}&code={code}&iss=x");
    // Another browser has begun no login, and gets nothing by the address.
    assert_eq!(ask("", &back).await.status().as_u16(), 401);
    let opened = ask(&pending, &back).await;
    assert_eq!(opened.status().as_u16(), 200);
    let session = cookie(&opened);
    let who: Value = opened.json().await.unwrap();
    assert_eq!(
        (&who["name"], &who["role"], &who["method"]),
        (&json!("ann@shop"), &json!("operator"), &json!("oidc"))
    );
    assert_eq!(ask(&session, "/v1/orders").await.status().as_u16(), 200);
    assert_eq!(ask(&session, "/v1/access/tokens").await.status().as_u16(), 403);
    assert_eq!(ask("", "/v1/session/oidc?error=access_denied").await.status().as_u16(), 401);

    browser.sign_out(&certified.issuer).await;
    let token = certified.logouts.recv().await.unwrap();
    let log_out = async |token: &str| {
        let form = [("logout_token", token)];
        http.post(format!("{base}/v1/session/oidc/logout"))
            .form(&form)
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(log_out("nonsense").await, 400);
    assert_eq!(ask(&session, "/v1/orders").await.status().as_u16(), 200);
    assert_eq!(log_out(&token).await, 204);
    assert_eq!(ask(&session, "/v1/orders").await.status().as_u16(), 401);
}
