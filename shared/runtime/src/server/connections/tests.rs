//! Clients that are slow, silent or many, and probes beside them.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::time::Instant;

use axum::Extension;
use axum::http::StatusCode;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

use super::super::bodies::MakesRoom;
use super::*;

const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 4,
    share: 4,
    reserve: 2,
    header: Duration::from_secs(60),
    idle: Duration::from_secs(60),
    reserve_header: Duration::from_secs(60),
    answer: Duration::from_secs(60),
    answer_bytes: 1,
    reserve_life: Duration::from_secs(60),
};
const LONG: usize = 32 * 1024 * 1024;
/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server whose path `/hold` answers when it is notified, and `/long` at great length.
async fn server(limits: ConnectionLimits) -> (SocketAddr, Arc<Notify>) {
    let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let release = Arc::new(Notify::new());
    let held = release.clone();
    let all = Router::new()
        .route("/healthz", get(async || "all"))
        .route("/nothing", get(async || axum::http::StatusCode::NO_CONTENT))
        .route("/long", get(async || "x".repeat(LONG)))
        .route("/hold", get(async move || held.notified().await));
    let only_probes = Router::new().route("/healthz", get(async || "reserve"));
    let all = all.route("/read", post(read)).route("/leave", post(async || "left")).route(
        "/poll",
        get(async |Extension(connection): Extension<Connection>| {
            connection.wait(std::future::pending::<()>()).await.map_or("known", |()| "happened")
        }),
    );
    let only_probes =
        only_probes.route("/why", get(async |Extension(full): Extension<PlaceShortage>| format!("{full:?}")));
    tokio::spawn(serve(listener, limits, None, all, only_probes));
    (address, release)
}

/// Reads all of a body.
async fn read(body: Body) -> (StatusCode, &'static str) {
    match axum::body::to_bytes(body, 1024).await {
        Ok(_) => (StatusCode::OK, "all"),
        Err(error) if MakesRoom::causes(&error) => (StatusCode::SERVICE_UNAVAILABLE, "room"),
        Err(_) => (StatusCode::BAD_REQUEST, "broken"),
    }
}

/// A request whose body is being read and does not come whole.
async fn half(address: SocketAddr) -> TcpStream {
    let head = "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\nexpect: 100-continue\r\n\r\n";
    let mut stream = send(address, head).await;
    assert!(first(&mut stream).await.starts_with("HTTP/1.1 100"));
    stream.write_all(b"half").await.unwrap();
    stream
}

/// The same from another address of this host.
async fn ask_from(host: u8, address: SocketAddr, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, host], 0).into()).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn qlt_8_a_client_that_sends_half_a_body_makes_room_and_is_reported() {
    let (address, _) = server(LIMITS).await;
    let mut halves = Vec::new();
    for _ in 0..4 {
        halves.push(half(address).await);
    }
    assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
    let refused = first(&mut halves[0]).await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.ends_with("room"), "{refused}");
    assert!(refused.contains("connection: close"), "{refused}");
    let mut last = halves.pop().unwrap();
    last.write_all(b"-more").await.unwrap();
    assert!(first(&mut last).await.ends_with("all"), "one that was not asked to goes on");
}

#[tokio::test]
async fn qlt_8_a_long_poll_makes_room_and_answers_with_what_is_known() {
    let (address, _) = server(LIMITS).await;
    let mut polls = Vec::new();
    for _ in 0..4 {
        let mut poll = half(address).await;
        poll.write_all(b"-moreGET /poll HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(first(&mut poll).await.ends_with("all"));
        polls.push(poll);
    }
    assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
    let answer = first(&mut polls[0]).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close"), "{answer}");
    assert!(answer.ends_with("known"), "{answer}");
}

#[tokio::test]
async fn qlt_8_a_client_that_has_its_share_takes_no_place_from_others() {
    let (address, release) = server(ConnectionLimits { share: 2, ..LIMITS }).await;
    let mut held = vec![ask(address, "/hold").await, ask(address, "/hold").await];
    let begun = Instant::now();
    while !first(&mut ask(address, "/why").await).await.ends_with("Client") {
        assert!(begun.elapsed() < PATIENCE, "it gets more than its share");
    }
    assert!(first(&mut ask(address, "/healthz").await).await.ends_with("reserve"), "it is answered probes");
    let mut others = Vec::new();
    for _ in 0..2 {
        let mut other = ask_from(2, address, "/healthz").await;
        assert!(first(&mut other).await.ends_with("all"));
        others.push(other);
    }
    release.notify_waiters();
    for stream in &mut held {
        assert!(first(stream).await.starts_with("HTTP/1.1 200"));
    }
    assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"), "its own make room for it");
    assert_eq!(first(&mut held[0]).await, "", "the one that has rested for the longest time");
    others[0].write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(first(&mut others[0]).await.ends_with("all"), "and no other does");
}

#[tokio::test]
async fn qlt_8_an_answer_before_the_whole_body_was_read_says_that_it_is_the_last() {
    let (address, _) = server(LIMITS).await;
    let chunked = "transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n";
    for body in ["content-length: 9\r\n\r\nhalf", chunked, "content-length: 4\r\n\r\nhalf"] {
        for path in ["leave", "nothing", "unknown"] {
            let mut stream = send(address, &format!("POST /{path} HTTP/1.1\r\nhost: a\r\n{body}")).await;
            let answer = first(&mut stream).await;
            assert!(answer.contains("connection: close"), "{path} {body}: {answer}");
        }
    }
    for strange in
        ["GET / HTTP/1.1\r\nno field\r\n\r\n", &format!("GET /{} HTTP/1.1\r\n", "x".repeat(70_000))]
    {
        let answer = first(&mut send(address, strange).await).await;
        assert!(answer.starts_with("HTTP/1.1 4") && answer.contains("connection: close"), "{answer}");
    }
    for whole in
        ["content-length: 4\r\n\r\nhalf", &format!("{chunked}0\r\n\r\n"), "content-length: 0\r\n\r\n"]
    {
        let mut stream = send(address, &format!("POST /read HTTP/1.1\r\nhost: a\r\n{whole}")).await;
        let answer = first(&mut stream).await;
        assert!(answer.ends_with("all") && !answer.contains("connection: close"), "{whole}: {answer}");
    }
}

async fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

async fn ask(address: SocketAddr, path: &str) -> TcpStream {
    send(address, &format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await
}

/// Bytes that come until there is something, or until the other side has closed.
async fn first(stream: &mut TcpStream) -> String {
    let mut buffer = [0; 4096];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap();
    String::from_utf8_lossy(&buffer[..read.unwrap_or(0)]).into_owned()
}

#[tokio::test]
async fn qlt_8_a_client_that_sends_nothing_or_half_of_its_headers_is_closed_in_time() {
    let (address, _) = server(ConnectionLimits { header: Duration::from_millis(100), ..LIMITS }).await;
    for text in ["", "GE", "GET /healthz HTTP/1.1\r\nhost: a\r\n"] {
        assert_eq!(first(&mut send(address, text).await).await, "", "{text:?}");
    }
    assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
}

#[tokio::test]
async fn qlt_8_a_connection_that_was_used_once_is_kept_for_longer_than_a_new_one_may_be_silent() {
    let (header, idle) = (Duration::from_millis(100), Duration::from_secs(1));
    let (address, _) = server(ConnectionLimits { header, idle, ..LIMITS }).await;
    let mut stream = ask(address, "/healthz").await;
    assert!(first(&mut stream).await.ends_with("all"));
    tokio::time::sleep(4 * header).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(first(&mut stream).await.ends_with("all"), "it was closed");
    assert_eq!(first(&mut stream).await, "", "and in the end it is");
}

#[tokio::test]
async fn qlt_8_a_client_that_does_not_read_its_answer_is_closed_in_time() {
    let (address, _) = server(ConnectionLimits { answer: Duration::from_millis(200), ..LIMITS }).await;
    let mut stream = ask(address, "/long").await;
    // What the kernels keep is less than the answer: its end never comes.
    let begun = Instant::now();
    loop {
        let peeked = stream.peek(&mut [0; 1]).await;
        let closed = stream.write_all(b"\r\n").await.is_err();
        if peeked.is_err() || closed {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it is still open");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(rest.len() < LONG, "all of it came");
}

/// Takes a piece of what comes and pauses, until all has come or the other side has closed.
async fn take_slowly(mut stream: TcpStream, pause: Duration) -> usize {
    let mut piece = vec![0; LONG / 128];
    let mut taken = 0;
    while taken < LONG {
        match tokio::time::timeout(PATIENCE, stream.read(&mut piece)).await.unwrap() {
            Ok(bytes) if bytes > 0 => taken += bytes,
            _ => break,
        }
        tokio::time::sleep(pause).await;
    }
    taken
}

#[tokio::test]
async fn qlt_8_a_slow_reader_is_closed_if_it_does_not_keep_the_pace() {
    let answer = Duration::from_millis(200);
    let (address, _) = server(ConnectionLimits { answer, answer_bytes: 1024, ..LIMITS }).await;
    let (begun, pause) = (Instant::now(), Duration::from_millis(5));
    assert!(take_slowly(ask(address, "/long").await, pause).await >= LONG, "a steady reader gets all of it");
    assert!(begun.elapsed() > answer * 2, "it was no slow one: {:?}", begun.elapsed());
    let (address, _) = server(ConnectionLimits { answer, answer_bytes: LONG, ..LIMITS }).await;
    assert!(take_slowly(ask(address, "/long").await, pause).await < LONG, "it is below the pace");
}

#[tokio::test]
async fn qlt_8_an_answer_on_its_way_is_not_cut_off_for_who_comes_later() {
    let (address, _) = server(LIMITS).await;
    let mut reader = ask(address, "/long").await;
    assert!(first(&mut reader).await.starts_with("HTTP/1.1 200"));
    let mut silent = Vec::new();
    for _ in 0..12 {
        silent.push(send(address, "").await);
        assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
    }
    let mut rest = Vec::new();
    let read = tokio::time::timeout(PATIENCE, async {
        while rest.len() < LONG - 4096 {
            if reader.read_buf(&mut rest).await.unwrap_or(0) == 0 {
                break;
            }
        }
    });
    read.await.unwrap();
    assert!(rest.len() >= LONG - 4096, "{} bytes came", rest.len());
}

#[tokio::test]
async fn qlt_8_slow_readers_do_not_block_the_server() {
    let (address, _) = server(ConnectionLimits { answer: Duration::from_secs(1), ..LIMITS }).await;
    let mut readers = Vec::new();
    for _ in 0..4 {
        let mut reader = ask(address, "/long").await;
        assert!(first(&mut reader).await.starts_with("HTTP/1.1 200"));
        readers.push(reader);
    }
    let answer = first(&mut ask(address, "/healthz").await).await;
    assert!(answer.ends_with("reserve"), "no answer is cut off before its time: {answer}");
    let begun = Instant::now();
    // They would read on for longer than this test waits.
    let pause = PATIENCE / 100;
    let _readers: tokio::task::JoinSet<usize> =
        readers.into_iter().map(|reader| take_slowly(reader, pause)).collect();
    while !first(&mut ask(address, "/healthz").await).await.ends_with("all") {
        assert!(begun.elapsed() < PATIENCE / 2, "the server is blocked");
    }
}

#[tokio::test]
async fn qlt_8_a_client_that_has_its_answer_rests_and_makes_room() {
    let (address, _) = server(LIMITS).await;
    let mut resting = Vec::new();
    for request in ["GET /healthz", "HEAD /healthz", "GET /nothing", "GET /unknown"] {
        let mut stream = send(address, &format!("{request} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        assert!(first(&mut stream).await.starts_with("HTTP/1.1 "), "{request}");
        resting.push(stream);
    }
    let mut later = Vec::new();
    for mut stream in resting {
        later.push(ask(address, "/healthz").await);
        assert!(first(later.last_mut().unwrap()).await.ends_with("all"));
        assert_eq!(first(&mut stream).await, "", "it made room");
    }
}

#[tokio::test]
async fn qlt_8_silent_connections_make_room_the_longest_silent_first() {
    let (address, _) = server(LIMITS).await;
    let mut silent = Vec::new();
    for text in ["", "", "GET", "", "", "", "", ""] {
        silent.push(send(address, text).await);
    }
    for _ in 0..3 {
        assert!(first(&mut ask(address, "/healthz").await).await.ends_with("all"));
    }
    assert_eq!(first(&mut silent[0]).await, "");
}

#[tokio::test]
async fn qlt_8_where_every_place_is_at_work_probes_are_answered_all_the_same() {
    let (address, release) = server(LIMITS).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(ask(address, "/hold").await);
    }
    // Each has been taken when the reserve answers.
    loop {
        if first(&mut ask(address, "/healthz").await).await.ends_with("reserve") {
            break;
        }
    }
    // Silent ones cannot shut the reserve either.
    let _silent = [send(address, "").await, send(address, "").await, send(address, "").await];
    let answer = first(&mut ask(address, "/healthz").await).await;
    assert!(answer.ends_with("reserve") && answer.contains("connection: close"), "{answer}");
    assert!(first(&mut ask(address, "/hold").await).await.starts_with("HTTP/1.1 404"));
    release.notify_waiters();
    for stream in &mut held {
        assert!(first(stream).await.starts_with("HTTP/1.1 200"), "what was at work was answered");
    }
    loop {
        if first(&mut ask(address, "/healthz").await).await.ends_with("all") {
            break;
        }
    }
}
