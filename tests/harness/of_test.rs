//! Servers of one test. They end with it, also where it stops at a surprise: nothing is left running behind.

use std::ops::Deref;

use crate::postgres::Postgres;
use crate::process::Signal;
use crate::rabbit::Rabbit;

/// A server that can be ended at once.
pub trait Server {
    /// Kills it, if it runs.
    fn kill_now(&self);
}

impl Server for Rabbit {
    fn kill_now(&self) {
        if let Some(identity) = self.identity() {
            let _ = identity.signal(Signal::Kill);
        }
        let _ = self.stop_port_mapper();
    }
}

impl Server for Postgres {
    fn kill_now(&self) {
        if let Some(identity) = self.identity() {
            // Of a server that is killed, the processes of its sessions live on for a while.
            let _ = identity.signal(Signal::Quit);
        }
    }
}

/// The server of a test.
#[derive(Debug)]
pub struct OfTest<S: Server>(pub S);

impl<S: Server> Deref for OfTest<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Server> Drop for OfTest<S> {
    fn drop(&mut self) {
        self.0.kill_now();
    }
}
