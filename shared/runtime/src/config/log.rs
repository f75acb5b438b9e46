//! Settings of the log.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

/// `log`
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// The form of lines.
    pub format: LogFormat,
    /// A level, or a filter by module.
    pub level: String,
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
