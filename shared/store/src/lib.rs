//! PostgreSQL: the one authoritative state, and every SQL statement of the project.
//!
//! Each aggregate has a module; each function runs its statements in a transaction that the
//! caller began and will commit, so that services show what is atomic. Nothing here decides a
//! status: callers bring decisions of the domain, statements check that what was expected still
//! holds, and say what they refused.
//!
//! Locks are taken in one order everywhere: `running`, `ready`, `orders`, `queues`, `due`,
//! `requests`, `dependencies`, and inside a table by ascending key.

mod columns;
mod error;
pub mod hot;
pub mod lists;
pub mod outside;
pub mod patience;
mod pool;
pub mod recovery;
mod row;
pub mod sql;
pub mod statements;
pub mod upkeep;

pub use error::{Error, Result, beside};
pub use patience::Patience;
pub use pool::{Client, Connection, Options, Store, Tx, server_of, tls_fault, unusable};
