//! Targets that notifications and receipts may have, as the configuration says.

use super::*;

#[test]
fn amqp_5_names_follow_the_prefix() {
    let settings = with("broker: {prefix: blue}", &[]).unwrap();
    let target = |url: &str| pagurus_domain::order::notification::Target::parse(url).unwrap();
    let permits = |list: &AllowList, url: &str| list.permits(&target(url)).is_ok();
    assert!(permits(&settings.notify.allow, "amqp://?key=done"));
    assert!(permits(&settings.notify.allow, "amqp://?exchange=blue.notifications&key=done"));
    assert!(!permits(&settings.notify.allow, "amqp://?exchange=pagurus.notifications&key=done"));
    assert!(permits(&settings.reply, "amqp://?queue=blue.reply.shop"));
    assert!(!permits(&settings.reply, "amqp://?queue=elsewhere"));
    let own =
        with("notify: {exchange: shop, allow: [{exchange: shop, key: 'order.*'}, {queue: 'inbox.*'}]}", &[])
            .unwrap();
    assert!(permits(&own.notify.allow, "amqp://?key=order.done"));
    assert!(permits(&own.notify.allow, "amqp://?queue=inbox.a"));
    assert!(!permits(&own.notify.allow, "amqp://?key=other"));
}

#[test]
fn amqp_5_a_pattern_may_name_the_virtual_host_of_the_engine_and_no_other() {
    let with_host = |list: &str, vhost: &str| {
        let text = format!(
            "broker: {{url: 'amqp://127.0.0.1/orders'}}\n{list}: {{allow: [{{vhost: {vhost}, queue: 'inbox.*'}}]}}"
        );
        with(&text, &[])
    };
    let target = pagurus_domain::order::notification::Target::parse("amqp://?queue=inbox.a").unwrap();
    for vhost in ["orders", "'ord*'", "'*'"] {
        assert!(with_host("notify", vhost).unwrap().notify.allow.permits(&target).is_ok(), "{vhost}");
        assert!(with_host("reply", vhost).unwrap().reply.permits(&target).is_ok(), "{vhost}");
    }
    let fault = with_host("notify", "/").unwrap_err()[0].to_string();
    assert!(fault.contains("`orders`, the virtual host of `broker.url`"), "{fault}");
}

#[test]
fn ord_18_a_webhook_is_allowed_by_its_url_with_a_secret() {
    let list =
        "notify: {allow: [{url: 'https://hooks.example/orders/*', secret: hooks}, {queue: 'inbox.*'}]}";
    let settings = with(list, &[]).unwrap();
    let target = |url: &str| pagurus_domain::order::notification::Target::parse(url).unwrap();
    let permits = |url: &str| settings.notify.allow.permits(&target(url)).is_ok();
    assert!(permits("https://hooks.example/orders/1") && permits("amqp://?queue=inbox.a"));
    assert!(!permits("https://hooks.example/") && !permits("https://other.example/orders/1"));
    let fault = |entry: &str| with(&format!("notify: {{allow: [{entry}]}}"), &[]).unwrap_err()[0].to_string();
    for (entry, says) in [
        ("{url: 'https://hooks.example/*'}", "`url` and `secret`"),
        ("{secret: hooks}", "`url` and `secret`"),
        ("{url: 'https://hooks.example/*', secret: hooks, queue: a}", "`url` and `secret`"),
        ("{vhost: /, url: 'https://hooks.example/*', secret: hooks}", "`url` and `secret`"),
        ("{url: 'https://*', secret: hooks}", "would let an order choose any host"),
        ("{url: 'hooks.example', secret: hooks}", "does not begin with"),
        ("{url: 'https://hooks.example', secret: ../token}", "is not a name of a secret"),
    ] {
        assert!(fault(entry).contains(says), "{entry}: {}", fault(entry));
    }
    let reply = with("reply: {allow: [{url: 'https://hooks.example/*', secret: hooks}]}", &[]).unwrap_err();
    assert!(reply[0].to_string().starts_with("1:"), "receipts go to the broker: {}", reply[0]);
}
