//! Look-ups of names. Each takes a thread of the process, which the system gives back when it likes: a name whose servers
//! are silent holds a few of them, and all names together no more than others can spare.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// Look-ups of one name at a time. Others wait, as long as their time to connect lasts.
const OF_ONE: usize = 4;
/// Look-ups of all names at a time, of the 512 threads that tokio makes for such work.
const OF_ALL: usize = 128;

type LookUp = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Looks names up.
pub(super) struct NameResolver {
    look_up: Arc<LookUp>,
    all: Arc<Semaphore>,
    /// Places of the names that are looked up now.
    of: Mutex<HashMap<Box<str>, Arc<Semaphore>>>,
}

impl NameResolver {
    /// Names as the system knows them.
    pub fn of_system() -> Self {
        Self::looked_up_by(|host, port| Ok((host, port).to_socket_addrs()?.collect()))
    }

    /// Names as this function knows them.
    pub fn looked_up_by(
        look_up: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self { look_up: Arc::new(look_up), all: Arc::new(Semaphore::new(OF_ALL)), of: Mutex::default() }
    }

    /// The addresses of a name. A look-up that nobody waits for any longer keeps its place until it ends.
    pub async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let places = self.places(host);
        let own = places.acquire_owned().await.map_err(io::Error::other)?;
        let shared = self.all.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (look_up, host) = (self.look_up.clone(), host.to_owned());
        let found = tokio::task::spawn_blocking(move || {
            let found = look_up(&host, port);
            drop((own, shared));
            found
        });
        found.await.map_err(io::Error::other)?
    }

    fn places(&self, host: &str) -> Arc<Semaphore> {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = of.get(host) {
            return places.clone();
        }
        // Callers that wait for a place, or have one, hold it.
        of.retain(|_, places| Arc::strong_count(places) > 1);
        let places = Arc::new(Semaphore::new(OF_ONE));
        of.insert(host.into(), places.clone());
        places
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const FOUND: &str = "192.0.2.1:80";

    /// Names of which `silent` is not answered before the sender is dropped.
    fn names(silent: Receiver<()>) -> Arc<NameResolver> {
        let silent = Mutex::new(silent);
        Arc::new(NameResolver::looked_up_by(move |host, _| {
            if host == "silent" {
                let _ = silent.lock().unwrap_or_else(PoisonError::into_inner).recv();
            }
            Ok(vec![FOUND.parse().unwrap()])
        }))
    }

    #[test]
    fn qlt_8_a_name_that_nobody_answers_for_leaves_threads_to_others() {
        let (answer, silent) = channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(OF_ONE + 1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let names = names(silent);
            let mut waiting = tokio::task::JoinSet::new();
            for _ in 0..2 * OF_ONE {
                let names = names.clone();
                waiting.spawn(async move { names.addresses("silent", 80).await });
            }
            while names.all.available_permits() > OF_ALL - OF_ONE {
                tokio::task::yield_now().await;
            }
            assert_eq!(names.addresses("other", 80).await.unwrap(), [FOUND.parse().unwrap()]);
            drop(answer);
            while let Some(found) = waiting.join_next().await {
                assert_eq!(found.unwrap().unwrap(), [FOUND.parse().unwrap()]);
            }
            names.addresses("third", 80).await.unwrap();
            assert_eq!(names.of.lock().unwrap().len(), 1, "names that nobody asks for are forgotten");
        });
    }
}
