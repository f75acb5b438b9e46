//! The thread that reads what takes much memory as a value.
//!
//! The memory of a value belongs to the thread that reads it, and the allocator keeps it for that thread
//! when the value is gone. Were large values read wherever they come in, each thread of the process
//! would keep the memory of the largest.

use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use pagurus_runtime::costly;
use pagurus_wire::json;
use serde_json::{Error, Value};

/// A text to be read, and where its value goes.
type Job = (Vec<u8>, SyncSender<Result<Value, Error>>);

/// The way to the thread.
static READER: LazyLock<Sender<Job>> = LazyLock::new(|| {
    let (sender, receiver) = channel();
    let read = |receiver: Receiver<Job>| {
        for (text, answer) in receiver {
            // Who asked may be gone.
            let _ = answer.send(json::parse(&text));
        }
    };
    if let Err(error) = std::thread::Builder::new().name("reader".to_owned()).spawn(move || read(receiver)) {
        tracing::warn!(%error, "large bodies are read wherever they come in: there is no thread for them");
    }
    sender
});

/// Reads JSON in that thread; the thread that asks waits, and its other tasks go on elsewhere.
pub(super) fn parse(text: &[u8]) -> Result<Value, Error> {
    let (answer, answered) = sync_channel(1);
    let sent = READER.send((text.to_vec(), answer)).is_ok();
    let value = if sent { costly::run(true, || answered.recv().ok()) } else { None };
    value.unwrap_or_else(|| json::parse(text))
}
