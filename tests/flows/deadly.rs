//! Inputs that would end a process, and the others that come with them (QLT-8).

use lapin::BasicProperties;
use pagurus_harness::nodes::Role;
use serde_json::{Value, json};

use crate::installation::{Installation, LOG, PATIENCE, until, with_actions};
use crate::memory::most_megabytes;
use crate::refused::listed;

/// A schema that is nothing special, and parameters that lack everything it asks for.
fn lacking(items: usize) -> (String, Value) {
    let names: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
    let schema =
        json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"required": names}}}});
    (format!("params: {schema}\n{}", with_actions(LOG)), json!({"rows": vec![json!({}); items]}))
}

#[tokio::test]
async fn qlt_8_faults_of_parameters_take_no_more_memory_than_the_parameters() {
    let engine = Installation::start("qlt_8_lacking").await;
    let (scenario, params) = lacking(20_000);
    engine.scenario("many", &scenario).await;
    let before = most_megabytes(&engine, Role::Intake);
    let order = json!({"id": "lacks", "scenario": "many", "params": params});
    let answer = engine.submit(&order).await;
    assert_eq!((answer.status, &answer.body["pointer"]), (422, &json!("/params/rows/0")), "{answer:?}");
    assert!(answer.body.to_string().contains("\\\"n0\\\" is a required property"), "{answer:?}");
    let client = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let body = serde_json::to_vec(&order).unwrap();
    client.publish(&exchange, "order.create", &body, &BasicProperties::default()).await.unwrap();
    let reason = listed(&engine, 1).await[0]["reason"].to_string();
    assert!(reason.contains("is a required property"), "{reason}");
    let grown = most_megabytes(&engine, Role::Intake) - before;
    assert!(grown < 60, "the intake grew by {grown} MB");
}

async fn number_of(database: &tokio_postgres::Client, sql: &str) -> i64 {
    database.query_one(sql, &[]).await.unwrap().get(0)
}

async fn is_any_refused(engine: &Installation) -> bool {
    let answer = engine.get("/v1/refused").await;
    answer.is_ok_and(|page| page.body["items"].as_array().is_some_and(|items| !items.is_empty()))
}

/// An intake that stands still with an order of the scenario `deadly` in hand.
struct DeadlyIntake {
    engine: Installation,
    database: tokio_postgres::Client,
}

impl DeadlyIntake {
    async fn start(test: &str) -> Self {
        let settings = [("PAGURUS__BROKER__PREFETCH", "50")];
        let engine = Installation::only(test, &[Role::Intake], &settings).await;
        engine.actions("one", LOG).await;
        engine.actions("deadly", LOG).await;
        let database = engine.database().await;
        database
            .batch_execute(
                "CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                     IF (SELECT name FROM scenarios WHERE no = NEW.scenario) = 'deadly' THEN PERFORM pg_sleep(600); END IF; RETURN NEW; END $$;
                 CREATE TRIGGER stand_still BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION stand_still()",
            )
            .await
            .unwrap();
        Self { engine, database }
    }

    /// Twenty orders, of which the eleventh is deadly.
    fn orders() -> Vec<Value> {
        let scenario = |number| if number == 10 { "deadly" } else { "one" };
        (0..20).map(|number| json!({"id": format!("o-{number}"), "scenario": scenario(number)})).collect()
    }

    async fn send(&self, body: &Value) {
        let client = self.engine.env().amqp().await.unwrap();
        let exchange = format!("{}.orders", self.engine.env().prefix());
        let (body, properties) = (body.to_string(), BasicProperties::default());
        client.publish(&exchange, "order.create", body.as_bytes(), &properties).await.unwrap();
    }

    /// Kills the intake whenever the deadly order is at work, until something is refused. Returns the number of deaths.
    async fn die(&mut self) -> u32 {
        let at_work = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()";
        let sleeping = format!("SELECT count(*) {at_work}");
        let end = format!("SELECT count(pg_terminate_backend(pid)) {at_work}");
        let mut deaths = 0;
        loop {
            let (engine, database) = (&mut self.engine, &self.database);
            until("the message is at work, or refused", PATIENCE, async || {
                number_of(database, &sleeping).await > 0 || is_any_refused(engine).await
            })
            .await;
            if number_of(database, &sleeping).await == 0 {
                return deaths;
            }
            engine.node(Role::Intake).kill().await.unwrap();
            until("its work is over", PATIENCE, async || {
                database.query_one(&end, &[]).await.unwrap();
                number_of(database, &sleeping).await == 0
            })
            .await;
            deaths += 1;
            engine.restart(Role::Intake).await;
        }
    }

    /// Asserts that the deadly order alone is refused.
    async fn finish(&self) {
        let engine = &self.engine;
        for number in (0..20).filter(|number| *number != 10) {
            until("a neighbour is registered", PATIENCE, async || {
                engine.get(&format!("/v1/orders/o-{number}")).await.unwrap().status == 200
            })
            .await;
        }
        let items = listed(engine, 1).await;
        let reason = items[0]["reason"].as_str().unwrap();
        assert!(reason.contains("the process ended each time"), "{reason}");
        let path = format!("/v1/refused/{}", items[0]["id"].as_str().unwrap());
        let shown = engine.get(&path).await.unwrap().body;
        assert_eq!(shown["body"], Self::orders()[10].to_string(), "{shown}");
        assert_eq!(engine.get("/v1/orders/o-10").await.unwrap().status, 404);
    }
}

/// A message that is at work when its process dies, again and again; those around it are only in the same hands.
#[tokio::test]
async fn qlt_8_a_message_with_which_processes_die_is_put_aside_and_its_neighbours_are_not() {
    let mut intake = DeadlyIntake::start("qlt_8_deadly").await;
    for order in DeadlyIntake::orders() {
        intake.send(&order).await;
    }
    // The first death is of a process that had all of them in hand; each that counts is of one that had this one alone.
    let deaths = intake.die().await;
    assert!((3..=4).contains(&deaths), "{deaths}");
    intake.finish().await;
    let left = number_of(&intake.database, "SELECT count(*) FROM message_attempts").await;
    assert_eq!(left, 1, "nothing is held against the neighbours");
}

#[tokio::test]
async fn qlt_8_of_a_message_that_holds_many_orders_only_the_one_with_which_processes_die_is_put_aside() {
    let mut intake = DeadlyIntake::start("qlt_8_deadly_many").await;
    intake.send(&DeadlyIntake::orders().into()).await;
    // The first death, two with the message alone, and two with the order alone.
    let deaths = intake.die().await;
    assert!((4..=6).contains(&deaths), "{deaths}");
    intake.finish().await;
}

#[tokio::test]
async fn qlt_8_refused_messages_are_bounded_in_bytes_and_the_oldest_go() {
    let engine =
        Installation::only("qlt_8_refused", &[Role::Intake], &[("PAGURUS__REFUSED__MAX_BYTES", "64KiB")])
            .await;
    let client = engine.env().amqp().await.unwrap();
    let exchange = format!("{}.orders", engine.env().prefix());
    let database = engine.database().await;
    for round in 0..4 {
        for number in 0..5 {
            let body = format!("no JSON {round} {number} {}", "x".repeat(8 * 1024));
            let properties = BasicProperties::default();
            client.publish(&exchange, "order.create", body.as_bytes(), &properties).await.unwrap();
        }
        until("the last is taken", PATIENCE, async || {
            engine.get("/v1/refused").await.unwrap().success().unwrap();
            let last = format!("no JSON {round} 4 %");
            let found = "SELECT count(*) FROM refused WHERE convert_from(body, 'UTF8') LIKE $1";
            database.query_one(found, &[&last]).await.unwrap().get::<_, i64>(0) == 1
        })
        .await;
        let bytes = "SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM refused";
        let bytes = number_of(&database, bytes).await;
        assert!(bytes <= 64 * 1024, "{bytes}");
    }
    let newest = "SELECT count(*) FROM refused WHERE convert_from(body, 'UTF8') LIKE 'no JSON 3 %'";
    assert_eq!(number_of(&database, newest).await, 5);
    assert_eq!(number_of(&database, "SELECT count(*) FROM refused").await, 7, "as many as there is room for");
    let intake = engine.node(Role::Intake);
    engine.until_metric(intake, "pagurus_refused_forgotten_total", |count| count == 13.0).await;
}
