//! Settings of the log.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

use super::kind::Kind::*;
use super::section::section;

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

section! {
    /// `log`
    #[derive(Clone, Debug)]
    pub struct LogSettings;

    format: LogFormat = log_format("log.format", Choice(&["text", "json"]), "text", Restart, "Form of log lines.");
    level: String = ("log.level", Text, "info", Live, "Least level that is logged, or a filter such as `info,pagurus_worker=debug`. The target `orders` has a line at `info` for each registration and each end of a stage, and more at `debug`; `info,orders=off` leaves them out.");
}

impl LogSettings {
    /// The filter that the level stands for. Libraries say less than our own rooms.
    ///
    /// # Errors
    /// The level is none.
    pub(crate) fn filter(&self) -> Result<EnvFilter, ParseError> {
        EnvFilter::try_new(format!("{},lapin=off,tokio_postgres=warn,refinery_core=warn", self.level))
    }
}
