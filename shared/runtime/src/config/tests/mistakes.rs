//! Sixty mistakes that people make, each of which `config check` finds before a start, with a word that leads to it.

use pagurus_domain::id::Role;

/// A file with one mistake, and words of the fault.
const MISTAKES: [(&str, &str); 60] = [
    ("worker: {concurency: 8}", "did you mean `concurrency`?"),
    ("databse: {url: 'postgres://h/d'}", "did you mean `database`?"),
    ("worker:\n\tconcurrency: 8", "tab"),
    ("worker: {concurrency: 8", "unclosed bracket"),
    ("worker: {concurrency: eight}", "expected a whole number"),
    ("worker: {concurrency: 0}", "0 is not between 1"),
    ("worker: {concurrency: -1}", "-1 is not between"),
    ("worker: {http: {timeout: 30}}", "is not a duration"),
    ("worker: {http: {timeout: 0s}}", "longer than 0"),
    ("worker: {http: {max_response_bytes: 1MB}}", "is not a number of bytes"),
    ("worker: {http: {allow: billing.example}}", "expected a list"),
    ("worker: {http: {allow: ['http://billing.example']}}", "allow"),
    ("worker: {http: {deny: [10.0.0.0/40]}}", "deny"),
    ("worker: {http: {issuers: /no/such.pem}}", "no certificate can be read"),
    ("node: {listen: 8080}", "is not an IP address with a port"),
    ("node: {listen: 'localhost:8080'}", "is not an IP address with a port"),
    ("node: {listen: '0.0.0.0:8080'}", "open to everybody"),
    ("node: {listen: '203.0.113.9:0'}\nintake: {public_confirmed: true}", "not an address of this host"),
    ("node: {lost_after: 5s}", "three times `node.heartbeat`"),
    ("node: {heartbeat: 10s}", "three times `node.heartbeat`"),
    ("node: {certificate: /c.pem}", "`node.key` belong together"),
    ("node: {certificate: /no.pem, key: /no.key}", "no certificate can be read"),
    ("node: {advertise: 'ftp://node'}", "must be `HOST:PORT`"),
    ("database: {url: 'mysql://h/d'}", "must begin with `postgres://`"),
    ("database: {url: 'postgres:///d'}", "names no host"),
    ("database: {url: 'postgres://h/d?sslmode=verify'}", "sslmode"),
    ("database: {url: 'postgres://h/d?sslmode=verify-full&sslrootcert=/no'}", "no certificate can be read"),
    ("database: {work_connections: 0}", "0 is not between 1 and 1000"),
    ("database: {migrate: perhaps}", "expected `true` or `false`"),
    ("broker: {url: 'http://rabbit'}", "must begin with"),
    ("broker: {url: 'amqps://h?cacertfile=/no'}", "no certificate can be read"),
    ("broker: {url: 'amqps://h?certfile=/c.pem'}", "both are needed"),
    ("broker: {prefix: amq.shop}", "belongs to the broker"),
    ("log: {format: xml}", "is not one of `text`, `json`"),
    ("log: {level: verbose}", "is not a level"),
    ("telemetry: {otlp: {endpoint: 'collector:4317'}}", "must begin with `http://`"),
    ("intake: {public_url: shop.example}", "must begin with `http://`"),
    ("intake: {hosts: ['https://shop.example']}", "is not the name of a host"),
    ("intake: {max_batch_body_bytes: 1KiB}", "must not be less than `intake.max_body_bytes`"),
    ("intake: {listen_systems: 9000}", "is not an IP address with a port"),
    ("intake: {limits: {requests_per_second: 1.5}}", "expected a whole number"),
    ("distribution: {mode: limited_flow}", "did you mean `limited_flows`?"),
    ("notify: {allow: [{exchnge: x}]}", "did you mean `exchange`?"),
    ("notify: {retry: {max: 1ms}}", "must not be less than `notify.retry.initial`"),
    ("secrets: {for: {token: ['http://x']}}", "token"),
    ("config: [a, b]", "expected a mapping"),
    ("audit: {retention: 7d}", "30 days at least"),
    ("audit: {export: {syslog: 'log.example:6514'}}", "must be `tcp://HOST:PORT`"),
    ("access: {mode: oauth}", "is not one of `public`, `token`, `ldap`, `oidc`"),
    ("access: {mode: ldap}", "`access.ldap.url`"),
    ("access: {mode: oidc}", "`access.oidc.issuer`"),
    ("access: {groups: {operators: [a]}}", "did you mean `operator`?"),
    ("access: {groups: {admin: admins}}", "expected a list of texts"),
    ("access: {local: {name: root}}", "needs both"),
    ("access: {local: {name: root, password_hash: secret}}", "`$argon2id$`"),
    ("access: {session: {idle: 2d}}", "must not be more than `access.session.longest`"),
    (
        "access: {ldap: {url: 'ldap://ldap.example', start_tls: false, bind_template: 'uid={name},dc=x'}}",
        "without encryption",
    ),
    ("access: {ldap: {url: 'ldaps://ldap.example', bind_template: 'uid=anna,dc=x'}}", "{name}"),
    ("access: {oidc: {issuer: 'http://id.example', client_id: p}}", "https"),
    ("failover: {batch: 0}", "0 is not between 1"),
];

#[tokio::test]
async fn qlt_9_sixty_mistakes_are_found_before_a_start() {
    let host = crate::start::HostFacts { variable: |_| None };
    let mut missed = Vec::new();
    for (text, words) in MISTAKES {
        let faults = crate::start::check(text, std::iter::empty(), Role::ALL, Some(host));
        let said = faults.iter().map(|fault| format!("{} {fault}", fault.pointer));
        let said: Vec<String> = said.collect();
        if !said.iter().any(|one| one.contains(words)) {
            missed.push(format!("{text:?} ({words}): {said:?}"));
        }
    }
    assert!(missed.is_empty(), "{} are missed: {missed:#?}", missed.len());
    let fine = crate::start::check("", std::iter::empty(), Role::ALL, Some(host));
    assert!(fine.is_empty(), "{fine:?}");
}
