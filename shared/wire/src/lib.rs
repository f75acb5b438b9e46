//! Types of the public API and of the messages between services.
//!
//! A change here is a change of contract. Nothing here decides anything or does I/O.

pub mod access;
pub mod actors;
pub mod audit;
pub mod bodies;
pub mod callbacks;
pub mod cluster;
pub mod consistency;
pub mod decisions;
mod dependencies;
pub mod doctor;
pub mod errors;
pub mod explain;
pub mod export;
pub mod flows;
pub mod foresight;
pub mod json;
pub mod ledger;
pub mod message;
pub mod nodes;
pub mod notices;
pub mod operations;
pub mod order;
pub mod parts;
pub mod problem;
pub mod refused;
mod registered;
pub mod scenarios;
pub mod schedules;
pub mod search;
pub mod stats;
pub mod stream;
pub mod subscriptions;
pub mod what_if;
pub mod windows;

pub use problem::Problem;
