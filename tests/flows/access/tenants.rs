//! Tenants, and payloads by role: what is not somebody's is not there for them. What must not be seen has a name of its own,
//! `zebra` for things of another tenant and `okapi` for payloads, and is looked for in every answer of every operation.

mod payloads;
mod random;
mod shared;

use std::collections::BTreeSet;

use pagurus_harness::client::Answer;
use pagurus_harness::nodes::Role;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Caller, Proof, guarded, root};
use crate::installation::{Installation, PATIENCE, asking, call, until, with_actions};

/// Tenants of these tests. A scenario `own-…` belongs to the first, `zebra-…` to the second, and any other to nobody.
const TENANTS: &str = "[{name: ours, groups: [ours], scenarios: ['own-*'], queues: ['own-*']}, \
     {name: theirs, groups: [theirs], scenarios: ['zebra-*'], queues: ['zebra-*']}]";

/// An engine with tenants, and orders of both.
struct Zoo {
    engine: Installation,
    admin: Proof,
}

impl Zoo {
    async fn of(test: &str, payloads: &str) -> Self {
        let settings = [("PAGURUS__ACCESS__TENANTS", TENANTS), ("PAGURUS__ACCESS__PAYLOADS", payloads)];
        let engine = guarded(test, &Role::ALL, &settings).await;
        let admin = root(&engine).await;
        let zoo = Self { engine, admin };
        let fails = "- script: 'vars.found = params.secret; fail(\"no \" + params.secret, \"animal.gone\")'";
        let ends = "- log: \"fed ${params.secret}\"\n- script: 'vars.kept = params.secret; result(#{ of: params.secret })'";
        for prefix in ["own", "zebra", "common"] {
            zoo.scenario(&format!("{prefix}-ends"), &with_actions(&format!("{ends}\n{}", call("/fed"))))
                .await;
            zoo.scenario(&format!("{prefix}-fails"), &with_actions(fails)).await;
            zoo.scenario(&format!("{prefix}-waits"), &asking("/ask", "1h")).await;
        }
        zoo
    }

    fn caller(&self, proof: &Proof) -> Caller<'_> {
        Caller::of(&self.engine, proof.clone())
    }

    async fn scenario(&self, name: &str, rest: &str) {
        let text = format!("scenario: {name}\nkind: workflow\n{rest}");
        let address = format!("{}/v1/scenarios/{name}", self.engine.base());
        let request = self.admin.on(self.engine.env().http().put(address));
        let answer = request.header("content-type", "application/yaml").body(text).send().await.unwrap();
        assert!(answer.status().is_success(), "{name}: {}", answer.text().await.unwrap());
    }

    /// A token of a role and of these tenants.
    async fn token(&self, role: &str, tenants: &[&str]) -> Proof {
        let asked =
            json!({"name": format!("{role}-{}", tenants.join("-")), "role": role, "tenants": tenants});
        let made = self.caller(&self.admin).ask(Method::POST, "/v1/access/tokens", Some(&asked)).await;
        assert_eq!(made.status, 201, "{made:?}");
        Proof::Token(made.body["token"].as_str().unwrap().to_owned())
    }

    async fn get(&self, proof: &Proof, path: &str) -> Answer {
        self.caller(proof).ask(Method::GET, path, None).await
    }

    async fn post(&self, proof: &Proof, path: &str, body: Value) -> Answer {
        self.caller(proof).ask(Method::POST, path, Some(&body)).await
    }

    /// Registers an order as the administrator.
    async fn order(&self, order: Value) {
        let answer = self.post(&self.admin, "/v1/orders", order).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    async fn reach(&self, id: &str, status: &str) {
        until(&format!("{id} is {status}"), PATIENCE, async || {
            self.get(&self.admin, &format!("/v1/orders/{id}/status")).await.body["status"] == status
        })
        .await;
    }

    /// Orders of one prefix in every stand: ended, failed, waiting for an answer, waiting in a queue, waiting for another.
    async fn populate(&self, prefix: &str, secret: &str) {
        let order = |name: &str, kind: &str| json!({"id": format!("{prefix}-{name}"), "scenario": format!("{prefix}-{kind}"), "params": {"secret": secret}, "labels": {"animal": prefix}});
        self.order(order("1", "ends")).await;
        self.order(order("2", "fails")).await;
        self.order(order("3", "waits")).await;
        for number in ["4", "5"] {
            let mut queued = order(number, "waits");
            queued["mode"] = "sequential".into();
            queued["queue"] = format!("{prefix}-queue").into();
            self.order(queued).await;
        }
        let mut after = order("6", "ends");
        after["lifecycle"] = json!({"after": [{"order": format!("{prefix}-3"), "states": ["done"]}]});
        self.order(after).await;
        self.reach(&format!("{prefix}-1"), "success").await;
        self.reach(&format!("{prefix}-2"), "fail").await;
        self.reach(&format!("{prefix}-3"), "wait").await;
        self.reach(&format!("{prefix}-4"), "wait").await;
        let schedule = json!({"name": format!("{prefix}-nightly"), "cron": "0 3 * * *", "zone": "UTC",
            "order": {"scenario": format!("{prefix}-ends"), "params": {"secret": secret}}});
        let made = self.post(&self.admin, "/v1/schedules", schedule).await;
        assert_eq!(made.status, 201, "{made:?}");
        let search = json!({"scenario": format!("{prefix}-ends"), "status": ["success"]});
        let resend = json!({"action": "resend", "search": search, "reason": "r"});
        let made = self.post(&self.admin, "/v1/operations", resend).await;
        assert_eq!(made.status, 201, "{made:?}");
        let path = format!("/v1/operations/{}", made.body["operation"]["no"]);
        until("the operation is done", PATIENCE, async || {
            self.get(&self.admin, &path).await.body["state"] == "done"
        })
        .await;
    }

    /// Every operation of the document that reads, with its scope.
    async fn reading(&self) -> Vec<(String, String)> {
        let document = self.get(&self.admin, "/openapi.json").await.body;
        let paths = document["paths"].as_object().unwrap().iter();
        let reads = paths.filter_map(|(path, methods)| {
            let scope =
                methods.get("get")?["x-scope"].as_str().unwrap_or_else(|| panic!("{path} has no x-scope"));
            Some((path.clone(), scope.to_owned()))
        });
        reads.filter(|(path, _)| path.starts_with("/v1/")).collect()
    }
}

/// The paths of an operation with these values in place of its parameters.
fn filled(path: &str, prefix: &str) -> Vec<String> {
    let with = |id: &str| {
        let parts = path.split('/').map(|part| match (part, path) {
            ("{id}", _) => id.to_owned(),
            ("{flow}", _) => format!("{prefix}-ends"),
            ("{name}", path) if path.starts_with("/v1/queues") => format!("{prefix}-queue"),
            ("{name}", path) if path.starts_with("/v1/schedules") => format!("{prefix}-nightly"),
            ("{name}", path) if path.starts_with("/v1/scenarios") => format!("{prefix}-ends"),
            (part, _) if part.starts_with('{') => "1".to_owned(),
            (part, _) => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join("/")
    };
    let orders = (1..=6).map(|number| format!("{prefix}-{number}"));
    let paths: BTreeSet<String> = orders.map(|id| with(&id)).collect();
    let query = if path == "/v1/callbacks" || path == "/v1/orders/{id}/wait" { "?timeout=0" } else { "" };
    let query = if path == "/v1/callbacks" { "" } else { query };
    paths.into_iter().map(|path| format!("{path}{query}")).collect()
}

#[tokio::test]
async fn ui_1_what_a_tenant_owns_is_there_for_nobody_else() {
    let zoo = Zoo::of("tenants_read", "viewer").await;
    for prefix in ["own", "zebra", "common"] {
        zoo.populate(prefix, &format!("{prefix} secret")).await;
    }
    let ours = zoo.token("viewer", &["ours"]).await;
    let all = zoo.token("viewer", &["*"]).await;
    let mut differences = Vec::new();
    let mut named_by_all = 0;
    for (path, scope) in zoo.reading().await {
        // Those who read what is whole see everything.
        let role = zoo.get(&all, &filled(&path, "own")[0]).await.status;
        for address in filled(&path, "zebra") {
            let answer = zoo.get(&ours, &address).await;
            let holds = match scope.as_str() {
                "whole" => answer.status == 403,
                "named" => answer.status == 404,
                _ => answer.status < 500 && !answer.body.to_string().contains("zebra"),
            };
            if !holds && path != "/v1/session" && !path.starts_with("/v1/session/") {
                differences.push(format!("{address} ({scope}): {} {}", answer.status, answer.body));
            }
        }
        // The first operation is of somebody who sees everything.
        let of_others = path.starts_with("/v1/operations/{no}");
        for address in filled(&path, "own") {
            let (mine, theirs) = (zoo.get(&ours, &address).await, zoo.get(&all, &address).await);
            named_by_all += usize::from(theirs.body.to_string().contains("zebra"));
            if mine.body.to_string().contains("zebra")
                || (scope != "whole" && !of_others && mine.status != theirs.status)
            {
                differences.push(format!("{address} ({scope}): {} and {role}: {}", mine.status, mine.body));
            }
        }
    }
    assert!(differences.is_empty(), "{} differences: {differences:#?}", differences.len());
    assert!(named_by_all >= 8, "those who see everything see it in the lists: {named_by_all}");
    // By whatever they are looked for, and whatever they are counted by.
    for query in [
        "idPrefix=zebra",
        "scenario=zebra-ends",
        "queue=zebra-queue",
        "labels.animal=zebra",
        "status=fail",
        "flow=zebra-ends",
    ] {
        for list in ["/v1/orders", "/v1/counts", "/v1/ledger"] {
            let (mine, whole) = (
                zoo.get(&ours, &format!("{list}?{query}")).await,
                zoo.get(&all, &format!("{list}?{query}")).await,
            );
            let found = |answer: &Answer| {
                answer.body["orders"]
                    .as_i64()
                    .unwrap_or_else(|| answer.body["items"].as_array().map_or(0, Vec::len) as i64)
            };
            let expected = if query == "status=fail" { 2 } else { 0 };
            assert_eq!((mine.status, found(&mine)), (200, expected), "{list}?{query}: {mine:?}");
            assert!(found(&whole) > expected, "{list}?{query}: {whole:?}");
        }
    }
    let figures = zoo.get(&ours, "/v1/stats").await.body;
    let failed = figures["now"]["statuses"].as_array().unwrap().iter().find(|one| one["name"] == "fail");
    assert_eq!(failed.map(|one| &one["count"]), Some(&json!(2)), "{figures}");
}

/// Asserts that the last hour of a flow of others is not played, also not by a name that is counted as theirs.
async fn assert_not_played(zoo: &Zoo, who: &Proof) {
    let recorded = "INSERT INTO stats (minute, what, key, count) SELECT date_trunc('minute', now()) - interval '5 minutes', what, 'zebra-ends', 5
                      FROM unnest('{flows.came,flows.stages}'::text[]) AS what
                    ON CONFLICT (what, minute, key) DO NOTHING";
    zoo.engine.database().await.execute(recorded, &[]).await.unwrap();
    assert_eq!(zoo.post(&zoo.admin, "/v1/flows/zebra-ends/what-if", json!({})).await.status, 200);
    for name in ["zebra-ends", "zebra-ends%01"] {
        let path = format!("/v1/flows/{name}/what-if");
        assert_eq!(zoo.post(who, &path, json!({})).await.status, 404, "{name}");
    }
}

#[tokio::test]
async fn ui_1_what_a_tenant_owns_is_acted_on_by_nobody_else() {
    let zoo = Zoo::of("tenants_act", "viewer").await;
    for prefix in ["own", "zebra"] {
        zoo.populate(prefix, "secret").await;
    }
    let operator = zoo.token("operator", &["ours"]).await;
    let client = zoo.token("client", &["ours"]).await;
    let nobody = zoo.token("client", &[]).await;
    let reason = json!({"reason": "r"});
    for action in ["cancel", "interrupt", "kill", "restart", "resend", "check", "clone", "calls"] {
        let answer = zoo.post(&operator, &format!("/v1/orders/zebra-3/{action}"), reason.clone()).await;
        assert_eq!(
            (answer.status, &answer.body["detail"]),
            (404, &json!("there is no order `zebra-3`")),
            "{action}"
        );
    }
    for path in
        ["/v1/queues/zebra-queue/release", "/v1/schedules/zebra-nightly/run", "/v1/operations/2/abort"]
    {
        assert_eq!(zoo.post(&operator, path, reason.clone()).await.status, 404, "{path}");
    }
    assert_not_played(&zoo, &operator).await;
    // What would touch everybody takes somebody who sees everything.
    for path in [
        "/v1/flows/stop",
        "/v1/systems/x/stop",
        "/v1/nodes/worker/w/offline",
        "/v1/windows",
        "/v1/refused/drop",
    ] {
        assert_eq!(
            zoo.post(&operator, path, json!({"keyword": "own", "reason": "r"})).await.status,
            403,
            "{path}"
        );
    }

    // Registrations: a scenario of another tenant is not there, nor is it named as what was probably meant.
    let order = |id: &str, scenario: &str| json!({"id": id, "scenario": scenario, "params": {"secret": "s"}});
    for (proof, scenario) in
        [(&client, "zebra-ends"), (&client, "zebra-end"), (&nobody, "own-ends"), (&nobody, "own-end")]
    {
        for path in ["/v1/orders", "/v1/orders?dryRun=true"] {
            let answer = zoo.post(proof, path, order("r-1", scenario)).await;
            let detail = format!("there is no scenario `{scenario}`; apply it first");
            assert_eq!((answer.status, &answer.body["detail"]), (422, &json!(detail)), "{path} {scenario}");
        }
    }
    let batch = json!([order("r-2", "own-ends"), order("r-3", "zebra-ends"), order("zebra-2", "own-ends")]);
    let answers = zoo.post(&client, "/v1/orders/batch", batch).await.body;
    let statuses: Vec<&Value> = answers.as_array().unwrap().iter().map(|answer| &answer["status"]).collect();
    assert_eq!(statuses, ["accepted", "rejected", "rejected"], "{answers}");
    let taken = zoo.post(&client, "/v1/orders", order("zebra-2", "own-ends")).await;
    assert!(
        taken.status == 409 && !taken.body.to_string().contains("fail"),
        "its status is not said: {taken:?}"
    );
    let mut queued = order("r-4", "own-ends");
    queued["mode"] = "sequential".into();
    queued["queue"] = "zebra-queue".into();
    let answer = zoo.post(&client, "/v1/orders", queued).await;
    assert_eq!((answer.status, &answer.body["pointer"]), (403, &json!("/queue")), "{answer:?}");
    assert_eq!(zoo.get(&client, "/v1/orders/own-1").await.status, 200);
    assert_eq!(zoo.get(&client, "/v1/orders/zebra-1").await.status, 404);
    let clone = json!({"scenario": "zebra-ends", "id": "r-5"});
    assert_eq!(zoo.post(&operator, "/v1/orders/own-1/clone", clone).await.status, 422);
}

#[tokio::test]
async fn ui_1_schedules_and_operations_touch_what_their_maker_sees() {
    let zoo = Zoo::of("tenants_bulk", "viewer").await;
    for prefix in ["own", "zebra"] {
        zoo.populate(prefix, "secret").await;
    }
    let operator = zoo.token("operator", &["ours"]).await;
    let schedule = json!({"name": "s", "cron": "0 3 * * *", "order": {"scenario": "zebra-ends"}});
    assert_eq!(zoo.post(&operator, "/v1/schedules", schedule).await.status, 422);
    let kill = json!({"action": "kill", "search": {"status": ["wait"]}, "reason": "r"});
    let mut dry = kill.clone();
    dry["dryRun"] = true.into();
    let would_be = zoo.post(&operator, "/v1/operations", dry).await;
    assert_eq!(would_be.body["orders"], 2, "{would_be:?}");
    let made = zoo.post(&operator, "/v1/operations", kill).await;
    let no = made.body["operation"]["no"].as_i64().unwrap();
    until("the operation is done", PATIENCE, async || {
        zoo.get(&operator, &format!("/v1/operations/{no}")).await.body["state"] == "done"
    })
    .await;
    assert_eq!(zoo.get(&operator, &format!("/v1/operations/{no}")).await.body["done"], 2);
    assert_eq!(zoo.get(&zoo.admin, "/v1/orders/zebra-3/status").await.body["status"], "wait");
    let listed = zoo.get(&operator, "/v1/operations").await.body;
    let listed: Vec<i64> =
        listed["items"].as_array().unwrap().iter().filter_map(|one| one["no"].as_i64()).collect();
    assert_eq!(listed, [no], "those of others, and of those who see everything, are not theirs");
}

#[tokio::test]
async fn ui_1_a_token_names_tenants_that_there_are() {
    let zoo = Zoo::of("tenants_tokens", "viewer").await;
    let asked = json!({"name": "t", "role": "viewer", "tenants": ["ours", "our"]});
    let refused = zoo.post(&zoo.admin, "/v1/access/tokens", asked).await;
    assert_eq!((refused.status, &refused.body["pointer"]), (422, &json!("/tenants/1")), "{refused:?}");
    assert!(refused.body["detail"].to_string().contains("there are: ours, theirs"), "{refused:?}");
    let who = zoo.get(&zoo.token("viewer", &["ours"]).await, "/v1/session").await.body;
    assert_eq!((&who["tenants"], &who["payloadsHidden"]), (&json!(["ours"]), &Value::Null), "{who}");
    let who = zoo.get(&zoo.token("viewer", &["ours", "theirs"]).await, "/v1/session").await.body;
    assert_eq!(who["tenants"], Value::Null, "a member of all tenants sees everything: {who}");
    let listed = zoo.get(&zoo.admin, "/v1/access/tokens").await.body;
    assert!(listed.to_string().contains(r#""tenants":["ours"]"#), "{listed}");
}
