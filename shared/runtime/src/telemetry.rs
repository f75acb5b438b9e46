//! Log lines: structured, one a line, whatever strange text clients send.

use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// Sets the filter of the log of this process, once it has one.
static SET_FILTER: OnceLock<Box<dyn Fn(EnvFilter) + Send + Sync>> = OnceLock::new();

/// Starts logging to standard error. Called once; a second call changes nothing.
pub fn start_logging(settings: &LogSettings) {
    let builder = tracing_subscriber::fmt().with_env_filter(filter(settings)).with_writer(std::io::stderr);
    // Colours only where a person looks; text from clients is escaped by the layer itself. The all-in-one mode
    // starts five services in one process: the first has started the log.
    let (set, started): (Box<dyn Fn(EnvFilter) + Send + Sync>, _) = match settings.format {
        LogFormat::Json => {
            let builder = builder.json().flatten_event(true).with_filter_reloading();
            let handle = builder.reload_handle();
            (Box::new(move |filter| drop(handle.reload(filter))), builder.try_init())
        }
        LogFormat::Text => {
            let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
            let builder = builder.with_ansi(terminal).with_target(false).with_filter_reloading();
            let handle = builder.reload_handle();
            (Box::new(move |filter| drop(handle.reload(filter))), builder.try_init())
        }
    };
    if started.is_ok() {
        // Nobody else has set it: only one log can be started.
        let _ = SET_FILTER.set(set);
    }
}

/// Logs by another level from here on.
pub(crate) fn set_level(settings: &LogSettings) {
    if let Some(set) = SET_FILTER.get() {
        set(filter(settings));
    }
}

fn filter(settings: &LogSettings) -> EnvFilter {
    // The level was read as a filter when the settings were made.
    settings.filter().unwrap_or_else(|_| EnvFilter::new("info"))
}
