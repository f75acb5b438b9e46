//! The called system of the measurements: answers at once, and calls back at once where it was asked to.
//! Never fails or delays on purpose: what the engine does with bad systems is for tests, not for measurements.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::net::TcpListener;

use super::http::{Caller, Message, serve};

/// Number of connections: enough that callbacks never wait for each other, and few enough to be no load of their own.
const CALLBACK_CONNECTIONS: usize = 128;
const DONE: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{\"done\":true}";
const TAKEN: &[u8] =
    b"HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\ncontent-length: 14\r\n\r\n{\"taken\":true}";

/// A running stub.
#[derive(Debug)]
pub struct Stub {
    failed_callbacks: Arc<AtomicU64>,
}

impl Stub {
    /// Starts it on this port of this machine; it ends with the process.
    pub async fn start(port: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let failed_callbacks = Arc::new(AtomicU64::new(0));
        let callbacks =
            Arc::new(Callbacks { failed: Arc::clone(&failed_callbacks), callers: Mutex::default() });
        tokio::spawn(serve(listener, move |request| answer(&request, &callbacks)));
        Ok(Self { failed_callbacks })
    }

    /// Number of callbacks that were not taken with a 2xx so far.
    pub fn failed_callbacks(&self) -> u64 {
        self.failed_callbacks.load(Ordering::Relaxed)
    }
}

fn answer(request: &Message, callbacks: &Arc<Callbacks>) -> &'static [u8] {
    match request.header("x-callback-url") {
        Some(url) => {
            let (callbacks, url) = (Arc::clone(callbacks), url.to_owned());
            tokio::spawn(async move { callbacks.call(&url).await });
            TAKEN
        }
        None => DONE,
    }
}

struct Callbacks {
    failed: Arc<AtomicU64>,
    callers: Mutex<HashMap<String, Arc<Caller>>>,
}

impl Callbacks {
    async fn call(&self, url: &str) {
        let called = async {
            let (address, path) = url.strip_prefix("http://")?.split_once('/')?;
            let caller = self.caller(address);
            let answer = caller.post(&format!("/{path}"), "application/json", b"{\"code\":0}").await.ok()?;
            answer.status().filter(|status| (200..300).contains(status))
        };
        if called.await.is_none() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn caller(&self, address: &str) -> Arc<Caller> {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Caller::new(address, CALLBACK_CONNECTIONS));
        Arc::clone(callers.entry(address.to_owned()).or_insert_with(made))
    }
}
