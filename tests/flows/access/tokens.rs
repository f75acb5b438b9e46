//! Tokens of programs, and the addresses at which they are taken.

use pagurus_harness::nodes::Role;
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::world::program::{CallBack, Program};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Caller, Proof, ROOT, guarded, root, token};
use crate::installation::{PATIENCE, asking, until};

#[tokio::test]
async fn ui_1_a_token_is_shown_once_and_what_it_does_is_audited_by_its_name() {
    let engine = guarded("access_tokens", &Role::ALL, &[]).await;
    let admin = Caller::of(&engine, root(&engine).await);
    for wrong in [
        json!({"name": "a", "role": "king"}),
        json!({"name": "", "role": "client"}),
        json!({"name": "a\u{7}", "role": "client"}),
        json!({"name": "a", "role": "client", "endsAt": "2020-01-01T00:00:00Z"}),
        json!({"name": "a", "role": "client", "secret": "mine"}),
        json!({"name": "n".repeat(65), "role": "client"}),
    ] {
        assert_eq!(admin.status(Method::POST, "/v1/access/tokens", Some(&wrong)).await, 422, "{wrong}");
    }
    let (id, shop) = token(&engine, &admin.proof, "shop", "client").await;
    let Proof::Token(text) = &shop else { panic!() };
    assert!(text.starts_with(&format!("pgr_{id}")) && text.len() == 82, "{text}");
    let listed = admin.ask(Method::GET, "/v1/access/tokens", None).await.success().unwrap();
    assert_eq!(listed["items"][0]["name"], "shop");
    assert!(!listed.to_string().contains(&text[10..]), "the list shows no token");
    let scenario = format!("scenario: asks\nkind: workflow\n{}", asking("/ask", "1m"));
    let put = |caller: Proof| {
        let request = engine.env().http().put(format!("{}/v1/scenarios/asks", engine.base()));
        caller.on(request).header("content-type", "application/yaml").body(scenario.clone()).send()
    };
    assert_eq!(put(shop.clone()).await.unwrap().status().as_u16(), 403);
    assert_eq!(put(admin.proof.clone()).await.unwrap().status().as_u16(), 201);
    // The called system has no token: the address that it was given is its proof.
    engine.world().program(Program::at("/ask").calling_back(CallBack::with(json!({"ok": true}))));
    let shop = Caller::of(&engine, shop);
    let order = json!({"id": "o-1", "scenario": "asks"});
    assert_eq!(shop.status(Method::POST, "/v1/orders", Some(&order)).await, 201);
    until("the order has ended", PATIENCE, async || {
        shop.ask(Method::GET, "/v1/orders/o-1/wait?timeout=5s", None).await.body["status"] == "success"
    })
    .await;
    let killed = shop.status(Method::POST, "/v1/orders/o-1/restart", Some(&json!({"reason": "r"}))).await;
    assert!([200, 409].contains(&killed), "{killed}");
    until("the use is noted", PATIENCE, async || {
        let listed = admin.ask(Method::GET, "/v1/access/tokens", None).await.success().unwrap();
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["id"] == id.as_str() && one["usedAt"].is_string())
    })
    .await;
    let audit = admin.ask(Method::GET, "/v1/audit?name=token:shop", None).await.success().unwrap();
    assert!(!audit["items"].as_array().unwrap().is_empty(), "{audit}");
}

#[tokio::test]
async fn ui_1_the_command_line_makes_the_first_token_and_is_known_by_it() {
    let engine = guarded("access_cli", &[Role::Intake], &[]).await;
    let program = std::path::PathBuf::from(std::env::var_os("PAGURUS_TEST_BIN").unwrap()).join("pagurus");
    let run = async |arguments: &[&str], input: &str, token: &str| {
        use tokio::io::AsyncWriteExt as _;
        let mut command = tokio::process::Command::new(&program);
        command.args(["--server", engine.base()]).args(arguments).env("PAGURUS_TOKEN", token);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap(), text.trim().to_owned())
    };
    let first = ["access", "tokens", "make", "first", "--role", "admin", "--login", ROOT.0];
    let (code, text) = run(&first, "wrong\n", "").await;
    assert!(code == 1 && text.contains("the name or the password is wrong"), "{code}: {text}");
    let (code, first) = run(&first, &format!("{}\n", ROOT.1), "").await;
    assert!(code == 0 && first.starts_with("pgr_"), "{code}: {first}");
    assert_eq!(run(&["access", "who"], "", &first).await, (0, "first, admin, by token".to_owned()));
    let (code, text) = run(&["order", "list"], "", "").await;
    assert!(code == 1 && text.contains("Authorization"), "{code}: {text}");
    let (code, second) =
        run(&["access", "tokens", "make", "shop", "--role", "client", "--for", "1d"], "", &first).await;
    assert_eq!(code, 0, "{second}");
    let (code, text) = run(&["flows", "stop", "billing", "--reason", "r"], "", &second).await;
    assert!(code == 1 && text.contains("does not permit this; it needs `operator`"), "{code}: {text}");
    let (code, text) = run(&["access", "tokens", "list"], "", &first).await;
    assert!(code == 0 && text.contains("shop") && text.contains("client"), "{text}");
    assert_eq!(run(&["access", "tokens", "revoke", &second[4..10]], "", &first).await.0, 0);
    let (code, text) = run(&["order", "get", "o-1"], "", &second).await;
    assert!(code == 1 && text.contains("unknown, revoked or expired"), "{code}: {text}");
    let (code, text) = run(&["access", "explain", "root"], "", &first).await;
    assert!(code == 0 && text.contains("role: admin"), "{text}");
}

#[tokio::test]
async fn ui_1_the_address_for_called_systems_leads_to_nothing_else() {
    let ports = Ports::reserve(2, &Owner::this_process().unwrap()).unwrap();
    let [clients, systems] = [0, 1].map(|more| format!("127.0.0.1:{}", ports.first() + more));
    let settings = [
        ("PAGURUS__INTAKE__LISTEN_CLIENTS", clients.as_str()),
        ("PAGURUS__INTAKE__LISTEN_SYSTEMS", systems.as_str()),
    ];
    let engine = guarded("access_entrances", &[Role::Intake], &settings).await;
    let admin = Caller::of(&engine, root(&engine).await);
    let at = async |address: &str, method: Method, path: &str| {
        let body = (method == Method::POST).then(|| json!({}));
        admin.ask_at(&format!("http://{address}"), method, path, body.as_ref()).await.status
    };
    let request = "/v1/callbacks/7f3c1a52-0d7e-4b9e-9a55-000000000000";
    assert_eq!(at(&systems, Method::POST, request).await, 200);
    assert_eq!(at(&clients, Method::POST, "/v1/orders").await, 422);
    for (address, method, path) in [
        (&systems, Method::POST, "/v1/orders"),
        (&systems, Method::GET, "/v1/orders"),
        (&systems, Method::GET, "/openapi.json"),
        (&systems, Method::POST, "/v1/session"),
        (&clients, Method::GET, "/v1/orders"),
        (&clients, Method::GET, "/v1/access/tokens"),
        (&clients, Method::POST, request),
        (&clients, Method::GET, "/docs"),
        (&systems, Method::GET, "/metrics"),
        (&systems, Method::GET, "/readyz"),
        (&clients, Method::GET, "/metrics"),
        (&clients, Method::GET, "/readyz"),
    ] {
        assert_eq!(at(address, method.clone(), path).await, 404, "{method} {address}{path}");
    }
    for address in [&systems, &clients] {
        assert_eq!(at(address, Method::GET, "/healthz").await, 200, "{address}");
    }
}

#[tokio::test]
async fn ord_24_a_change_that_is_refused_for_want_of_a_right_is_audited_once_a_minute() {
    let engine = guarded("access_refused", &[Role::Intake], &[]).await;
    let admin = Caller::of(&engine, root(&engine).await);
    let viewer = Caller::of(&engine, token(&engine, &admin.proof, "reports", "viewer").await.1);
    let reason = json!({"reason": "because"});
    let stop = json!({"flow": "sms", "reason": "because"});
    for number in 0..5 {
        // Odd on purpose: a path is shown as it was sent.
        let kill = format!("/v1/orders/o%20{number}%0A/kill");
        assert_eq!(viewer.status(Method::POST, &kill, Some(&reason)).await, 403);
        assert_eq!(viewer.status(Method::POST, "/v1/flows/stop", Some(&stop)).await, 403);
        // Nothing would change by it.
        assert_eq!(viewer.status(Method::GET, "/v1/audit", None).await, 403);
    }
    let listed = admin.ask(Method::GET, "/v1/audit?kind=request", None).await.success().unwrap();
    let shown =
        |entry: &Value| ["/action", "/subject", "/by/name"].map(|at| entry.pointer(at).unwrap().clone());
    let entries: Vec<_> = listed["items"].as_array().unwrap().iter().map(shown).collect();
    let expected = ["POST /v1/flows/stop", "POST /v1/orders/o%200%0A/kill"];
    assert_eq!(entries, expected.map(|subject| ["refused", subject, "token:reports"].map(Value::from)));
    assert_eq!(listed["items"][0]["detail"]["role"], "viewer", "{listed}");
    assert!(listed["items"][0]["by"]["from"].is_string(), "{listed}");
}
