//! The tasks that are worked on. Each is at work once, however often it comes meanwhile.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use lapin::Error;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicRejectOptions};
use serde::Deserialize;
use serde_json::Value;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use super::{Fail, Task, Voice, work};

/// The end of a work: the pass of its task, its number, and whether the broker has the decision.
type Ended = Result<(String, u64, Result<(), Error>), JoinError>;

/// A task at work.
struct AtWork {
    number: u64,
    handle: AbortHandle,
    /// The task as it came, the latest last: the same pass comes again if it is handed out again.
    copies: Vec<Delivery>,
}

/// All tasks at work.
pub(crate) struct Desk<H> {
    voice: Voice,
    handler: Arc<H>,
    works: JoinSet<(String, u64, Result<(), Error>)>,
    at_work: HashMap<String, AtWork>,
    begun: u64,
}

/// The message by which the engine gives a task up.
#[derive(Deserialize)]
struct Cancel {
    pass: String,
}

impl<H, F> Desk<H>
where
    H: Fn(Task) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Value, Fail>> + Send + 'static,
{
    pub fn new(voice: Voice, handler: Arc<H>) -> Self {
        Self { voice, handler, works: JoinSet::new(), at_work: HashMap::new(), begun: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Takes what came from the queue.
    pub async fn take(&mut self, delivery: Delivery) -> Result<(), Error> {
        match serde_json::from_slice::<Task>(&delivery.data) {
            Ok(task) => self.begin(task, delivery),
            Err(error) => {
                eprintln!("dropped what is no task: {error}");
                delivery.reject(BasicRejectOptions { requeue: false }).await?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, task: Task, delivery: Delivery) {
        let pass = task.pass.clone();
        if let Some(at_work) = self.at_work.get_mut(&pass) {
            at_work.copies.push(delivery);
            return;
        }
        self.begun += 1;
        let number = self.begun;
        let (voice, handler) = (self.voice.clone(), Arc::clone(&self.handler));
        let ended = pass.clone();
        let handle = self.works.spawn(async move { (ended, number, work(voice, task, handler).await) });
        self.at_work.insert(pass, AtWork { number, handle, copies: vec![delivery] });
    }

    /// Waits for the next work that ends; `None` if nothing is at work.
    pub async fn ended(&mut self) -> Option<Ended> {
        self.works.join_next().await
    }

    /// Acknowledges the task of a work that has ended, now that the broker has the decision.
    pub async fn clear(&mut self, ended: Ended) -> Result<(), Error> {
        let (pass, number, said) = match ended {
            Err(error) if error.is_cancelled() => return Ok(()),
            ended => ended.map_err(io::Error::other)?,
        };
        said?;
        // Under another number it was given up, and has started again.
        if self.at_work.get(&pass).is_some_and(|at_work| at_work.number == number)
            && let Some(at_work) = self.at_work.remove(&pass)
        {
            acknowledge(at_work.copies).await?;
        }
        Ok(())
    }

    /// Gives a task up for the engine: its handler is broken off, and no decision is sent. If the task has come again
    /// already, its handler starts again.
    pub async fn give_up(&mut self, cancel: &[u8]) -> Result<(), Error> {
        let Ok(Cancel { pass }) = serde_json::from_slice(cancel) else { return Ok(()) };
        let Some(mut at_work) = self.at_work.remove(&pass) else { return Ok(()) };
        at_work.handle.abort();
        let again = if at_work.copies.len() > 1 { at_work.copies.pop() } else { None };
        acknowledge(at_work.copies).await?;
        match again {
            Some(delivery) => self.take(delivery).await,
            None => Ok(()),
        }
    }
}

async fn acknowledge(copies: Vec<Delivery>) -> Result<(), Error> {
    for delivery in copies {
        delivery.ack(BasicAckOptions::default()).await?;
    }
    Ok(())
}
