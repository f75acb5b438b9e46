//! The rules of Pagurus as plain functions over plain data.
//!
//! Nothing here reads a clock, draws a random number, logs, or does I/O: time and chance come in
//! as arguments, and what must be done comes back as values. Four machines live here: the life of
//! an order ([`order::transition`]), the stage of a scenario ([`scenario::stage`]), the dispatcher
//! ([`dispatch`]) and recovery ([`recovery`]).

pub mod activation;
pub mod audit;
pub mod classes;
pub mod consistency;
pub mod depth;
pub mod diagnosis;
pub mod dispatch;
pub mod document;
pub mod id;
pub mod idle;
pub mod invariants;
pub mod lab;
pub mod low_water;
pub mod maintenance;
pub mod operation;
pub mod order;
pub mod promise;
pub mod recovery;
pub mod retention;
pub mod retry;
pub mod scenario;
pub mod search;
mod spread;
pub mod system;
pub mod time;
pub mod trace;
