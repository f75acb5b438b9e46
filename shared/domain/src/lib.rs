//! The rules of Pagurus as plain functions over plain data, as far as all its parts share them: orders and their law,
//! retries, activation, recovery, promises, searches.
//!
//! Nothing here reads a clock, draws a random number, logs, or does I/O: time and chance come in
//! as arguments, and what must be done comes back as values.

pub mod access;
pub mod activation;
#[cfg(test)]
mod any;
pub mod attributes;
pub mod audit;
pub mod classes;
pub mod consistency;
pub mod depth;
pub mod diagnosis;
pub mod document;
pub mod flow;
pub mod folded;
pub mod id;
pub mod idle;
pub mod invariants;
pub mod json;
pub mod low_water;
pub mod maintenance;
pub mod number;
pub mod operation;
pub mod order;
pub mod promise;
pub mod quota;
pub mod recovery;
pub mod retention;
pub mod retry;
pub mod schedule;
pub mod search;
pub mod spread;
pub mod subscription;
pub mod system;
pub mod time;
pub mod trace;

/// Text in the place of a masked value.
pub const MASKED: &str = "***";
