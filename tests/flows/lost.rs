//! Answers that were lost, and nodes without an API: a client learns what is true, and nothing final that is not.

use std::time::Duration;

use pagurus_harness::client::{Answer, Api};
use pagurus_harness::nodes::Role;
use pagurus_harness::process::Signal;
use pagurus_harness::proxy::{Mode, Proxy};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_postgres::{Client, NoTls};

use crate::installation::{Installation, LOG, PATIENCE, call, until};

/// An engine, and an intake of its own for the test, behind a proxy to the database.
struct Parted {
    engine: Installation,
    database: Proxy,
    intake: pagurus_harness::nodes::Node,
    api: Api,
    client: Client,
}

impl Parted {
    async fn start(test: &str) -> Self {
        let engine = Installation::start(test).await;
        engine.actions("one", LOG).await;
        let url = engine.env().database_url();
        let database = Proxy::start(&address(&url)).await.unwrap();
        let behind = database.url(&url);
        let settings = [("PAGURUS__DATABASE__URL", behind.as_str())];
        let intake = engine.env().start_with(Role::Intake, "intake-2", &settings).await.unwrap();
        let api = engine.env().api(&intake);
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Self { engine, database, intake, api, client }
    }

    /// Sends a request whose commit is carried out, and its answer lost.
    async fn with_lost_commit(&self, kind: &str, path: &str, body: &Value) -> Answer {
        let slow = format!(
            "CREATE SEQUENCE lost_{kind};
             CREATE FUNCTION slow_{kind}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
               IF NEW.kind = '{kind}' AND nextval('lost_{kind}') = 1 THEN PERFORM pg_sleep(0.7); END IF; RETURN NULL; END $$;
             CREATE CONSTRAINT TRIGGER slow_{kind} AFTER INSERT ON history DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION slow_{kind}();"
        );
        self.client.batch_execute(&slow).await.unwrap();
        let cut = async {
            let commits = "SELECT count(*) FROM pg_stat_activity
                            WHERE datname = current_database() AND wait_event = 'PgSleep'";
            until("the commit is at work", PATIENCE, async || {
                self.client.query_one(commits, &[]).await.unwrap().get::<_, i64>(0) == 1
            })
            .await;
            self.database.set(Mode::Cut);
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.database.set(Mode::Pass);
        };
        tokio::join!(self.api.post(path, body), cut).0.unwrap()
    }

    async fn events(&self, id: &str, kind: &str) -> usize {
        let events = self.engine.part(id, "events").await;
        events.as_array().unwrap().iter().filter(|event| event["kind"] == kind).count()
    }
}

fn address(url: &str) -> String {
    let rest = url.split_once("://").unwrap().1.split('/').next().unwrap().to_owned();
    rest.rsplit_once('@').map_or(rest.clone(), |(_, address)| address.to_owned())
}

#[tokio::test]
async fn rec_1_a_client_is_not_refused_by_its_own_action_whose_answer_was_lost() {
    let parted = Parted::start("lost_action").await;
    let engine = &parted.engine;
    engine.actions("fails", "- script: 'fail(\"no\", \"x\")'").await;
    for id in ["a", "b"] {
        engine.run(json!({"id": id, "scenario": "fails"}), "fail").await;
    }
    let answer = parted.with_lost_commit("restarted", "/v1/orders/a/restart", &json!({})).await;
    assert_eq!((answer.status, &answer.body["life"]), (200, &json!(2)), "{answer:?}");
    assert_eq!(parted.events("a", "restarted").await, 1, "it was done once");
    let repair = json!({"state": "work", "reason": "r"});
    let answer = parted.with_lost_commit("repaired", "/v1/orders/b/repair", &repair).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(parted.events("b", "repaired").await, 1, "it was done once");
    engine.run(json!({"id": "c", "scenario": "one"}), "success").await;
}

#[tokio::test]
async fn ord_13_a_release_whose_answer_was_lost_costs_the_next_owner_nothing() {
    let parted = Parted::start("lost_release").await;
    let engine = &parted.engine;
    engine.world().program(pagurus_harness::world::program::Program::at("/hang").hang(10));
    engine.actions("hangs", &call("/hang").replace("5s", "60s")).await;
    for id in ["a", "b", "c"] {
        engine.accepted(json!({"id": id, "scenario": "hangs", "mode": "sequential", "queue": "q"})).await;
    }
    engine.reach("a", "running").await;
    let answer =
        parted.with_lost_commit("queue_released", "/v1/queues/q/release", &json!({"reason": "r"})).await;
    assert_eq!((answer.status, &answer.body["released"]), (200, &json!("a")), "{answer:?}");
    engine.reach("b", "running").await;
    for (id, released) in [("a", 1), ("b", 0), ("c", 0)] {
        assert_eq!(parted.events(id, "queue_released").await, released, "{id}");
    }
    engine.run(json!({"id": "other", "scenario": "one"}), "success").await;
}

#[tokio::test]
async fn ord_1_items_of_a_batch_that_the_database_did_not_take_are_unavailable() {
    let parted = Parted::start("lost_batch").await;
    let batch = json!([{"id": "a", "scenario": "one"}, {"id": "b"}, {"id": "c", "scenario": "one"}]);
    parted.database.set(Mode::Cut);
    let (answer, ()) = tokio::join!(parted.api.post("/v1/orders/batch", &batch), async {
        // Of others, over the other transport.
        parted.engine.run(json!({"id": "other", "scenario": "one"}), "success").await;
    });
    let answer = answer.unwrap();
    let words: Vec<&str> =
        answer.body.as_array().unwrap().iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!((answer.status, words), (200, vec!["unavailable", "rejected", "unavailable"]), "{answer:?}");
    assert_eq!(answer.body[0]["error"]["type"], "urn:pagurus:problem:unavailable");
    parted.database.set(Mode::Pass);
    until("the same batch is taken", PATIENCE, async || {
        let again = parted.api.post("/v1/orders/batch", &batch).await.unwrap();
        again.body.as_array().is_some_and(|all| all.iter().all(|one| one["status"] != "unavailable"))
    })
    .await;
    parted.engine.reach("c", "success").await;
}

#[tokio::test]
async fn qlt_8_an_intake_that_starts_or_stops_says_come_again_and_not_that_there_is_nothing() {
    let parted = Parted::start("lost_life").await;
    let asked = async |path: &str| {
        let answer =
            parted.engine.env().http().get(format!("{}{path}", parted.intake.url())).send().await.ok()?;
        let retry = answer.headers().contains_key("retry-after");
        let status = answer.status().as_u16();
        Some((status, retry, answer.json::<Value>().await.unwrap_or_default()["type"].clone()))
    };
    let unavailable = (503, true, json!("urn:pagurus:problem:unavailable"));

    // A request that is being sent is answered while the node drains; new ones go elsewhere.
    let mut slow = TcpStream::connect(parted.intake.address()).await.unwrap();
    let body = json!({"id": "slow", "scenario": "one"}).to_string();
    let (first, rest) = body.split_at(10);
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{first}",
        body.len()
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    // It has been taken when the one behind it is answered.
    assert_eq!(asked("/v1/nodes").await.unwrap().0, 200);
    parted.intake.identity.signal(Signal::Terminate).unwrap();
    until("new requests are sent away", PATIENCE, async || {
        asked("/v1/orders").await.as_ref() == Some(&unavailable)
    })
    .await;
    assert_eq!(asked("/healthz").await.unwrap().0, 200);
    slow.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).await.unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 201");
    assert!(parted.intake.identity.ended(PATIENCE).await);

    parted.database.set(Mode::Cut);
    let (again, ()) = tokio::join!(parted.engine.env().restart(&parted.intake), async {
        for path in ["/v1/orders", "/v1/callbacks/x", "/v1/orders/a", "/anything"] {
            until("it is asked to come again", PATIENCE, async || {
                asked(path).await.as_ref() == Some(&unavailable)
            })
            .await;
        }
        assert_eq!((asked("/healthz").await.unwrap().0, asked("/readyz").await.unwrap().0), (200, 503));
        parted.engine.run(json!({"id": "other", "scenario": "one"}), "success").await;
        parted.database.set(Mode::Pass);
    });
    again.unwrap();
    assert_eq!(asked("/anything").await.unwrap().0, 404, "now it knows");
    let worker = parted.engine.node(Role::Worker).url();
    let answer = parted.engine.env().http().get(format!("{worker}/v1/orders")).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 404, "there never is an API");
    parted.engine.reach("slow", "success").await;
}
