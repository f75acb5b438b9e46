//! PostgreSQL: the one authoritative state, and every SQL statement of the project.
//!
//! Each aggregate has a module; each function runs its statements in a transaction that the
//! caller began and will commit, so that services show what is atomic. Nothing here decides a
//! status: callers bring decisions of the domain, statements check that what was expected still
//! holds, and say what they refused.
//!
//! Locks are taken in one order everywhere: `running`, `ready`, `orders`, `queues`, `due`,
//! `requests`, `dependencies`, and inside a table by ascending key.

pub mod amend;
pub mod answers;
pub mod asking;
pub mod attempts;
pub mod audit;
pub mod callbacks;
pub mod calls;
pub mod changes;
pub mod children;
pub mod cluster;
mod columns;
pub mod consistency;
pub mod control;
pub mod dependencies;
pub mod doctor;
pub mod due;
pub mod ends;
mod error;
pub mod errors;
pub mod first;
pub mod flows;
pub mod history;
pub mod idle;
pub mod leases;
pub mod marks;
pub mod measures;
pub mod migrate;
pub mod operations;
pub mod orders;
pub mod outbox;
pub mod patience;
mod place;
mod pool;
pub mod presence;
pub mod promises;
pub mod queues;
mod ready;
pub mod recovery;
pub mod refused;
pub mod requests;
pub mod restore;
pub mod retention;
pub mod revision;
mod row;
pub mod scenarios;
pub mod search;
pub mod searches;
pub mod shift;
pub mod sql;
pub mod stages;
pub mod statements;
pub mod stats;
pub mod stops;
pub mod suspects;
pub mod suspensions;
pub mod upkeep;
pub mod walks;
pub mod windows;

pub use error::{Error, Result, beside};
pub use patience::Patience;
pub use pool::{Client, Connection, Options, Store, Tx, server_of, unusable};
