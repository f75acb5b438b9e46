//! Log lines: structured, one a line, whatever strange text clients send.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt, registry, reload};

use crate::config::{LogFormat, LogSettings};
use crate::order_log;

/// Applies other settings to the log of this process, once it has one.
static APPLY: OnceLock<ApplySettings> = OnceLock::new();

/// Way to give a log that was started other settings.
type ApplySettings = Box<dyn Fn(&LogSettings) + Send + Sync>;

/// Starts logging to standard error, and lines about orders to their file, where they have one. Called once; a second call
/// changes nothing.
///
/// # Errors
/// The file of the lines about orders cannot be written.
pub fn start_logging(settings: &LogSettings) -> io::Result<()> {
    order_log::set_sample(settings.orders_sample);
    let file = settings.orders_file.as_deref().map(|path| LogFile::open(Path::new(path))).transpose()?;
    let (filter, handle) = reload::Layer::new(filter(settings));
    let apart = file.is_some();
    // Colours only where a person looks; text from clients is escaped by the layer itself.
    let terminal = io::IsTerminal::is_terminal(&io::stderr());
    let main = lines(settings.format, terminal, io::stderr);
    let main = main.with_filter(filter_fn(move |line| !(apart && is_of_orders(line))));
    let orders = file.clone().map(|file| lines(settings.format, false, file));
    let orders = orders.map(|orders| orders.with_filter(filter_fn(is_of_orders)));
    // The all-in-one mode starts five services in one process: the first has started the log.
    if registry().with(filter).with(main).with(orders).try_init().is_ok() {
        let apply = move |settings: &LogSettings| {
            order_log::set_sample(settings.orders_sample);
            drop(handle.reload(self::filter(settings)));
            // A tool that rotates the file asks for this by the signal to read the configuration again.
            if let Some(Err(error)) = file.as_ref().map(LogFile::reopen) {
                tracing::warn!(%error, "the log of orders cannot be opened again: it continues in the open file");
            }
        };
        // Nobody else has set it: only one log can be started.
        let _ = APPLY.set(Box::new(apply));
    }
    Ok(())
}

/// Logs by other settings from here on.
pub(crate) fn apply(settings: &LogSettings) {
    if let Some(apply) = APPLY.get() {
        apply(settings);
    }
}

fn is_of_orders(line: &Metadata<'_>) -> bool {
    line.target() == order_log::TARGET
}

/// A layer that writes lines of this form.
fn lines<S, W>(format: LogFormat, ansi: bool, to: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    match format {
        LogFormat::Json => fmt::layer().with_writer(to).json().flatten_event(true).boxed(),
        LogFormat::Text => fmt::layer().with_writer(to).with_ansi(ansi).with_target(false).boxed(),
    }
}

fn filter(settings: &LogSettings) -> EnvFilter {
    // The level was read as a filter when the settings were made.
    settings.filter().unwrap_or_else(|_| EnvFilter::new("info"))
}

/// A file of log lines that is opened again where somebody has moved it away.
#[derive(Clone, Debug)]
struct LogFile {
    path: Arc<PathBuf>,
    file: Arc<RwLock<Arc<File>>>,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = Arc::new(RwLock::new(Arc::new(append(path)?)));
        Ok(Self { path: Arc::new(path.to_owned()), file })
    }

    fn reopen(&self) -> io::Result<()> {
        let file = Arc::new(append(&self.path)?);
        *self.file.write().unwrap_or_else(PoisonError::into_inner) = file;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

impl<'w> MakeWriter<'w> for LogFile {
    type Writer = OpenLog;

    fn make_writer(&'w self) -> OpenLog {
        OpenLog(self.file.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// The file for one line. Each is written whole: lines of several processes in one file do not mix.
struct OpenLog(Arc<File>);

impl Write for OpenLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        (&*self.0).write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}
