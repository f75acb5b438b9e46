//! Called systems that answer as few do, secrets that go away, and orders that name thousands of places: each costs its own
//! order something, and nobody else anything (QLT-3, QLT-8).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use pagurus_harness::nodes::Role;
use pagurus_harness::world::program::{Program, Step, Then};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use crate::installation::{Installation, LOG, PATIENCE, until};
use crate::memory::most_megabytes;

/// A called system by sockets: libraries send no such answers. Gone when the handle is dropped.
async fn system<F>(
    answer: impl Fn(TcpStream, String) -> F + Send + 'static,
) -> (String, AbortOnDropHandle<()>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 16 * 1024];
            let read = stream.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            tokio::spawn(answer(stream, head));
        }
    };
    (url, AbortOnDropHandle::new(tokio::spawn(serve)))
}

/// The order, as soon as it has ended.
async fn ended(engine: &Installation, id: &str) -> Value {
    let waited = engine.get(&format!("/v1/orders/{id}/wait?timeout=60s")).await.unwrap().success().unwrap();
    assert_eq!(waited["final"], true, "{waited}");
    engine.order(id).await.unwrap()
}

/// Writes a text byte by byte, for longer than any test waits.
async fn drip(mut stream: TcpStream, text: &'static str) {
    for byte in text.bytes().cycle() {
        if stream.write_all(&[byte]).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn qlt_8_an_answer_that_comes_byte_by_byte_ends_with_the_time_of_its_call() {
    let engine = Installation::start("odd_drip").await;
    engine.actions("canary", LOG).await;
    // The status line, a field that has no end, and a body that has none.
    let texts = [
        ("head", "", "HTTP/1.1 200 OK\r\nx-field: endless, "),
        ("field", "HTTP/1.1 200 OK\r\n", "x: y\r\n"),
        ("body", "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", "1"),
        ("chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
    ];
    let mut systems = Vec::new();
    for (name, begin, rest) in texts {
        let (url, serving) = system(move |mut stream, _| async move {
            if stream.write_all(begin.as_bytes()).await.is_ok() {
                drip(stream, rest).await;
            }
        })
        .await;
        systems.push(serving);
        engine.actions(name, &format!("- http: {{method: GET, url: \"{url}/x\", timeout: 2s}}")).await;
        engine.accepted(json!({"id": name, "scenario": name})).await;
    }
    engine.run(json!({"id": "canary", "scenario": "canary"}), "success").await;
    for (name, ..) in texts {
        let order = engine.wait_status(name, "fail", PATIENCE).await.unwrap();
        let message = order["error"]["message"].as_str().unwrap();
        println!("{name}: {}", order["error"]);
        assert!(message.contains("2 s") || message.contains("2s") || message.contains("time"), "{order}");
    }
}

#[tokio::test]
async fn qlt_3_a_compressed_answer_is_asked_for_by_nobody_and_unfolds_nowhere() {
    let engine = Installation::start("odd_gzip").await;
    // 512 MiB of zeros in half a mebibyte.
    let made = Command::new("sh").args(["-c", "head -c 512M /dev/zero | gzip -9"]).output().unwrap();
    let bomb: &'static [u8] = Vec::leak(made.stdout);
    assert!(bomb.len() > 100_000 && bomb.len() < 1_000_000, "{}", bomb.len());
    let (heads, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let (url, _serving) = system(move |mut stream, head| {
        let _ = heads.send(head.to_ascii_lowercase());
        async move {
            let fields = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                bomb.len()
            );
            let _ = stream.write_all(fields.as_bytes()).await;
            let _ = stream.write_all(bomb).await;
        }
    })
    .await;
    let call = format!("- http: {{method: GET, url: \"{url}/x\", timeout: 20s}}");
    engine.actions("packed", &call).await;
    let before = most_megabytes(&engine, Role::Worker);
    engine.accepted(json!({"id": "packed", "scenario": "packed"})).await;
    let order = ended(&engine, "packed").await;
    println!("{} {}", order["status"], order["error"]);
    let head = asked.recv().await.unwrap();
    assert!(!head.contains("accept-encoding"), "{head}");
    let after = most_megabytes(&engine, Role::Worker);
    assert!(after < before + 64, "the worker held {after} MB, and {before} before");

    // Nor does a request of a client.
    let before = most_megabytes(&engine, Role::Intake);
    let request = engine.env().http().post(format!("{}/v1/orders", engine.base()));
    let request = request.header("content-type", "application/json").header("content-encoding", "gzip");
    let answer = request.body(bomb).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 415);
    let after = most_megabytes(&engine, Role::Intake);
    assert!(after < before + 64, "the intake held {after} MB, and {before} before");
}

#[tokio::test]
async fn scn_15_a_secret_whose_file_goes_away_fails_the_orders_that_name_it_until_it_is_back() {
    let folder = std::env::temp_dir().join(format!("pagurus-gone-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("token");
    std::fs::write(&file, "s-canary-1\n").unwrap();
    let engine =
        Installation::with("odd_secret", &[("PAGURUS__SECRETS__FOLDER", folder.to_str().unwrap())]).await;
    let call = "- http: {method: POST, url: \"${config.demo}/s\", headers: {x-token: \"${secret.token}\"}, timeout: 5s}";
    engine.actions("secretive", call).await;
    engine.actions("canary", LOG).await;
    engine.run(json!({"id": "with", "scenario": "secretive"}), "success").await;
    std::fs::remove_file(&file).unwrap();
    // A secret that was read is good for a moment.
    let (mut number, mut failed) = (0, Value::Null);
    until("an order misses the secret", PATIENCE, async || {
        number += 1;
        let id = format!("without-{number}");
        engine.accepted(json!({"id": id, "scenario": "secretive"})).await;
        failed = ended(&engine, &id).await;
        failed["status"] == "fail"
    })
    .await;
    assert_eq!(failed["error"]["class"], "secret.missing", "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().contains("token"), "{failed}");
    engine.run(json!({"id": "canary", "scenario": "canary"}), "success").await;
    for node in &engine.nodes {
        let ready = engine.env().http().get(format!("{}/readyz", node.url())).send().await.unwrap();
        assert_eq!(ready.status().as_u16(), 200);
    }
    std::fs::write(&file, "s-canary-2\n").unwrap();
    let id = failed["id"].as_str().unwrap();
    until("the order goes on with the secret that is back", PATIENCE, async || {
        assert_eq!(engine.act(id, "restart", &json!({"reason": "it is back"})).await.status, 200);
        ended(&engine, id).await["status"] == "success"
    })
    .await;
    let last = engine.world().calls("/s").last().unwrap().clone();
    assert_eq!(last.headers["x-token"], "s-canary-2");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Values of each label of each metric on a page.
fn values_of(page: &str) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some((metric, rest)) = line.split_once('{') else { continue };
        let labels = rest.rsplit_once('}').unwrap().0;
        for (name, value) in labels.split("\",").filter_map(|pair| pair.split_once("=\"")) {
            let value = value.trim_end_matches('"').to_owned();
            found.entry((metric.to_owned(), name.to_owned())).or_default().insert(value);
        }
    }
    found
}

#[tokio::test]
async fn qlt_8_orders_that_name_hundreds_of_flows_and_systems_make_no_metric_grow_without_bound() {
    const PLACES: usize = 500;
    /// Values of a label at most: 200 words, and the one for all others.
    const MOST: usize = 201;
    let attributes = [("PAGURUS__DISTRIBUTION__FLOWS__ATTRIBUTES", "[scenario, region]")];
    let engine = Installation::with("odd_labels", &attributes).await;
    // Nobody listens there: each call is refused at once.
    let call = "- http: {method: GET, url: \"http://127.1.${params.high}.${params.low}:9/x\", timeout: 2s}";
    engine.actions("wide", call).await;
    let order = |n: usize| {
        let params = json!({"high": n / 200, "low": 1 + n % 200});
        json!({"id": format!("o-{n}"), "scenario": "wide", "flow": {"region": format!("r-{n}")}, "params": params})
    };
    let orders: Vec<Value> = (0..PLACES).map(order).collect();
    engine.post("/v1/orders/batch", &json!(orders)).await.unwrap().success().unwrap();
    until("all have failed", PATIENCE * 4, async || {
        let counts = engine.get("/v1/counts?status=fail").await.unwrap().success().unwrap();
        counts["orders"] == PLACES
    })
    .await;
    for node in &engine.nodes {
        let page = engine.env().http().get(format!("{}/metrics", node.url())).send().await.unwrap();
        let page = page.text().await.unwrap();
        let values = values_of(&page);
        let widest = values.iter().max_by_key(|(_, values)| values.len()).unwrap();
        println!("{}: {} bytes, widest {:?} {}", node.url(), page.len(), widest.0, widest.1.len());
        for ((metric, label), values) in &values {
            assert!(values.len() <= MOST, "{metric} {label}: {}", values.len());
        }
    }
}

#[tokio::test]
async fn qlt_9_a_redirect_of_a_called_system_is_an_answer_and_no_proxy_of_the_environment_is_used() {
    let trap = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = format!("http://{}", trap.local_addr().unwrap());
    let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let settings = names.map(|name| (name, elsewhere.as_str()));
    let engine = Installation::with("odd_redirect", &settings).await;
    let statuses = [301, 302, 303, 307, 308];
    for status in statuses {
        let headers = vec![("location".to_owned(), format!("{elsewhere}/latest/meta-data/"))];
        let then = Then::Answer { status, headers, body: Value::Null };
        engine.world().program(Program::at(format!("/{status}")).then(Step { then, ..Step::fine() }));
        let name = format!("moved-{status}");
        let call =
            format!("- http: {{method: POST, url: \"${{config.demo}}/{status}\", body: {{}}, timeout: 5s}}");
        engine.actions(&name, &format!("{call}\n- script: 'result(response.status)'")).await;
        let order = engine.run(json!({"id": name, "scenario": name}), "success").await;
        assert_eq!(order["result"], status, "{order}");
        assert_eq!(engine.world().calls(&format!("/{status}")).len(), 1);
    }
    let knocked = tokio::time::timeout(Duration::from_millis(50), trap.accept()).await;
    assert!(knocked.is_err(), "somebody went elsewhere");
}

#[tokio::test]
async fn err_3_a_call_shorter_than_connecting_says_that_no_connection_came() {
    let engine = Installation::start("err_3_connect").await;
    // A queue of one, and full: the kernel answers nobody else.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    let soon = std::time::Duration::from_millis(300);
    while let Ok(connected) = tokio::time::timeout(soon, tokio::net::TcpStream::connect(address)).await {
        waiting.push(connected.unwrap());
    }
    engine
        .actions("asks", &format!("- http: {{method: POST, url: 'http://{address}/x', timeout: 700ms}}"))
        .await;
    let order = engine.run(json!({"id": "o", "scenario": "asks"}), "fail").await;
    let message = order["error"]["message"].as_str().unwrap();
    assert!(message.contains("ConnectTimeout"), "{order}");
}
