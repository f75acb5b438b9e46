//! Receivers of the audit log, and how long it is kept.

use super::*;

#[test]
fn qlt_15_what_cannot_be_a_receiver_of_the_audit_log_is_refused_before_a_start() {
    let both = "audit: {export: {syslog: 'tcp://h:601', exchange: security}}";
    for (text, fault) in [
        ("audit: {retention: 29d}", "30 days at least"),
        ("audit: {export: {syslog: 'h:601'}}", "must be `tcp://HOST:PORT`"),
        ("audit: {export: {syslog: 'tls://h:1?certfile=/c'}}", "where both are needed"),
        ("audit: {export: {exchange: amq.topic}}", "belongs to the engine or the broker"),
        ("audit: {export: {exchange: pagurus.orders}}", "belongs to the engine or the broker"),
        (both, "there is one receiver"),
    ] {
        let found = faults(text);
        assert!(found.len() == 1 && found[0].contains(fault), "{text}: {found:?}");
    }
}

#[test]
fn qlt_15_the_receiver_of_the_audit_log_is_the_one_that_is_set() {
    let receiver = |text: &str| with(text, &[]).unwrap().records.audit_receiver();
    assert_eq!(receiver("audit: {retention: 30d}"), None);
    assert_eq!(
        receiver("audit: {export: {exchange: security}}"),
        Some(AuditReceiver::Exchange { exchange: "security".into(), key: "audit".into() })
    );
    assert!(matches!(receiver("audit: {export: {syslog: 'udp://h:514'}}"), Some(AuditReceiver::Syslog(_))));
}
