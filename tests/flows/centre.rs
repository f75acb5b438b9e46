//! The control centre as it is served: to a browser that goes to a page, and to nobody else.

use pagurus_harness::nodes::Role;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap};

use crate::installation::Installation;

mod pages;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

struct Served {
    status: u16,
    headers: HeaderMap,
    text: String,
}

impl Served {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

async fn get(engine: &Installation, path: &str, accept: &str) -> Served {
    let request = engine.env().http().get(format!("{}{path}", engine.base())).header(ACCEPT, accept);
    let answer = request.header(ACCEPT_ENCODING, "identity").send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Served { status, headers, text: answer.text().await.unwrap() }
}

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[tokio::test]
async fn ui_5_every_address_of_a_page_gives_the_one_document_under_a_strict_policy() {
    let engine = Installation::only("ui_5_served", &[Role::Intake], &[]).await;
    for path in ["/", "/orders", "/orders/A-1?tab=log", "/workbench/some-thing", "/no/such/page"] {
        let page = get(&engine, path, BROWSER).await;
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        assert_eq!(page.header("content-security-policy"), POLICY, "{path}");
        assert_eq!(
            (page.header("cache-control"), page.header("x-content-type-options")),
            ("no-cache", "nosniff")
        );
        assert!(!page.text.contains("style=") && !page.text.contains("<style"), "{}", page.text);
        // A session of ours is no part of the document: it is the same for everybody.
        assert!(page.headers.get("set-cookie").is_none());
    }
    // Programs are answered as before, and what the API knows is no page.
    for (path, accept) in [("/orders", "application/json"), ("/orders", "*/*"), ("/v1/nothing", BROWSER)] {
        let problem = get(&engine, path, accept).await;
        assert_eq!(
            (problem.status, problem.header("content-type")),
            (404, "application/problem+json"),
            "{path}"
        );
    }
    assert!(get(&engine, "/docs", BROWSER).await.text.contains("openapi.json"));
}

#[tokio::test]
async fn ui_5_files_have_names_for_ever_and_lead_nowhere_else() {
    let engine = Installation::only("ui_5_files", &[Role::Intake], &[]).await;
    let shell = get(&engine, "/", BROWSER).await.text;
    let files: Vec<&str> = shell.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert!(files.len() >= 2, "{shell}");
    for path in files {
        let file = get(&engine, path, "*/*").await;
        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable", "{path}");
        let request =
            engine.env().http().get(format!("{}{path}", engine.base())).header(ACCEPT_ENCODING, "gzip");
        let packed = request.send().await.unwrap();
        assert_eq!(packed.headers()["content-encoding"], "gzip", "{path}");
        assert!(packed.bytes().await.unwrap().len() < file.text.len(), "{path}");
    }
    for path in
        ["/assets/index.html", "/assets/..%2fpackage.json", "/assets/%2e%2e%2fbuild.mjs", "/assets/none.js"]
    {
        assert_eq!(get(&engine, path, BROWSER).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn ui_5_the_documentation_is_served_under_the_same_policy_and_leads_nowhere_else() {
    let engine = Installation::only("ui_5_guide", &[Role::Intake], &[]).await;
    let home = get(&engine, "/docs/guide/", BROWSER).await;
    let page = get(&engine, "/docs/guide/guides-receivers.html", "*/*").await;
    for page in [&home, &page] {
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
        assert_eq!(
            (page.header("content-security-policy"), page.header("cache-control")),
            (POLICY, "no-cache")
        );
        assert!(!page.text.contains("<style") && !page.text.contains(" style="));
    }
    // A reader who has a page gets it again only when it has changed.
    let address = format!("{}/docs/guide/", engine.base());
    let known = engine.env().http().get(&address).header(ACCEPT_ENCODING, "identity");
    let known = known.header("if-none-match", home.header("etag")).send().await.unwrap();
    assert_eq!((known.status().as_u16(), known.bytes().await.unwrap().len()), (304, 0));
    let packed = engine.env().http().get(&address).header(ACCEPT_ENCODING, "gzip").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert_ne!(packed.headers()["etag"], home.header("etag"), "other bytes, another tag");

    let index = home.text.split('"').find(|part| part.starts_with("index-")).unwrap();
    let files = home.text.split('"').filter(|part| part.ends_with(".js") || part.ends_with(".css"));
    for name in files.chain([index]) {
        let file = get(&engine, &format!("/docs/guide/{name}"), "*/*").await;
        assert_eq!(file.status, 200, "{name}");
        assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable", "{name}");
    }
    let slip = get(&engine, "/docs/guide", BROWSER).await;
    assert_eq!((slip.status, slip.header("location")), (308, "/docs/guide/"), "the last slash is no trap");
    let api = get(&engine, "/docs", BROWSER).await;
    assert_eq!(api.status, 200);
    assert!(api.text.contains("href=\"/docs/guide/\"") && api.text.contains("/v1/orders"), "{}", api.text);

    for name in [
        "no-such-page.html",
        "..%2fbuild.mjs",
        "%2e%2e%2f%2e%2e%2fpackage.json",
        "index.html.gz",
        "..%5cx.html",
    ] {
        let path = format!("/docs/guide/{name}");
        let (for_people, for_programs) =
            (get(&engine, &path, BROWSER).await, get(&engine, &path, "*/*").await);
        assert_eq!(
            (for_people.status, for_people.header("content-security-policy")),
            (404, POLICY),
            "{name}"
        );
        assert!(for_people.text.contains("There is no such page"), "{name}");
        assert_eq!(
            (for_programs.status, for_programs.header("content-type")),
            (404, "application/problem+json")
        );
    }
}

#[tokio::test]
async fn ui_1_addresses_for_senders_and_systems_have_no_pages() {
    let port =
        pagurus_harness::ports::Ports::reserve(1, &pagurus_harness::ports::Owner::this_process().unwrap())
            .unwrap();
    let address = format!("127.0.0.1:{}", port.first());
    let settings = [("PAGURUS__INTAKE__LISTEN_SYSTEMS", address.as_str())];
    let engine = Installation::only("ui_1_no_pages", &[Role::Intake], &settings).await;
    for path in
        ["/", "/orders", "/assets/main.js", "/docs", "/docs/guide", "/docs/guide/", "/docs/guide/index.html"]
    {
        let request = engine.env().http().get(format!("http://{address}{path}")).header(ACCEPT, BROWSER);
        assert_eq!(request.send().await.unwrap().status().as_u16(), 404, "{path}");
    }
}
