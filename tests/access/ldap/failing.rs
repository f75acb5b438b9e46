//! Directories that are not what the settings say, say nothing, or are away.

use std::time::Duration;

use pagurus_harness::slapd::ROOT_PASSWORD;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;

const BY_NAME: (&str, &str) = ("bind_template", "uid={name},ou=people,dc=corp,dc=example");

/// The sentence about a directory that could not be asked.
async fn sentence(by: &LdapDirectory) -> String {
    let failure = by.login("anna", PASSWORD).await.unwrap_err();
    assert!(!failure.to_string().contains(PASSWORD), "{failure}");
    let LoginFailure::Unavailable(text) = failure else { panic!("{failure}") };
    text
}

#[tokio::test]
async fn qlt_9_passwords_go_to_the_right_directory_by_tls_only() {
    let directory = OpenLdap::start(false).await;
    let (ldap, ldaps) = (directory.ldap(), directory.ldaps());
    for url in [&ldap, &ldaps] {
        let by = directory.by(&[BY_NAME, ("url", url)]);
        assert!(by.login("anna", PASSWORD).await.is_ok(), "{url}");
        let other = TestIssuer::new("somebody's").unwrap();
        let strangers = directory.folder.write("strangers.pem", &other.pem);
        let text = sentence(&directory.by(&[BY_NAME, ("url", url), ("issuers", &strangers)])).await;
        assert!(text.ends_with("the issuer of the server's certificate is not trusted here"), "{text}");
        let by_address = url.replace("localhost", "127.0.0.1");
        let text = sentence(&directory.by(&[BY_NAME, ("url", &by_address)])).await;
        assert!(text.contains("the server's certificate is for another name: it is for localhost"), "{text}");
    }
    let plain = directory.by(&[BY_NAME, ("url", &ldap), ("start_tls", "false")]);
    assert!(plain.login("anna", PASSWORD).await.is_ok());
    let crossed = sentence(&directory.by(&[BY_NAME, ("url", &ldap.replace("ldap:", "ldaps:"))])).await;
    assert!(crossed.contains("TLS"), "{crossed}");
}

/// A directory that grants no TLS is sent the request for it, and nothing else.
#[tokio::test]
async fn qlt_9_nothing_is_sent_where_tls_is_refused() {
    for answer in [
        &b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x35\x04\x00\x04\x00"[..],
        b"\x30\x84\x40\0\0\0",
        b"HTTP/1.1 400 Bad Request\r\n",
    ] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("ldap://localhost:{}", listener.local_addr().unwrap().port());
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = vec![0; 31];
            stream.read_exact(&mut heard).await.unwrap();
            stream.write_all(answer).await.unwrap();
            // A reset says the same: nothing more comes.
            let _ = stream.read_to_end(&mut heard).await;
            heard
        });
        let by = LdapDirectory::new(&settings(&[
            BY_NAME,
            ("url", &url),
            ("timeout", "60s"),
            ("connect_timeout", "60s"),
        ]));
        assert!(sentence(&by).await.contains("StartTLS"));
        assert_eq!(heard.await.unwrap().len(), 31);
    }
}

/// Eight logins hang and others wait for their places; a directory that answers does so meanwhile.
#[tokio::test]
async fn qlt_15_a_directory_that_says_nothing_holds_nobody_else_up() {
    let directory = OpenLdap::start(false).await;
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("ldap://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let hanging = LdapDirectory::new(&settings(&[
        BY_NAME,
        ("url", &url),
        ("timeout", "1h"),
        ("connect_timeout", "1h"),
    ]));
    let mut logins = JoinSet::new();
    for _ in 0..20 {
        let hanging = hanging.clone();
        logins.spawn(async move { hanging.login("anna", PASSWORD).await });
    }
    let mut held = Vec::new();
    while held.len() < 8 {
        held.push(silent.accept().await.unwrap());
    }
    assert!(directory.by(&[BY_NAME]).login("anna", PASSWORD).await.is_ok());
    let ninth = tokio::time::timeout(Duration::ZERO, silent.accept()).await;
    assert!(ninth.is_err() && logins.try_join_next().is_none());
}

#[tokio::test]
async fn qlt_15_a_directory_that_says_nothing_is_unavailable_to_those_who_wait_too() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("ldap://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let hanging = LdapDirectory::new(&settings(&[
        BY_NAME,
        ("url", &url),
        ("timeout", "2s"),
        ("connect_timeout", "1h"),
    ]));
    let mut logins = JoinSet::new();
    for _ in 0..20 {
        let hanging = hanging.clone();
        logins.spawn(async move { hanging.login("anna", PASSWORD).await });
    }
    while let Some(outcome) = logins.join_next().await {
        assert!(is_unavailable(&outcome.unwrap()));
    }
}

/// Each limit alone ends a login: of the bind, of the search, and of the whole.
#[tokio::test]
async fn qlt_15_each_step_has_its_limit() {
    let limits =
        [("timeout", "1h"), ("connect_timeout", "1h"), ("bind_timeout", "1h"), ("search_timeout", "1h")];
    let agreed: &'static [u8] = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
    for (limit, answer, text) in [
        ("bind_timeout", &b""[..], "the bind had no answer within 300 ms"),
        ("search_timeout", agreed, "the search had no answer within 300 ms"),
        ("timeout", b"", "the directory did not answer within 300 ms"),
    ] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("ldap://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let own = [BY_NAME, ("url", url.as_str()), ("start_tls", "false"), (limit, "300ms")];
        let login = LdapDirectory::new(&settings(&[&limits[..], &own].concat()));
        let holding = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 1]).await.unwrap();
            stream.write_all(answer).await.unwrap();
            stream
        });
        assert_eq!(sentence(&login).await, text);
        drop(holding.await.unwrap());
    }
}

/// Logins that nobody waits for any more end their connections, and leave their places to others.
#[tokio::test]
async fn qlt_15_logins_that_are_given_up_leave_their_places() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("ldap://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let hanging = LdapDirectory::new(&settings(&[
        BY_NAME,
        ("url", &url),
        ("timeout", "1h"),
        ("connect_timeout", "1h"),
    ]));
    let mut logins = JoinSet::new();
    for _ in 0..2 {
        let mut held = Vec::new();
        while held.len() < 8 {
            let hanging = hanging.clone();
            logins.spawn(async move { hanging.login("anna", PASSWORD).await });
            let accepted = tokio::time::timeout(Duration::from_secs(60), silent.accept()).await;
            held.push(accepted.expect("a place is free").unwrap().0);
        }
        logins.shutdown().await;
        for mut connection in held {
            // An end or a reset; a connection that is held open fails the test.
            let mut heard = Vec::new();
            let end = tokio::time::timeout(Duration::from_secs(60), connection.read_to_end(&mut heard)).await;
            assert!(end.is_ok(), "a connection outlives its login");
        }
    }
}

#[tokio::test]
async fn qlt_9_a_directory_that_is_away_or_speaks_something_else_lets_nobody_in() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("ldap://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let by =
        LdapDirectory::new(&settings(&[BY_NAME, ("url", &url), ("start_tls", "false"), ("timeout", "60s")]));
    // A length, and no answer; a result without a code, at which the library panics; a code that is no number.
    let answers: [&'static [u8]; 4] = [
        b"\x30\x7f\x02\x01\x01",
        b"\x30\x05\x02\x01\x01\x61\x00",
        b"\x30\x0c\x02\x01\x01\x61\x07\x04\x01\x00\x04\x00\x04\x00",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ];
    for answer in answers {
        let answering = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut first = [0; 1];
            stream.read_exact(&mut first).await.unwrap();
            stream.write_all(answer).await.unwrap();
            stream.shutdown().await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        };
        let (text, ()) = tokio::join!(sentence(&by), answering);
        assert!(!text.is_empty());
    }
    drop(listener);
    assert!(sentence(&by).await.contains("no connection: "));
}

/// A password is nowhere but in the bind: neither in what failures say nor in what is shown of the settings.
#[tokio::test]
async fn scn_15_no_password_is_shown() {
    let directory = OpenLdap::start(false).await;
    let keys = [
        ("bind_name", "cn=root,dc=corp,dc=example"),
        ("bind_password", ROOT_PASSWORD),
        ("people.base", PEOPLE),
        ("people.filter", "(uid={name})"),
    ];
    let by = directory.by(&keys);
    assert!(by.login("anna", PASSWORD).await.is_ok());
    let failures = [by.login("anna", "canary-of-anna").await, by.login("nobody", "canary-of-anna").await];
    let explained =
        directory.by(&[&keys[..3], &[("people.filter", "(&{name})")]].concat()).look_up("anna").await;
    let shown = format!("{failures:?} {explained:?} {by:?}");
    for secret in [ROOT_PASSWORD, "canary-of-anna"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}
