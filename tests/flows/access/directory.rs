//! People of a directory, from their login to the end of their session.

use pagurus_harness::certificates::{NOW, TestIssuer};
use pagurus_harness::nodes::Role;
use pagurus_harness::of_test::{OfTest, Server as _};
use pagurus_harness::ports::{Owner, Ports};
use pagurus_harness::slapd::{self, Slapd};
use reqwest::Method;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::{Caller, guarded, log_in, root, token};
use crate::encrypted::Folder;
use crate::installation::{PATIENCE, until};

const PASSWORD: &str = "right";
const SUFFIX: &str = "dc=corp,dc=example";

/// People and their groups: `anna` operates, `ben` has a group that gives nothing.
fn entries() -> String {
    let person = |uid: &str| {
        format!(
            "dn: uid={uid},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: X\nuserPassword: {PASSWORD}\n\n"
        )
    };
    let group = |name: &str, member: &str| {
        format!(
            "dn: cn={name},{SUFFIX}\nobjectClass: groupOfNames\ncn: {name}\nmember: uid={member},{SUFFIX}\n\n"
        )
    };
    [
        format!("dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\no: corp\ndc: corp\n\n"),
        format!(
            "dn: cn=search,{SUFFIX}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: search\n\
             userPassword: {PASSWORD}\n\n"
        ),
        person("anna"),
        person("ben"),
        group("ops", "anna"),
        group("guests", "ben"),
    ]
    .concat()
}

#[tokio::test]
async fn ui_1_a_group_gives_a_role_and_a_role_that_is_taken_ends_the_session() {
    let folder = Folder::new("directory");
    let issuer = TestIssuer::new("the directory's").unwrap();
    let ports = Ports::reserve(slapd::PORTS, &Owner::this_process().unwrap()).unwrap();
    let shown = issuer.issue("localhost", NOW).unwrap();
    let server =
        OfTest(Slapd::start(&folder.path().join("slapd"), ports.first(), &shown, false).await.unwrap());
    server.add(&entries()).unwrap();
    let (url, issuers) =
        (format!("ldaps://localhost:{}", server.tls_port()), folder.file("ca.pem", &issuer.pem));
    let (search, operators) = (format!("cn=search,{SUFFIX}"), format!("['CN=ops, {SUFFIX}']"));
    let settings = [
        ("PAGURUS__ACCESS__MODE", "ldap"),
        ("PAGURUS__ACCESS__LDAP__URL", &url),
        ("PAGURUS__ACCESS__LDAP__ISSUERS", issuers.to_str().unwrap()),
        ("PAGURUS__ACCESS__LDAP__BIND_NAME", &search),
        ("PAGURUS__ACCESS__LDAP__BIND_PASSWORD", PASSWORD),
        ("PAGURUS__ACCESS__LDAP__PEOPLE__BASE", SUFFIX),
        ("PAGURUS__ACCESS__LDAP__PEOPLE__FILTER", "(uid={name})"),
        ("PAGURUS__ACCESS__LDAP__PEOPLE__NAME_ATTRIBUTE", "cn"),
        ("PAGURUS__ACCESS__LDAP__GROUPS__BASE", SUFFIX),
        ("PAGURUS__ACCESS__LDAP__GROUPS__FILTER", "(member={dn})"),
        ("PAGURUS__ACCESS__LDAP__TIMEOUT", "5s"),
        ("PAGURUS__ACCESS__GROUPS__OPERATOR", &operators),
        ("PAGURUS__ACCESS__SESSION__RECHECK", "1s"),
    ];
    let engine = guarded("access_ldap", &[Role::Intake], &settings).await;
    let (answer, anna) = log_in(&engine, "anna", PASSWORD).await;
    assert_eq!(
        (answer.status, &answer.body["role"], &answer.body["method"]),
        (200, &json!("operator"), &json!("ldap"))
    );
    assert_eq!(log_in(&engine, "anna", "wrong").await.0.status, 401);
    let (ben, _) = log_in(&engine, "ben", PASSWORD).await;
    assert!(ben.status == 403 && ben.body["detail"].to_string().contains("cn=guests"), "{ben:?}");
    let anna = Caller::of(&engine, anna);
    let stop = json!({"flow": "billing", "reason": "r"});
    let stopped = anna.ask(Method::POST, "/v1/flows/stop", Some(&stop)).await;
    assert!(![401, 403].contains(&stopped.status), "{stopped:?}");
    let admin = Caller::of(&engine, root(&engine).await);
    let explained = admin.ask(Method::GET, "/v1/access/explain?name=ben", None).await.success().unwrap();
    assert!(
        explained["role"].is_null() && explained["groups"][0].to_string().contains("guests"),
        "{explained}"
    );
    let explained = admin.ask(Method::GET, "/v1/access/explain?name=nobody", None).await.success().unwrap();
    assert_eq!(explained["groups"], json!([]), "{explained}");
    let reads = async || anna.status(Method::GET, "/v1/orders", None).await;
    assert_eq!(reads().await, 200);
    let away =
        format!("dn: cn=ops,{SUFFIX}\nchangetype: modify\nreplace: member\nmember: uid=ben,{SUFFIX}\n\n");
    server.add(&away).unwrap();
    until("the session of somebody without a role ends", PATIENCE, async || reads().await == 401).await;
    // Now ben has the role; a directory that is away sends him nowhere, and lets nobody in.
    let (answer, ben) = log_in(&engine, "ben", PASSWORD).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    server.kill_now();
    let refused = async || log_in(&engine, "anna", PASSWORD).await.0.status;
    until("the directory is missed", PATIENCE, async || refused().await == 503).await;
    assert_eq!(Caller::of(&engine, ben).status(Method::GET, "/v1/orders", None).await, 200);
    assert_eq!(admin.status(Method::GET, "/v1/orders", None).await, 200);
}

#[tokio::test]
async fn qlt_15_a_directory_that_hangs_costs_those_who_are_logged_in_nothing_and_gives_nobody_a_right() {
    const LOOKS: usize = 300;
    // Fewer than an address may fail at once: with one more, such as one that was sent again, the last would be refused.
    const LOGINS: usize = 16;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ldaps://localhost:{}", silent.local_addr().unwrap().port());
    let settings = [
        ("PAGURUS__ACCESS__MODE", "ldap"),
        ("PAGURUS__ACCESS__LDAP__URL", &*url),
        ("PAGURUS__ACCESS__LDAP__BIND_TEMPLATE", "uid={name},dc=corp,dc=example"),
        ("PAGURUS__ACCESS__LDAP__GROUPS__ATTRIBUTE", "memberOf"),
        ("PAGURUS__ACCESS__LDAP__TIMEOUT", "2s"),
        ("PAGURUS__ACCESS__GROUPS__ADMIN", "['*']"),
    ];
    let engine = guarded("access_hangs", &[Role::Intake], &settings).await;
    let admin = root(&engine).await;
    let (_, program) = token(&engine, &admin, "shop", "client").await;
    let (person, program) = (Caller::of(&engine, admin), Caller::of(&engine, program));
    let p99 = async || {
        let mut times = Vec::new();
        for _ in 0..LOOKS {
            let begun = std::time::Instant::now();
            assert_eq!(person.status(Method::GET, "/v1/orders?limit=1", None).await, 200);
            assert_eq!(program.status(Method::GET, "/v1/orders/none", None).await, 404);
            times.push(begun.elapsed());
        }
        times.sort_unstable();
        times[LOOKS * 99 / 100]
    };
    let before = p99().await;
    let mut logins = JoinSet::new();
    for no in 0..LOGINS {
        let (http, url) = (engine.env().http().clone(), format!("{}/v1/session", engine.base()));
        let login = json!({"name": format!("n{no}"), "password": PASSWORD});
        logins.spawn(async move { http.post(url).json(&login).send().await.unwrap() });
    }
    // The logins are under way.
    let held = silent.accept().await.unwrap();
    let beside = p99().await;
    while let Some(answer) = logins.join_next().await {
        let answer = answer.unwrap();
        let (status, cookie) = (answer.status(), answer.headers().get("set-cookie").cloned());
        let problem = answer.text().await.unwrap();
        assert_eq!((status.as_u16(), cookie), (503, None), "{problem}");
    }
    drop(held);
    println!("p99 {before:?}, beside {LOGINS} logins that hang {beside:?}");
    assert!(beside < before * 5 + std::time::Duration::from_millis(50), "{before:?}, then {beside:?}");
    let sessions = person.ask(Method::GET, "/v1/access/sessions", None).await.success().unwrap();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "that of the administrator: {sessions}");
}
