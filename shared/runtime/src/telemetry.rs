//! Log lines: structured, one a line, whatever strange text clients send.

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// Starts logging to standard error. Called once; a second call changes nothing.
pub fn start_logging(settings: &LogSettings) {
    let filter =
        EnvFilter::try_new(format!("{},lapin=off,tokio_postgres=warn,refinery_core=warn", settings.level))
            .unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Colours only where a person looks; text from clients is escaped by the layer itself.
    let started = match settings.format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            builder.with_ansi(terminal).with_target(false).try_init()
        }
    };
    // The all-in-one mode starts five services in one process: the first has started the log.
    drop(started);
}
