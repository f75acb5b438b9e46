//! Limits of each client of the API (QLT-15), asked from two addresses of this machine. Counts are held, and no times: a rate of
//! one unit in a long while gives none back during a test.

use std::net::{IpAddr, Ipv4Addr};

use pagurus_harness::nodes::Role;
use reqwest::{RequestBuilder, Response};
use serde_json::json;

use crate::installation::{Installation, LOG, PATIENCE, asking, until};

const FLOOD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Address of every other client of these tests.
const QUIET: Ipv4Addr = Ipv4Addr::LOCALHOST;

fn client_at(address: Ipv4Addr) -> reqwest::Client {
    reqwest::Client::builder().no_proxy().local_address(IpAddr::from(address)).build().unwrap()
}

fn field(answer: &Response, name: &str) -> String {
    answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn qlt_15_a_flood_of_one_client_is_refused_and_another_one_never() {
    let settings =
        [("PAGURUS__INTAKE__LIMITS__REQUESTS_PER_SECOND", "1"), ("PAGURUS__INTAKE__LIMITS__BURST", "100")];
    let engine = Installation::with("client_rate", &settings).await;
    engine.actions("one", LOG).await;
    let (flood, quiet) = (client_at(FLOOD), client_at(QUIET));
    let url = format!("{}/v1/orders", engine.base());
    let (mut taken, mut refused) = (0, 0);
    for n in 0..150 {
        let order = json!({"id": format!("f-{n}"), "scenario": "one"});
        let sent = std::time::Instant::now();
        let answer = flood.post(&url).json(&order).send().await.unwrap();
        let took = sent.elapsed();
        assert_eq!(field(&answer, "ratelimit-policy"), "\"requests\";q=100;w=100");
        match answer.status().as_u16() {
            201 => taken += 1,
            429 => {
                refused += 1;
                assert!(took >= std::time::Duration::from_millis(100), "refused after {took:?}");
                assert!(field(&answer, "retry-after").parse::<u64>().unwrap() >= 1);
                assert!(field(&answer, "ratelimit").starts_with("\"requests\";r=0;t="));
            }
            other => panic!("{other}"),
        }
        if n % 5 == 0 {
            let order = json!({"id": format!("q-{n}"), "scenario": "one"});
            let answer = quiet.post(&url).json(&order).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), 201, "{n}");
        }
    }
    // What the rate gives while the test lasts is on top of the burst.
    assert!(taken >= 100 && refused > 0, "{taken} taken, {refused} refused");
    let intake = engine.node(Role::Intake);
    engine
        .until_metric(intake, "pagurus_clients_limited_total{measure=\"requests\"}", |n| {
            n == f64::from(refused)
        })
        .await;
    // Probes belong to the server, and answers of called systems have no second chance.
    for (method, path) in [("GET", "/healthz"), ("GET", "/metrics"), ("POST", "/v1/callbacks/nobody")] {
        let method = method.parse().unwrap();
        let answer = flood.request(method, format!("{}{path}", engine.base())).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), field(&answer, "ratelimit")), (200, String::new()), "{path}");
    }
}

#[tokio::test]
async fn qlt_15_open_requests_and_bytes_of_one_client_are_bounded_by_themselves() {
    let settings = [
        ("PAGURUS__INTAKE__LIMITS__OPEN_REQUESTS", "5"),
        ("PAGURUS__INTAKE__LIMITS__BYTES_PER_SECOND", "4KiB"),
    ];
    let engine = Installation::with("client_open", &settings).await;
    engine.scenario("asks", &asking("/never", "1h")).await;
    engine.accepted(json!({"id": "waits", "scenario": "asks"})).await;
    let (flood, quiet) = (client_at(FLOOD), client_at(QUIET));
    let poll = format!("{}/v1/orders/waits/wait?timeout=60", engine.base());
    // One that finds a look below in its place comes again.
    let hold = |request: RequestBuilder| async move {
        while request.try_clone().unwrap().send().await.unwrap().status().as_u16() == 429 {}
    };
    let held: Vec<_> = (0..5).map(|_| tokio::spawn(hold(flood.get(&poll)))).collect();
    let look = format!("{}/v1/nodes", engine.base());
    until("its places are taken", PATIENCE, async || {
        flood.get(&look).send().await.unwrap().status().as_u16() == 429
    })
    .await;
    let answer = flood.get(&look).send().await.unwrap();
    assert!(field(&answer, "ratelimit").ends_with("\"open\";r=0"), "{}", field(&answer, "ratelimit"));
    assert_eq!(field(&answer, "retry-after"), "1");
    assert_eq!(quiet.get(&look).send().await.unwrap().status().as_u16(), 200);
    // A client that goes leaves its places.
    held.into_iter().for_each(|request| request.abort());
    until("its places are free", PATIENCE, async || {
        flood.get(&look).send().await.unwrap().status().as_u16() == 200
    })
    .await;

    // A long body is taken whole, and paid off in minutes.
    let long = json!({"id": "x", "scenario": "nobody", "params": {"text": "x".repeat(1_000_000)}});
    let url = format!("{}/v1/orders", engine.base());
    assert_eq!(flood.post(&url).json(&long).send().await.unwrap().status().as_u16(), 422);
    let short = json!({"id": "y", "scenario": "nobody"});
    let answer = flood.post(&url).json(&short).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 429);
    assert!(field(&answer, "retry-after").parse::<u64>().unwrap() > 60, "{}", field(&answer, "retry-after"));
    assert!(answer.text().await.unwrap().contains("intake.limits.bytes_per_second"));
    assert_eq!(quiet.post(&url).json(&short).send().await.unwrap().status().as_u16(), 422);
}

#[tokio::test]
async fn qlt_15_without_limits_nothing_is_announced_and_they_come_and_go_while_a_node_runs() {
    let engine = Installation::configured("client_live", "intake: {limits: {}}\n").await;
    let look = format!("{}/v1/nodes", engine.base());
    let announced = async || field(&client_at(FLOOD).get(&look).send().await.unwrap(), "ratelimit-policy");
    assert_eq!(announced().await, "");
    let change = |text: &str| {
        engine.env().configure(text).unwrap();
        crate::reload::hang_up(&engine);
    };
    change("intake: {limits: {requests_per_second: 100, open_requests: 50}}\n");
    let policy = "\"requests\";q=100;w=1, \"open\";q=50;qu=\"concurrent-requests\"";
    until("they hold", PATIENCE, async || announced().await == policy).await;
    change("{}\n");
    until("they are gone", PATIENCE, async || announced().await.is_empty()).await;
}

#[tokio::test]
async fn qlt_15_no_field_of_a_request_makes_a_client_another_one() {
    let settings =
        [("PAGURUS__INTAKE__LIMITS__REQUESTS_PER_SECOND", "1"), ("PAGURUS__INTAKE__LIMITS__BURST", "20")];
    let engine = Installation::only("client_forwarded", &[Role::Intake], &settings).await;
    let (flood, quiet) = (client_at(FLOOD), client_at(QUIET));
    let look = format!("{}/v1/nodes", engine.base());
    let mut refused = 0;
    for n in 0..40 {
        let other = format!("192.0.2.{n}");
        let request = flood.get(&look).header("x-forwarded-for", &other).header("x-real-ip", &other);
        let answer = request.header("forwarded", format!("for={other}")).send().await.unwrap();
        refused += u32::from(answer.status().as_u16() == 429);
    }
    assert!(refused > 0, "each request was one of another client");
    assert_eq!(quiet.get(&look).send().await.unwrap().status().as_u16(), 200);
}

/// The measure of the flood, for people: the ratio depends on the machine, so that only a wide bound is held.
#[tokio::test]
async fn qlt_15_a_flood_of_one_client_does_not_slow_another_one() {
    const LOOKS: usize = 300;
    let settings =
        [("PAGURUS__INTAKE__LIMITS__REQUESTS_PER_SECOND", "50"), ("PAGURUS__INTAKE__LIMITS__BURST", "50")];
    let engine = Installation::with("client_p99", &settings).await;
    engine.actions("one", LOG).await;
    let url = format!("{}/v1/orders", engine.base());
    let quiet = client_at(QUIET);
    let p99 = async |tag: &str| {
        let mut times = Vec::new();
        for n in 0..LOOKS {
            let order = json!({"id": format!("{tag}-{n}"), "scenario": "one"});
            let begun = std::time::Instant::now();
            let status = quiet.post(&url).json(&order).send().await.unwrap().status().as_u16();
            times.push(begun.elapsed());
            assert_eq!(status, 201, "{tag} {n}");
            // Well within its rate.
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        }
        times.sort_unstable();
        times[LOOKS * 99 / 100]
    };
    let alone = p99("alone").await;
    let mut floods = tokio::task::JoinSet::new();
    for lane in 0..64 {
        let (flood, url) = (client_at(FLOOD), url.clone());
        floods.spawn(async move {
            for n in 0_u64.. {
                let order = json!({"id": format!("f-{lane}-{n}"), "scenario": "one"});
                let _ = flood.post(&url).json(&order).send().await;
            }
        });
    }
    let beside = p99("beside").await;
    floods.shutdown().await;
    println!("p99 alone {alone:?}, beside a flood {beside:?}");
    assert!(beside < alone * 5 + std::time::Duration::from_millis(50), "{alone:?}, then {beside:?}");
}
