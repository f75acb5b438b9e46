//! Every way in which a request can break, by real sockets of this machine, and the names that the rules of
//! operators see of it (ERR-3); and how connections are used again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use pagurus_runtime::config::{AllowedDestination, SecretTarget, SecretTargets};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::names::NameResolver;
use super::*;

mod egress;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// For what must run out.
const SOON: Duration = Duration::from_millis(300);

/// A client that may call this machine.
fn client(connecting: Duration) -> HttpClient {
    HttpClient::new(
        CallRules {
            allow: vec![AllowedDestination::parse("*").unwrap()],
            deny: vec![],
            ..CallRules::default()
        },
        connecting,
    )
}

/// Asks, and reads the answer to its end.
async fn asked(client: &HttpClient, url: &str) -> Result<Vec<u8>, Broken> {
    let mut reply = client.send(client.address(url)?, Method::POST, HeaderMap::new(), "{}".into()).await?;
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await? {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The names under which a request to this URL fails, its body read to the end; none where it does not.
async fn chain(client: &HttpClient, url: &str) -> Vec<&'static str> {
    let Err(broken) = asked(client, url).await else { return Vec::new() };
    let failure = broken.named();
    // The URL is left out, it may hold a secret.
    assert!(!failure.message.is_empty() && !failure.message.contains("/secret"), "{}", failure.message);
    failure.chain
}

/// A system that does this with each connection, after it has read the head of the request or what comes instead.
async fn system<F>(answer: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let read = stream.read(&mut [0; 4096]).await.unwrap();
            assert!(read > 0, "the caller asks first");
            answer(stream).await;
        }
    });
    format!("{address}/secret")
}

/// A system that says this and closes.
async fn says(text: &'static str) -> String {
    system(move |mut stream| async move {
        stream.write_all(text.as_bytes()).await.unwrap();
        // All of it was read before: this is a polite end, and no reset.
        stream.shutdown().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
    })
    .await
}

/// A system that says this and then breaks the connection off.
async fn resets(text: &'static str) -> String {
    system(move |mut stream| async move {
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.set_zero_linger().unwrap();
    })
    .await
}

#[tokio::test]
async fn err_3_what_breaks_before_there_is_a_connection() {
    let client = client(PATIENCE);
    // Bound and not listening: nobody else can get the port meanwhile.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let refused = format!("http://{}/secret", closed.local_addr().unwrap());
    let expected = ["HttpError", "ConnectError", "ConnectionRefused"];
    assert_eq!(chain(&client, &refused).await, expected);
    assert_eq!(chain(&client, &refused.replace("http", "https")).await, expected);
    let unknown = chain(&client, "http://name.invalid/secret").await;
    assert_eq!(unknown, ["HttpError", "ConnectError", "DnsError"]);
}

#[tokio::test]
async fn err_3_a_connection_that_nobody_accepts_runs_into_the_time_of_connecting() {
    // A queue of one, and full: the kernel answers nobody else.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(connected) = tokio::time::timeout(SOON, TcpStream::connect(address)).await {
        waiting.push(connected.unwrap());
    }
    let found = chain(&client(SOON), &format!("http://{address}/secret")).await;
    assert_eq!(found, ["HttpError", "ConnectError", "ConnectTimeout"]);
}

#[tokio::test]
async fn err_3_what_breaks_before_the_answer_or_inside_it() {
    let client = client(PATIENCE);
    for (what, address, expected) in [
        ("reset", resets("").await, "ConnectionReset"),
        ("closed", says("").await, "ConnectionClosed"),
        ("closed in the head", says("HTTP/1.1 200 OK\r\nContent-").await, "ConnectionClosed"),
        ("reset in the head", resets("HTTP/1.1 200 OK\r\nContent-").await, "ConnectionReset"),
        (
            "reset in the body",
            resets("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort").await,
            "ConnectionReset",
        ),
        ("no HTTP", says("SSH-2.0-OpenSSH_9.9\r\n").await, "ProtocolError"),
        ("half a word of HTTP", says("HTTP/1").await, "ConnectionClosed"),
        ("a status that is none", says("HTTP/1.1 fine\r\n\r\n").await, "ProtocolError"),
        ("an older HTTP", says("HTTP/0.9 200 OK\r\n\r\n").await, "ProtocolError"),
    ] {
        let found = chain(&client, &format!("http://{address}")).await;
        assert_eq!(found, ["HttpError", expected], "{what}");
    }
}

#[tokio::test]
async fn err_3_what_is_no_tls_is_a_failure_to_connect() {
    let client = client(PATIENCE);
    // A TLS record with the alert `handshake failure`.
    for answer in
        ["HTTP/1.1 400 Bad Request\r\n\r\n", "garbage, and more of it", "\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{28}"]
    {
        let address = says(answer).await;
        let found = chain(&client, &format!("https://{address}")).await;
        assert_eq!(found, ["HttpError", "ConnectError", "TlsError"], "{answer:?}");
    }
}

#[tokio::test]
async fn err_3_what_breaks_in_the_body() {
    let client = client(PATIENCE);
    for (what, address) in [
        ("short", says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort").await),
        ("short chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nshort").await),
        ("no chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsize\r\n").await),
    ] {
        let found = chain(&client, &format!("http://{address}")).await;
        assert_eq!(found, ["HttpError", "BodyError"], "{what}");
    }
    let whole = says("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole").await;
    assert!(chain(&client, &format!("http://{whole}")).await.is_empty());
}

/// Reads one request with a body of two bytes; false at the end of the connection.
async fn read_request(stream: &mut TcpStream) -> bool {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n{}") {
        match stream.read_buf(&mut read).await {
            Ok(1..) => {}
            _ => return false,
        }
    }
    true
}

/// A system that answers each request after a while, and closes a connection after `answers`; with the number
/// of connections that were made to it.
async fn counted(pause: Duration, answers: usize) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/path", listener.local_addr().unwrap());
    let made = Arc::new(AtomicUsize::new(0));
    let counter = made.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                for _ in 0..answers {
                    if !read_request(&mut stream).await {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                    let answer =
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n";
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (url, made)
}

#[tokio::test]
async fn one_request_after_the_other_takes_one_connection() {
    let client = client(PATIENCE);
    let (url, made) = counted(Duration::ZERO, usize::MAX).await;
    for _ in 0..100 {
        assert_eq!(asked(&client, &url).await.unwrap(), b"whole");
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_was_idle_harms_no_request() {
    let client = client(PATIENCE);
    let (url, made) = counted(Duration::ZERO, 1).await;
    for _ in 0..20 {
        assert_eq!(asked(&client, &url).await.unwrap(), b"whole");
        // The end of the connection has arrived by now.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(made.load(Ordering::Relaxed), 20);
}

#[tokio::test]
async fn err_3_a_system_that_closes_each_connection_at_once_is_dialled_once() {
    let client = client(PATIENCE);
    let (url, made) = counted(Duration::ZERO, 0).await;
    let found = chain(&client, &url).await;
    assert!(
        found == ["HttpError", "ConnectionClosed"] || found == ["HttpError", "ConnectionReset"],
        "{found:?}"
    );
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn requests_at_the_same_time_have_connections_of_their_own() {
    let client = client(PATIENCE);
    let pause = Duration::from_millis(200);
    let (url, made) = counted(pause, usize::MAX).await;
    let begun = Instant::now();
    let answers = futures_util::future::join_all((0..200).map(|_| asked(&client, &url))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap() == b"whole"));
    assert!(begun.elapsed() < 10 * pause, "a slow system keeps nobody waiting for a connection");
    assert!(made.load(Ordering::Relaxed) <= 200);
}

#[tokio::test]
async fn a_request_that_is_given_up_takes_its_connection_along() {
    let client = client(PATIENCE);
    let (url, made) = counted(SOON, usize::MAX).await;
    let given_up = tokio::time::timeout(SOON / 10, asked(&client, &url)).await;
    assert!(given_up.is_err());
    // Its answer must not be read as that of the next.
    assert_eq!(asked(&client, &url).await.unwrap(), b"whole");
    assert_eq!(made.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn idle_connections_are_closed_after_a_while() {
    let client = client(PATIENCE);
    let (url, made) = counted(Duration::ZERO, usize::MAX).await;
    asked(&client, &url).await.unwrap();
    let pool = client.known(url.trim_end_matches("/path")).unwrap();
    assert!(pool.close_idle(Instant::now()), "used a moment ago");
    assert!(!pool.close_idle(Instant::now() + 2 * IDLE));
    asked(&client, &url).await.unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn an_address_that_may_not_be_called_is_not_dialled_by_its_name() {
    let deny = CallRules {
        allow: vec![AllowedDestination::parse("*").unwrap()],
        deny: vec![
            AllowedDestination::parse("127.0.0.0/8").unwrap(),
            AllowedDestination::parse("::1/128").unwrap(),
        ],
        ..CallRules::default()
    };
    let (url, made) = counted(Duration::ZERO, 1).await;
    let named = url.replace("127.0.0.1", "localhost");
    let found = chain(&HttpClient::new(deny, PATIENCE), &named).await;
    assert_eq!(found, ["HttpError", "ConnectError", "DnsError"]);
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn qlt_8_a_name_that_means_another_address_at_each_look_up_leads_to_none_that_may_not_be_called() {
    let rules = CallRules {
        allow: vec![AllowedDestination::parse("*").unwrap()],
        deny: vec![AllowedDestination::parse("127.0.0.2/32").unwrap()],
        ..CallRules::default()
    };
    // Each answer ends its connection, so that each call looks the name up.
    let (url, made) = counted(Duration::ZERO, 1).await;
    let port = HttpClient::new(CallRules::default(), PATIENCE).address(&url).unwrap().authority.port;
    let inside = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let look_ups = Arc::new(AtomicUsize::new(0));
    let counter = look_ups.clone();
    let names = NameResolver::looked_up_by(move |_, port| {
        let last = [1, 2][counter.fetch_add(1, Ordering::Relaxed) % 2];
        Ok(vec![SocketAddr::from(([127, 0, 0, last], port))])
    });
    let connector = Connector::new(rules, PATIENCE).with_names(names);
    let client = HttpClient { connector, pools: Mutex::default() };
    let named = url.replace("127.0.0.1", "partner.example");
    asked(&client, &named).await.unwrap();
    assert_eq!(chain(&client, &named).await, ["HttpError", "ConnectError", "DnsError"]);
    asked(&client, &named).await.unwrap();
    assert_eq!((made.load(Ordering::Relaxed), look_ups.load(Ordering::Relaxed)), (2, 3));
    let knocked = tokio::time::timeout(Duration::from_millis(50), inside.accept()).await;
    assert!(knocked.is_err(), "the address behind the wall was dialled");
}
