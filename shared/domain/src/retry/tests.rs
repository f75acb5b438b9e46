//! Rules, policies and cycles as tables: configurations and failures in, classes and times out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod callbacks;
mod cycles;
mod explain;
mod faults;
mod layers;
mod masks;
mod rules;

use jiff::Timestamp;

use super::*;
use crate::document::{DocumentLimits, parse};

/// The example of the specification.
const EXAMPLE: &str = r#"
sync:
  mode: retry
  classification:
    rules:
      any.errors.rule:
        requests: [{path: "/**"}]
        classes:
          all.unavailable:
            responses: [{status_codes: [502, 503]}]
          all.connection:
            exceptions:
              - name_keyword: ConnectError
                message_keywords: [["Connection refused"], ["Connection failed"]]
      shop.rule:
        requests: [{path: "/ps/v1/shop/**"}, {path: "/ps/v1/cart/**"}]
        classes:
          shop.unavailable: {responses: [{status_codes: [500, 502, 503]}]}
      shop.items.rule:
        requests: [{path: "/ps/v1/shop/tasks/*/items/*/state/*"}]
        classes:
          shop.others:
            responses:
              - status_codes: [500]
                body_keywords: [["Service unavailable", "SSO"], ["Connection reset"]]
          shop.unavailable: {responses: [{status_codes: [500, 502, 503]}]}
  retry:
    max_cycle_duration: 1d
    policies:
      shop:
        error_classes: [shop.unavailable, all.connection]
        scenarios: [{name: change-tariff}, {name: "order-*"}]
        parameters: {initial_interval: 5s, multiplier: 2, max_interval: 10m, jitter: 0.2, max_attempts: 20, max_duration: 6h}
"#;

fn read(text: &str) -> Result<ErrorPolicy, Vec<Fault>> {
    ErrorPolicy::read(&parse(text, &DocumentLimits::default()).unwrap())
}

fn example() -> ErrorPolicy {
    read(EXAMPLE).unwrap()
}

fn faults(text: &str) -> Vec<String> {
    read(text).unwrap_err().iter().map(ToString::to_string).collect()
}
