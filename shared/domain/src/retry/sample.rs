//! Rules for failures of random trials: every kind of failure that a small world makes has a class, and a policy of its own.
//! Random trials of orders take these, with times that suit their clock.

/// Times of the rules, as they are written in YAML.
#[derive(Clone, Copy, Debug)]
pub struct SampleTimes {
    /// Longest cycle of retries.
    pub longest: &'static str,
    /// A system that is busy: the first interval, the longest, and the share by which chance shortens it.
    pub busy: (&'static str, &'static str, f64),
    /// A system that is away.
    pub down: &'static str,
    /// An answer that refuses.
    pub refused: &'static str,
    /// An answer that does not come: the interval, and how often it is asked for again.
    pub late: (&'static str, u32),
}

/// The rules.
#[must_use]
pub fn sample_rules(times: &SampleTimes) -> String {
    let SampleTimes { longest, busy: (initial, most, jitter), down, refused, late: (late, attempts) } = times;
    format!(
        r#"
sync:
  classification:
    rules:
      any:
        requests: [{{path: "/**"}}]
        classes:
          busy: {{responses: [{{status_codes: [503]}}, {{soap_fault_keywords: [[busy]]}}]}}
          down: {{exceptions: [{{name_keyword: ConnectError}}]}}
          slow: {{exceptions: [{{name_keyword: TimedOut}}]}}
  retry:
    max_cycle_duration: {longest}
    policies:
      busy:
        error_classes: [busy]
        parameters: {{initial_interval: {initial}, multiplier: 2, max_interval: {most}, jitter: {jitter}, max_attempts: 3}}
      down:
        error_classes: [down, slow]
        parameters: {{initial_interval: {down}, multiplier: 1, max_interval: {down}, jitter: 0, max_attempts: 2}}
async:
  classification:
    rules:
      any:
        requests: {{http: [{{path: "/**"}}], amqp: [{{path: "%2F?exchange=*&key=*"}}]}}
        classes:
          refused: {{responses: [{{step_status_keywords: [refused]}}, {{soap_fault_keywords: [[refused]]}}]}}
          odd: {{responses: [{{step_status_keywords: [odd]}}]}}
  retry:
    max_cycle_duration: {longest}
    policies:
      refused:
        error_classes: [refused]
        parameters: {{initial_interval: {refused}, multiplier: 1, max_interval: {refused}, jitter: 0, max_attempts: 2}}
      late:
        error_classes: [async.timeout, polling.timeout]
        parameters: {{initial_interval: {late}, multiplier: 1, max_interval: {late}, jitter: 0, max_attempts: {attempts}}}
"#
    )
}
