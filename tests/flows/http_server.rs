//! One client takes no place, and no connection, from others (QLT-8): asked over sockets of our own, because
//! libraries send no such requests.

use std::net::SocketAddr;

use pagurus_harness::nodes::Role;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::installation::{Installation, LOG, PATIENCE, asking, until};

/// Connections of the node in these tests.
const CONNECTIONS: &str = "32";

async fn send(engine: &Installation, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(engine.node(Role::Intake).address()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Bytes that come until there is something, or until the other side has closed.
async fn first(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 8192];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.expect("an answer in time");
    String::from_utf8_lossy(&buffer[..read.unwrap_or(0)]).into_owned()
}

async fn asked(engine: &Installation, text: &str) -> String {
    first(&mut send(engine, text).await).await
}

/// Sends an order from another address of this host; returns the answer.
async fn order_of_a_neighbour(engine: &Installation, id: &str) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
    let address: SocketAddr = engine.node(Role::Intake).address().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let body = json!({"id": id, "scenario": "one"}).to_string();
    let head =
        format!("POST /v1/orders HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    first(&mut stream).await
}

#[tokio::test]
async fn qlt_8_the_api_answers_to_its_own_hosts_only_and_probes_to_every_one() {
    let engine = Installation::with("http_hosts", &[("PAGURUS__INTAKE__HOSTS", "['*.shop.example']")]).await;
    engine.actions("one", LOG).await;
    let body = json!({"id": "a", "scenario": "one"}).to_string();
    let create = |host: &str, more: &str| {
        let length = body.len();
        format!("POST /v1/orders HTTP/1.1\r\n{host}{more}content-length: {length}\r\n\r\n{body}")
    };
    let page = "origin: http://evil.example:80\r\nsec-fetch-site: same-origin\r\n";
    let refused = asked(&engine, &create("host: evil.example\r\n", page)).await;
    assert!(refused.starts_with("HTTP/1.1 421") && refused.contains("intake.hosts"), "{refused}");
    for hosts in ["", "host: localhost\r\nhost: localhost\r\n"] {
        let refused = asked(&engine, &create(hosts, "")).await;
        assert!(refused.starts_with("HTTP/1.1 400") && refused.contains("`Host`"), "{refused}");
    }
    assert_eq!(engine.get("/v1/orders/a").await.unwrap().status, 404, "it was registered all the same");
    for path in ["/v1/stream?timeout=0", "/v1/orders", "/nothing"] {
        let read = asked(&engine, &format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n\r\n")).await;
        assert!(read.starts_with("HTTP/1.1 421"), "{path}: {read}");
        let page = asked(
            &engine,
            &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site\r\n\r\n"),
        )
        .await;
        assert!(page.starts_with("HTTP/1.1 403"), "{path}: {page}");
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        let probe = asked(&engine, &format!("GET {path} HTTP/1.1\r\nhost: pod-7.cluster\r\n\r\n")).await;
        assert!(probe.starts_with("HTTP/1.1 200"), "{path}: {probe}");
    }
    let host = "host: api.shop.example\r\n";
    assert!(asked(&engine, &create(host, "")).await.starts_with("HTTP/1.1 201"));
    assert!(
        asked(&engine, "GET /v1/orders/a HTTP/1.0\r\n\r\n").await.contains(" 200 "),
        "no browser asks so"
    );
}

#[tokio::test]
async fn qlt_8_a_refusal_before_the_body_was_read_ends_the_connection_and_says_so() {
    let engine = Installation::with("http_unread", &[("PAGURUS__INTAKE__MAX_BODY_BYTES", "1KiB")]).await;
    engine.actions("one", LOG).await;
    let (half, whole) = ("content-length: 99\r\n\r\n{\"id\"", "content-length: 2\r\n\r\n{}");
    let chunked = "transfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n";
    let long = "content-length: 100000\r\n\r\n{";
    for (head, bodies, status) in [
        ("POST /nothing HTTP/1.1\r\nhost: localhost\r\n", &[half, whole, chunked][..], 404),
        ("POST /v1/nodes HTTP/1.1\r\nhost: localhost\r\n", &[half, chunked], 405),
        ("POST /v1/orders HTTP/1.1\r\nhost: evil.example\r\n", &[half, chunked], 421),
        ("POST /v1/orders HTTP/1.1\r\n", &[half, chunked], 400),
        ("POST /v1/orders HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/xml\r\n", &[half, chunked], 415),
        (
            "POST /v1/orders HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: cross-site\r\n",
            &[half, chunked],
            403,
        ),
        ("POST /v1/orders HTTP/1.1\r\nhost: localhost\r\n", &[long], 413),
        ("GET /v1/nodes HTTP/1.1\r\nhost: localhost\r\n", &[half, chunked], 200),
        ("POST /healthz HTTP/1.1\r\nhost: localhost\r\n", &[half, chunked], 405),
    ] {
        for body in bodies {
            let answer = asked(&engine, &format!("{head}{body}")).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{head}{body}: {answer}");
            assert!(answer.contains("connection: close"), "{head}{body}: {answer}");
        }
    }
    // What was read whole leaves the connection to the next request.
    let refused = "POST /v1/orders HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    let mut kept = send(&engine, refused).await;
    let answer = first(&mut kept).await;
    assert!(answer.starts_with("HTTP/1.1 422") && !answer.contains("connection: close"), "{answer}");
    kept.write_all(b"GET /v1/nodes HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(first(&mut kept).await.starts_with("HTTP/1.1 200"));

    // Each answer has the id of its request: the client's, if it can stand in a log, or a new one.
    let id_of = |answer: &str| {
        let line = answer.lines().find_map(|line| line.strip_prefix("x-request-id: "));
        line.unwrap_or_else(|| panic!("no id: {answer}")).trim().to_owned()
    };
    let ask = async |path: &str, given: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{given}connection: close\r\n\r\n");
        id_of(&asked(&engine, &head).await)
    };
    for path in ["/v1/nodes", "/v1/orders/nobody", "/nothing", "/readyz"] {
        assert_eq!(ask(path, "x-request-id: req_1/2:3\r\n").await, "req_1/2:3", "{path}");
        for strange in ["", "x-request-id: \r\n", "x-request-id: a b\r\n", "x-request-id: \"><x\r\n"] {
            let id = ask(path, strange).await;
            assert!(id.len() == 32 && id != ask(path, strange).await, "{path} {strange}: {id}");
        }
    }
    let long = "x".repeat(129);
    assert_eq!(ask("/v1/nodes", &format!("x-request-id: {long}\r\n")).await.len(), 32);
}

#[tokio::test]
async fn qlt_8_half_sent_bodies_and_long_polls_of_one_client_leave_room_for_the_orders_of_others() {
    let engine = Installation::with("http_places", &[("PAGURUS__NODE__MAX_CONNECTIONS", CONNECTIONS)]).await;
    engine.actions("one", LOG).await;
    engine.scenario("asks", &asking("/never", "1h")).await;
    engine.accepted(json!({"id": "waits", "scenario": "asks"})).await;
    let half = "POST /v1/orders HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{\"id\"";
    let poll = "GET /v1/orders/waits/wait?timeout=120 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for (kind, text) in [("half", half), ("poll", poll)] {
        let mut held = Vec::new();
        for n in 0..80 {
            held.push(send(&engine, text).await);
            if n % 10 == 9 {
                let id = format!("{kind}-{n}");
                let answer = order_of_a_neighbour(&engine, &id).await;
                assert!(answer.starts_with("HTTP/1.1 201"), "{id}: {answer}");
            }
        }
        // Its own requests are taken, too, and what makes room for them is answered.
        engine.accepted(json!({"id": format!("own-{kind}"), "scenario": "one"})).await;
        engine.reach(&format!("{kind}-79"), "success").await;
    }
}

#[tokio::test]
async fn qlt_8_silent_followers_of_one_client_leave_room_for_those_of_others() {
    let engine = Installation::with("http_streams", &[("PAGURUS__INTAKE__MAX_STREAMS", "8")]).await;
    engine.actions("one", LOG).await;
    let follow = "GET /v1/stream HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut held = Vec::new();
    for n in 0..8 {
        let mut stream = send(&engine, follow).await;
        let answer = first(&mut stream).await;
        let expected = if n < 4 { "HTTP/1.1 200" } else { "HTTP/1.1 429" };
        assert!(answer.starts_with(expected), "{n}: {answer}");
        assert!(n < 4 || answer.contains("client_share_percentage"), "{answer}");
        held.push(stream);
    }
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
    let mut other = socket.connect(engine.node(Role::Intake).address().parse().unwrap()).await.unwrap();
    other.write_all(follow.as_bytes()).await.unwrap();
    let mut heard = first(&mut other).await;
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    engine.run(json!({"id": "a", "scenario": "one"}), "success").await;
    while !heard.contains("event: order") {
        heard = first(&mut other).await;
        assert!(!heard.is_empty(), "its stream ended");
    }
}

#[tokio::test]
async fn qlt_8_many_exports_at_once_are_made_few_at_a_time_and_orders_go_through() {
    let engine = Installation::start("http_exports").await;
    engine.actions("one", LOG).await;
    let text = "x".repeat(900 * 1024);
    for n in 0..4 {
        let order = json!({"id": format!("long-{n}"), "scenario": "one", "params": {"text": text}});
        engine.run(order, "success").await;
    }
    let page = engine.get("/v1/export/orders").await.unwrap().success().unwrap();
    let items = page["items"].as_array().unwrap().len();
    assert!((1..4).contains(&items) && page["next"].is_string(), "{items} orders stand on a page");
    // Nobody reads: each turn lasts.
    let ask = "GET /v1/export/orders HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut held = Vec::new();
    for n in 0..6 {
        let mut stream = send(&engine, ask).await;
        let answer = first(&mut stream).await;
        let expected = if n < 2 { "HTTP/1.1 200" } else { "HTTP/1.1 429" };
        assert!(answer.starts_with(expected), "{n}: {}", &answer[..answer.len().min(300)]);
        assert!(n < 2 || answer.contains("retry-after"), "{answer}");
        held.push(stream);
    }
    engine.run(json!({"id": "other", "scenario": "one"}), "success").await;
    drop(held);
    until("there are turns again", PATIENCE, async || {
        engine.get("/v1/export/orders").await.unwrap().status == 200
    })
    .await;
}

#[tokio::test]
async fn qlt_9_a_page_of_another_site_learns_nothing_before_it_asks_and_no_field_changes_the_method() {
    let engine = Installation::start("http_preflight").await;
    engine.actions("one", LOG).await;
    engine.run(json!({"id": "a", "scenario": "one"}), "success").await;
    for (path, method) in
        [("/v1/orders", "POST"), ("/v1/orders/a/restart", "POST"), ("/v1/orders/a", "PATCH")]
    {
        let ask = format!(
            "OPTIONS {path} HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example\r\n\
             access-control-request-method: {method}\r\naccess-control-request-headers: content-type\r\n\r\n"
        );
        let answer = asked(&engine, &ask).await.to_ascii_lowercase();
        assert!(!answer.contains("access-control-allow"), "{path}: {answer}");
        assert!(answer.starts_with("http/1.1 4"), "{path}: {answer}");
    }
    for field in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let ask = format!(
            "GET /v1/orders/a/restart?_method=POST HTTP/1.1\r\nhost: localhost\r\n{field}: POST\r\n\r\n"
        );
        let answer = asked(&engine, &ask).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{field}: {answer}");
    }
    assert_eq!(engine.order("a").await.unwrap()["life"], 1, "it was restarted");
}
