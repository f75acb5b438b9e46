//! Settings of TLS that follow their files.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::{ClientTls, TlsFault, TlsFiles};

/// Time between two looks at the files.
const LOOK: Duration = Duration::from_millis(500);
/// Time after which the certificates that this machine trusts are read again: they are in no file of the settings.
const AGE: Duration = Duration::from_secs(600);
/// Time for which the former settings count where the files do not fit: one of them may have been exchanged, and the other not yet.
const EXCHANGE: Duration = Duration::from_secs(10);

/// TLS of many connections: made once, and again when a file has changed. Connections resume the sessions of each other.
#[derive(Debug)]
pub struct ReloadingTls<T: TlsFiles = ClientTls> {
    tls: T,
    loaded: Mutex<Option<LoadedTls<T::Config>>>,
}

#[derive(Debug)]
struct LoadedTls<C> {
    config: Arc<C>,
    /// Time and length of each file.
    files: Vec<Option<(SystemTime, u64)>>,
    loaded_at: Instant,
    looked_at: Instant,
    /// Time since which the files do not fit.
    unfit_since: Option<Instant>,
}

impl<T: TlsFiles> ReloadingTls<T> {
    /// TLS by these settings; no file is read yet.
    #[must_use]
    pub const fn new(tls: T) -> Self {
        Self { tls, loaded: Mutex::new(None) }
    }

    /// Settings of a new connection. A file that changed within the last half a second may not count yet.
    ///
    /// # Errors
    /// A file cannot be read, is none of its kind, or does not belong to the other.
    pub fn config(&self) -> Result<Arc<T::Config>, TlsFault> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(loaded) = &mut *loaded {
            if now.duration_since(loaded.looked_at) < LOOK {
                return Ok(Arc::clone(&loaded.config));
            }
            let is_old = now.duration_since(loaded.loaded_at) >= AGE;
            if !is_old && self.files() == loaded.files {
                loaded.looked_at = now;
                return Ok(Arc::clone(&loaded.config));
            }
        }
        // The state of the files is read before their contents: a change in between is seen at the next look.
        let files = self.files();
        match (self.tls.config(), &mut *loaded) {
            (Ok(config), loaded) => {
                let config = Arc::new(config);
                let (loaded_at, looked_at, unfit_since) = (now, now, None);
                *loaded =
                    Some(LoadedTls { config: Arc::clone(&config), files, loaded_at, looked_at, unfit_since });
                Ok(config)
            }
            (Err(fault), Some(former)) => {
                let since = *former.unfit_since.get_or_insert(now);
                if now.duration_since(since) < EXCHANGE { Ok(Arc::clone(&former.config)) } else { Err(fault) }
            }
            (Err(fault), None) => Err(fault),
        }
    }

    fn files(&self) -> Vec<Option<(SystemTime, u64)>> {
        let state = |file: &Path| {
            let metadata = std::fs::metadata(file).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        self.tls.files().into_iter().map(state).collect()
    }
}
