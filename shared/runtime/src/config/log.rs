//! Settings of the log.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use super::kind::Kind::*;
use super::section::section;
use crate::order_log;

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

fn log_format(word: String) -> LogFormat {
    match word.as_str() {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    }
}

fn of_hundred(count: u64) -> u8 {
    u8::try_from(count).unwrap_or(100)
}

section! {
    /// `log`
    #[derive(Clone, Debug)]
    pub struct LogSettings;

    format: LogFormat = log_format("log.format", Choice(&["text", "json"]), "text", Restart, "Format of log lines.");
    level: String = ("log.level", Text, "info", Live, "Lowest level that is logged, or a filter such as `info,pagurus_worker=debug`. Lines about orders have a level of their own.");
    orders: String = ("log.orders", Choice(&["off", "info", "debug"]), "info", Live, "Log level of lines about orders, in the target `log.orders`, while nothing is wrong: `info` writes one line for each registration, end of a stage, end of a life, and delivered notification; `debug` writes more.");
    orders_sample: u8 = of_hundred("log.orders_sample_percentage", Count { least: 0, most: 100 }, "100", Live, "Percentage of orders that have these lines: all lines of an order, or none.");
    orders_file: Option<String> = ("log.orders_file", OptionalText, "~", Restart, "File for these lines, instead of standard error. It is opened again when the configuration is read again (SIGHUP).");
}

impl LogSettings {
    /// The filter that the level stands for. Libraries say less than our own rooms.
    ///
    /// # Errors
    /// The level is none.
    pub(crate) fn filter(&self) -> Result<EnvFilter, ParseError> {
        let quiet = "lapin=off,tokio_postgres=warn,refinery_core=warn";
        EnvFilter::try_new(format!("{},{quiet},{}={}", self.level, order_log::TARGET, self.orders))
    }
}
