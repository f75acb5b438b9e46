//! Every path of the document with methods that it does not offer. A path that is added there is asked from then on.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::data::files;
use super::socket::{Reply, Sent, ask};
use super::watch::Watch;

/// Methods, and the answer where a path does not offer one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    methods: Vec<String>,
    status: u16,
    kind: String,
}

/// Asks, with the order of a neighbour behind each path. Returns the number of requests.
pub(super) async fn run(watch: &mut Watch<'_>, address: &str) -> usize {
    let document: Value =
        serde_json::from_str(include_str!("../../../docs/openapi.json")).expect("a document");
    let paths = document["paths"].as_object().expect("paths");
    // Words of one path fill the place of another's parameter.
    let offered = |asked: &str| -> BTreeSet<String> {
        let fits = |path: &str| {
            let (path, asked): (Vec<&str>, Vec<&str>) =
                (path.split('/').collect(), asked.split('/').collect());
            let same = |(path, asked): (&&str, &&str)| path == asked || path.starts_with('{');
            path.len() == asked.len() && path.iter().zip(&asked).all(same)
        };
        let all = paths.iter().filter(|(path, _)| fits(path));
        all.flat_map(|(_, methods)| methods.as_object().expect("methods").keys())
            .map(|method| method.to_uppercase())
            .collect()
    };
    let mut count = 0;
    for (_, file) in files::<File>("routes") {
        for path in paths.keys() {
            let filled: Vec<&str> =
                path.split('/').map(|part| if part.starts_with('{') { "1" } else { part }).collect();
            let filled = filled.join("/");
            let offered = offered(&filled);
            for method in file.methods.iter().filter(|method| !offered.contains(*method)) {
                let head =
                    format!("{method} {filled} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
                let reply = ask(address, &Sent { bytes: head.into_bytes(), ..Sent::default() }).await;
                let is = matches!(&reply, Reply::Answer { status, .. } if *status == file.status);
                let kind = reply.json()["type"] == format!("urn:pagurus:problem:{}", file.kind);
                if !is || !kind {
                    watch.wrong.push(format!("{method} {filled}: {}", reply.shown()));
                }
                count += 1;
            }
            watch.canary(path).await;
        }
    }
    println!("routes: {count} inputs");
    count
}
