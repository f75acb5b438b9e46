//! The programs of `docs/guides/sending-orders.md` that receive webhooks, as they are shipped.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::order::notification::SigningSecrets;
use pagurus_harness::packages::python;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

use crate::installation::{Installation, LOG};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("it says something");
    line.unwrap().expect("it goes on")
}

/// Sends a notification that somebody else made up; returns the status of the answer.
async fn send(engine: &Installation, url: &str, id: &str, seconds: i64, signature: &str) -> u16 {
    let request = engine.env().http().post(url).body(json!({"id": id}).to_string());
    let request = request.header("webhook-id", id).header("webhook-timestamp", seconds.to_string());
    request.header("webhook-signature", signature).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn ord_18_the_receiver_in_python_takes_what_is_signed_and_new_and_nothing_else() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut receiver = Command::new(python().expect("`./dev test` installs it"))
        .arg(program.join("examples/receivers/python/receive_webhook.py"))
        .env("WEBHOOK_SECRET", SECRET)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(receiver.stdout.take().unwrap()).lines();
    let url = line(&mut lines).await;
    let settings = [
        ("PAGURUS__NOTIFY__ALLOW", "[{url: 'http://127.0.0.1:*/orders', secret: hooks}]"),
        ("PAGURUS_SECRET_HOOKS", SECRET),
    ];
    let engine = Installation::with("receiver_python", &settings).await;
    engine.actions("quick", LOG).await;
    engine.run(json!({"id": "a", "scenario": "quick", "notify": {"url": url}}), "success").await;
    let received: Value = serde_json::from_str(&line(&mut lines).await).unwrap();
    assert_eq!((&received["id"], &received["status"]), (&json!("a"), &json!("success")));

    let now = Timestamp::now().as_second();
    let secrets = SigningSecrets::parse(SECRET).unwrap();
    let sign = |id: &str, seconds: i64| secrets.sign(id, seconds, json!({"id": id}).to_string().as_bytes());
    let others = SigningSecrets::parse("another-secret-of-thirty-bytes").unwrap();
    let forged = others.sign("m-0", now, json!({"id": "m-0"}).to_string().as_bytes());
    for (id, seconds, signature) in [
        ("m-0", now, "v1,AAAA".to_owned()),
        ("m-0", now, forged),
        ("m-0", now, sign("m-9", now)),
        ("m-0", now - 3600, sign("m-0", now - 3600)),
    ] {
        assert_eq!(send(&engine, &url, id, seconds, &signature).await, 401, "{seconds} {signature}");
    }
    // Twice the same, and then another: each is acted on once. While the secret changes, either signature will do.
    let both = format!("v1,AAAA {}", sign("m-1", now));
    assert_eq!(send(&engine, &url, "m-1", now, &both).await, 204);
    assert_eq!(send(&engine, &url, "m-1", now, &both).await, 204);
    assert_eq!(send(&engine, &url, "m-2", now, &sign("m-2", now)).await, 204);
    assert_eq!(line(&mut lines).await, r#"{"id": "m-1"}"#);
    assert_eq!(line(&mut lines).await, r#"{"id": "m-2"}"#);
}
