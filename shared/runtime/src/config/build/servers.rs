//! Addresses of servers and the level of the log, as far as a process can never start with them, or would say nothing.
//!
//! Addresses are not shown: they may hold a password.

use pagurus_domain::document::nearest;

use super::Settings;
use crate::config::builder::SettingsBuilder;
use crate::config::{NO_COLLECTOR, is_collector};

/// The levels of the log.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl SettingsBuilder {
    /// Reports addresses that lead nowhere, whatever runs there.
    pub(super) fn check_servers(&mut self, settings: &Settings) {
        if let Some(fault) = of_database(&settings.database.url) {
            self.values.fault("database.url", fault);
        }
        if let Some(fault) = of_broker(&settings.broker.url) {
            self.values.fault("broker.url", fault);
        }
        if let Some(fault) = pagurus_broker::unusable_prefix(&settings.broker.prefix) {
            self.values.fault("broker.prefix", fault);
        }
        if settings.telemetry.endpoint.as_deref().is_some_and(|url| !is_collector(url)) {
            self.values.fault("telemetry.otlp.endpoint", NO_COLLECTOR);
        }
        if let Err(error) = settings.log.filter() {
            let message = format!("is neither a level, such as `info`, nor a filter: {error}");
            self.values.fault("log.level", message);
        } else if let Some(word) = settings.log.level.split(',').map(str::trim).find(|word| is_no_level(word))
        {
            let near = nearest(word, LEVELS.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
            let message = format!(
                "`{word}` is not a level; there are: {}{}",
                LEVELS.join(", "),
                near.unwrap_or_default()
            );
            self.values.fault("log.level", message);
        }
    }
}

fn of_database(url: &str) -> Option<String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Some("must begin with `postgres://` or `postgresql://`".to_owned());
    }
    pagurus_store::unusable(url)
}

fn of_broker(url: &str) -> Option<String> {
    if !url.starts_with("amqp://") && !url.starts_with("amqps://") {
        return Some("must begin with `amqp://` or `amqps://`".to_owned());
    }
    pagurus_broker::unusable(url)
}

/// True for a word that the filter would take for the name of a module, of which nothing is logged.
fn is_no_level(word: &str) -> bool {
    let is_level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word)) || word.parse::<u8>().is_ok();
    let is_module = word.contains(['=', ':', '[']) || word.starts_with("pagurus");
    !is_level && !is_module
}
