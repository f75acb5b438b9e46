//! The stream of orders' news: what is sent, to whom, and what a client hears that was away or is too slow.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::StreamExt as _;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, asking, until};

/// Event of a stream: its name, its id and its data.
#[derive(Debug)]
struct Heard {
    event: String,
    id: String,
    data: Value,
}

/// A client of the stream.
struct Client {
    body: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    text: String,
    heard: VecDeque<Heard>,
}

impl Client {
    async fn follow(engine: &Installation, query: &str, last: Option<&str>) -> Self {
        let mut request = reqwest::Client::builder()
            .no_proxy()
            .build()
            .unwrap()
            .get(format!("{}/v1/stream?{query}", engine.base()));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { body: Box::pin(answer.bytes_stream()), text: String::new(), heard: VecDeque::new() }
    }

    /// The next event; none where the stream has ended.
    async fn next(&mut self) -> Option<Heard> {
        while self.heard.is_empty() {
            let chunk = tokio::time::timeout(PATIENCE, self.body.next()).await.expect("an event in time")?;
            self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
            while let Some((whole, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = whole.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    line.map(|text| text.trim_start().to_owned()).unwrap_or_default()
                };
                // Signs of life are comments.
                if !whole.starts_with(':') {
                    let data = serde_json::from_str(&field("data")).unwrap();
                    self.heard.push_back(Heard { event: field("event"), id: field("id"), data });
                }
                self.text = rest.to_owned();
            }
        }
        self.heard.pop_front()
    }

    /// Events of an order up to one of this kind.
    async fn up_to(&mut self, order: &str, kind: &str) -> Vec<Heard> {
        let mut heard = Vec::new();
        loop {
            let one = self.next().await.expect("the stream goes on");
            assert_eq!(one.event, "order", "{one:?}");
            let is_last = one.data["order"] == order && one.data["kind"] == kind;
            heard.push(one);
            if is_last {
                return heard;
            }
        }
    }
}

fn kinds(heard: &[Heard], order: &str) -> Vec<String> {
    let of_order = heard.iter().filter(|one| one.data["order"] == order);
    of_order.map(|one| one.data["kind"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn http_the_stream_tells_every_event_of_the_orders_that_are_asked_for() {
    let engine = Installation::start("stream").await;
    engine.actions("one", LOG).await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    let mut all = Client::follow(&engine, "", None).await;
    let mut some = Client::follow(&engine, "scenario=asks&status=wait,canceled", None).await;
    let mut of_transaction = Client::follow(&engine, "transactionId=t-1", None).await;
    // The nodes learn of these clients before the first order.
    tokio::time::sleep(Duration::from_secs(1)).await;
    engine.accepted(json!({"id": "a", "scenario": "one", "transactionId": "t-1"})).await;
    engine.run(json!({"id": "b", "scenario": "asks"}), "wait").await;
    let heard = all.up_to("b", "stage_ended").await;
    let mut more = Vec::new();
    if !kinds(&heard, "a").contains(&"stage_ended".to_owned()) {
        more = all.up_to("a", "stage_ended").await;
    }
    let whole: Vec<Heard> = heard.into_iter().chain(more).collect();
    for order in ["a", "b"] {
        assert_eq!(kinds(&whole, order), ["registered", "stage_started", "stage_ended"], "{whole:?}");
    }
    let ended =
        whole.iter().find(|one| one.data["order"] == "a" && one.data["kind"] == "stage_ended").unwrap();
    assert_eq!((&ended.data["status"], &ended.data["final"]), (&json!("success"), &json!(true)), "{ended:?}");
    assert_eq!(ended.id, format!("{}.3", ended.data["no"]), "{ended:?}");

    let heard = some.up_to("b", "stage_ended").await;
    assert!(kinds(&heard, "a").is_empty(), "{heard:?}");
    engine.act("b", "kill", &json!({"reason": "a test"})).await.success().unwrap();
    let heard = some.up_to("b", "killed").await;
    assert_eq!(heard.last().unwrap().data["status"], "canceled", "{heard:?}");
    let heard = of_transaction.up_to("a", "stage_ended").await;
    assert_eq!(kinds(&heard, "a").len(), heard.len(), "{heard:?}");

    // What waits for a time is news, too.
    let later = json!({"id": "c", "scenario": "one", "lifecycle": {"startAt": "2100-01-01T00:00:00Z"}});
    engine.accepted(later).await;
    all.up_to("c", "registered").await;
    let intake = engine.node(Role::Intake);
    engine.until_metric(intake, "pagurus_stream_clients", |clients| clients >= 3.0).await;

    // A node that stops says so, and does not wait for its clients.
    intake.stop(PATIENCE).await.unwrap();
    let mut last = None;
    while let Some(one) = all.next().await {
        last = Some(one);
    }
    assert_eq!(last.unwrap().event, "end");
}

#[tokio::test]
async fn http_a_client_that_comes_back_goes_on_where_it_was() {
    let engine = Installation::start("stream_resume").await;
    engine.actions("one", LOG).await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    engine.run(json!({"id": "a", "scenario": "asks"}), "wait").await;
    let no = engine.order("a").await.unwrap()["no"].as_i64().unwrap();
    engine.act("a", "kill", &json!({"reason": "a test"})).await.success().unwrap();

    // A stream of one order goes on from its history, whichever node serves it.
    let mut one = Client::follow(&engine, "order=a&timeout=1s", Some(&format!("{no}.2"))).await;
    let heard = one.up_to("a", "killed").await;
    assert_eq!(kinds(&heard, "a"), ["stage_ended", "killed"], "{heard:?}");
    assert_eq!(one.next().await.unwrap().event, "end");
    assert!(one.next().await.is_none());

    let mut all = Client::follow(&engine, "", None).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    engine.run(json!({"id": "b", "scenario": "one"}), "success").await;
    let known = all.up_to("b", "stage_ended").await.pop().unwrap().id;
    drop(all);
    engine.run(json!({"id": "c", "scenario": "one"}), "success").await;
    until("this node knows what came behind", PATIENCE, async || {
        let mut again = Client::follow(&engine, "timeout=500ms", Some(&known)).await;
        let heard = again.next().await.unwrap();
        heard.event == "order" && heard.data["order"] == "c"
    })
    .await;
    let mut strange = Client::follow(&engine, "timeout=1s", Some("999999.1")).await;
    assert_eq!(strange.next().await.unwrap().event, "lagged", "it says that it does not know");
    let answer = engine.env().http().get(format!("{}/v1/stream", engine.base()));
    let answer = answer.header("last-event-id", "x").send().await.unwrap();
    assert_eq!(answer.status(), 422);
}

#[tokio::test]
async fn http_a_client_that_names_its_orders_hears_of_them_and_no_others() {
    let engine = Installation::start("stream_named").await;
    engine.scenario("asks", &asking("/silent", "1h")).await;
    for id in ["a", "b", "c"] {
        engine.run(json!({"id": id, "scenario": "asks"}), "wait").await;
    }
    let killed = async |id: &str| {
        engine.act(id, "kill", &json!({"reason": "a test"})).await.success().unwrap();
    };
    let mut two = Client::follow(&engine, "order=a,b,a", None).await;
    killed("c").await;
    killed("a").await;
    let heard = two.up_to("a", "killed").await;
    assert_eq!(
        (heard.len(), kinds(&heard, "a")),
        (1, vec!["killed".to_owned()]),
        "what was before is not sent"
    );
    let known = heard[0].id.clone();
    drop(two);
    killed("b").await;
    until("this node knows what came behind", PATIENCE, async || {
        let mut again = Client::follow(&engine, "order=b,a&timeout=500ms", Some(&known)).await;
        let heard = again.next().await.unwrap();
        heard.event == "order" && heard.data["order"] == "b"
    })
    .await;
    let mut strange = Client::follow(&engine, "order=b,c&timeout=1s", Some(&known)).await;
    assert_eq!(strange.next().await.unwrap().event, "lagged", "nobody followed one of them");

    let mut early = Client::follow(&engine, "order=c,later", None).await;
    engine.accepted(json!({"id": "later", "scenario": "asks"})).await;
    let heard = early.up_to("later", "registered").await;
    assert_eq!(heard.len(), 1, "{heard:?}");
}

#[tokio::test]
async fn qlt_3_at_most_the_set_number_of_clients_follow_one_node() {
    let settings =
        [("PAGURUS__INTAKE__MAX_STREAMS", "2"), ("PAGURUS__INTAKE__CLIENT_SHARE_PERCENTAGE", "100")];
    let engine = Installation::with("stream_many", &settings).await;
    let first = Client::follow(&engine, "", None).await;
    let _second = Client::follow(&engine, "", None).await;
    let refused = engine.get("/v1/stream?timeout=1s").await.unwrap();
    assert_eq!(
        (refused.status, &refused.body["type"]),
        (429, &json!("urn:pagurus:problem:busy")),
        "{refused:?}"
    );
    drop(first);
    until("there is room again", PATIENCE, async || {
        engine.get("/v1/stream?timeout=0").await.unwrap().status == 200
    })
    .await;
    for (query, pointer) in
        [("status=gone", "/status"), ("order=a,,b", "/order"), ("timeout=soon", "/timeout")]
    {
        let answer = engine.get(&format!("/v1/stream?{query}")).await.unwrap();
        assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!(pointer)), "{query}: {answer:?}");
    }
}
