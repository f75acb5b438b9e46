//! The audit log beyond its list: verified from outside, on its way to receivers, and with what was before and after.

mod changes;
pub(crate) mod receivers;

use pagurus_harness::nodes::{Node, Role};
use serde_json::{Value, json};

use crate::err::pagurus;
use crate::installation::{Installation, PATIENCE, until};

/// Roles that these tests need: no order runs.
const ROLES: [Role; 3] = [Role::Intake, Role::Dispatcher, Role::Activator];

/// Stops a flow by hand: an entry of the log.
pub(crate) async fn stop(engine: &Installation, keyword: &str) {
    let body = json!({"keyword": keyword, "reason": "works"});
    engine.post("/v1/flows/stop", &body).await.unwrap().success().unwrap();
}

/// Waits until the chain has this number of links, and nothing waits for one.
async fn sealed(engine: &Installation, links: i64) {
    until("it is sealed", PATIENCE, async || {
        let page = engine.get("/v1/audit/verify?limit=1").await.unwrap().success().unwrap();
        page["head"]["position"] == links && page["unsealed"] == 0
    })
    .await;
}

/// Runs the command `audit verify`; its exit code and its answer.
async fn verify(engine: &Installation, more: &[&str]) -> (Option<i32>, Value) {
    let mut all = vec!["--server", engine.base(), "--json", "audit", "verify"];
    all.extend(more);
    let output = pagurus(&all).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code(), answer)
}

/// The last head that an activator has logged, once it is that of this position.
async fn logged_head(node: &Node, position: i64) -> String {
    let found = || {
        let log = std::fs::read_to_string(&node.spec.log).unwrap();
        let line = log.lines().rfind(|line| line.contains("head of the audit log"))?.to_owned();
        let (_, rest) = line.split_once(&format!("head=\"{position}:"))?;
        let hash: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
        (hash.len() == 64).then(|| format!("{position}:{hash}"))
    };
    until("the head is logged", PATIENCE, async || found().is_some()).await;
    found().unwrap()
}

#[tokio::test]
async fn qlt_15_the_log_holds_over_a_restart_and_a_change_in_the_database_is_found_by_the_command_line() {
    let mut engine = Installation::only("audit_verify", &ROLES, &[]).await;
    for keyword in ["a", "b", "c"] {
        stop(&engine, keyword).await;
    }
    sealed(&engine, 3).await;
    engine.node(Role::Activator).kill().await.unwrap();
    engine.restart(Role::Activator).await;
    let head = logged_head(engine.node(Role::Activator), 3).await;
    stop(&engine, "d").await;
    sealed(&engine, 4).await;
    let (code, answer) = verify(&engine, &["--head", &head]).await;
    assert_eq!((code, &answer["holds"], &answer["entries"]), (Some(0), &json!(true), &json!(4)), "{answer}");
    assert!(answer["head"].as_str().unwrap().starts_with("4:"), "{answer}");

    let database = engine.database().await;
    let tamper = "ALTER TABLE audit DISABLE TRIGGER USER; ALTER TABLE audit_chain DISABLE TRIGGER USER;
        UPDATE audit SET reason = 'rain' WHERE subject = 'b'";
    database.batch_execute(tamper).await.unwrap();
    let (code, answer) = verify(&engine, &[]).await;
    let no: i64 = database.query_one("SELECT no FROM audit WHERE subject = 'b'", &[]).await.unwrap().get(0);
    let fault = answer["fault"].as_str().unwrap();
    assert!(code == Some(1) && fault.starts_with(&format!("entry {no}, at position 2")), "{answer}");

    // A chain whose end is cut off, entries and links alike, holds by itself: only a head from elsewhere shows it.
    let cut = "UPDATE audit SET reason = 'works' WHERE subject = 'b';
        DELETE FROM audit WHERE subject IN ('c', 'd'); DELETE FROM audit_chain WHERE position > 2";
    database.batch_execute(cut).await.unwrap();
    let (code, answer) = verify(&engine, &[]).await;
    assert_eq!((code, &answer["entries"]), (Some(0), &json!(2)), "{answer}");
    let (code, answer) = verify(&engine, &["--head", &head]).await;
    assert!(code == Some(1) && answer["fault"].as_str().unwrap().contains("cut off"), "{answer}");
}

#[tokio::test]
async fn ord_24_entries_are_exported_as_lines_by_the_conditions_of_the_list() {
    let engine = Installation::only("audit_export", &ROLES, &[]).await;
    for keyword in ["a", "b", "a"] {
        stop(&engine, keyword).await;
    }
    engine
        .post("/v1/flows/resume", &json!({"keyword": "b", "reason": "done"}))
        .await
        .unwrap()
        .success()
        .unwrap();
    sealed(&engine, 4).await;
    let lines = async |query: &str| {
        let url = format!("{}/v1/audit/export{query}", engine.base());
        let answer = engine.env().http().get(url).send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
        let next = answer.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
        let text = answer.text().await.unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let positions: Vec<i64> = lines.iter().map(|line| line["position"].as_i64().unwrap()).collect();
        (positions, next)
    };
    assert_eq!(lines("").await, (vec![1, 2, 3, 4], None));
    assert_eq!(lines("?subject=a").await, (vec![1, 3], None));
    assert_eq!(lines("?action=resume&since=1h").await, (vec![4], None));
    assert_eq!(lines("?until=1h").await, (vec![], None));
    let (first, next) = lines("?action=stop&limit=2").await;
    assert_eq!((first, next.as_deref()), (vec![1, 2], Some("<?action=stop&limit=2&cursor=2>; rel=\"next\"")));
    assert_eq!(lines("?action=stop&limit=2&cursor=2").await, (vec![3], None));
    let output = pagurus(&["--server", engine.base(), "audit", "export", "--kind", "flow"]).await;
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
}
