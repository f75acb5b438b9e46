//! Every way in which a call can break, by real sockets of this machine, and the names that the rules of
//! operators see of it (ERR-3). They are read off the errors of `reqwest`: an update of it must not move them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// For what must run out.
const SOON: Duration = Duration::from_millis(300);

/// A client like that of the worker, which may call this machine.
fn client(connecting: Duration, timeout: Duration) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .retry(reqwest::retry::never())
        .connect_timeout(connecting)
        .timeout(timeout)
        .dns_resolver(Arc::new(GuardedResolver { rules: CallRules::default() }))
        .build()
        .unwrap()
}

/// The names under which a call of this URL fails, its body read to the end; none where it does not.
async fn chain(client: &Client, url: &str) -> Vec<&'static str> {
    let answered = async {
        let mut response = client.post(url).body("{}").send().await?;
        while response.chunk().await?.is_some() {}
        Ok::<_, reqwest::Error>(())
    };
    let Err(error) = answered.await else { return Vec::new() };
    let failure = named_failure(&error);
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
    let client = client(PATIENCE, PATIENCE);
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
    let found = chain(&client(SOON, PATIENCE), &format!("http://{address}/secret")).await;
    assert_eq!(found, ["HttpError", "ConnectError", "ConnectTimeout"]);
}

#[tokio::test]
async fn err_3_what_breaks_before_the_answer_or_inside_it() {
    let client = client(PATIENCE, PATIENCE);
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
    let client = client(PATIENCE, PATIENCE);
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
    let client = client(PATIENCE, PATIENCE);
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

#[tokio::test]
async fn err_3_an_answer_that_takes_too_long_is_a_time_out_of_reading() {
    let client = client(PATIENCE, SOON);
    for said in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"] {
        let address = system(move |mut stream| async move {
            stream.write_all(said.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        })
        .await;
        let found = chain(&client, &format!("http://{address}")).await;
        assert_eq!(found, ["HttpError", "ReadTimeout"], "after {said:?}");
    }
}
