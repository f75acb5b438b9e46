//! Programs that are known by a token: a wrong one is refused, and the right one is taken.

use pagurus_client::{Client, Order};
use pagurus_harness::nodes::Role;
use tokio::process::Command;

use super::python::python;
use super::run;
use super::rust::kind;
use crate::access::{client_token, guarded};

const PYTHON: &str = "import os, pagurus
order = {'id': 'a', 'scenario': 'nothing'}
for token, kind in (None, pagurus.Unauthenticated), ('wrong', pagurus.Unauthenticated), (os.environ['TOKEN'], pagurus.UnknownScenario):
    try:
        pagurus.Client(os.environ['PAGURUS_SERVER'], token=token).register(order)
        raise SystemExit('registered')
    except kind:
        pass
";

#[tokio::test]
async fn ord_3_ui_1_the_packages_are_known_by_their_tokens() {
    let engine = guarded("client_tokens", &[Role::Intake], &[]).await;
    let token = client_token(&engine).await;
    for (token, expected) in
        [(None, "unauthenticated"), (Some("wrong"), "unauthenticated"), (Some(&*token), "unknown-scenario")]
    {
        let client = Client::new(engine.base()).unwrap();
        let client = token.map_or(client.clone(), |token| client.with_token(token));
        let refused = client.register(&Order::new("a", "nothing")).await.unwrap_err();
        assert_eq!(kind(&refused), expected, "{refused}");
    }
    let mut command = Command::new(python().await);
    command.args(["-c", PYTHON]).env("PAGURUS_SERVER", engine.base()).env("TOKEN", &token);
    run(&mut command).await;
}
