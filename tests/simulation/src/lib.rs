//! Whole orders through the rules of the engine, in virtual time, over models of the store and of the broker: one seed, one
//! run, the same to the byte whenever it is repeated.
//!
//! The interpreter, the rules for failures, the law of statuses, the policy of the dispatcher, the pace of waking and the
//! remedies of recovery are the engine's own. [`store`] is a model of the tables with the same guards; processes are small
//! models of the services, which call it as the services call the database. Before and after each call a process may die,
//! and an answer may be lost; messages that may be lost are lost, doubled, delayed and overtaken; processes freeze.
//!
//! [`judge`] brings what is seen before `pagurus_domain::invariants`. [`planted`] has the bugs that must be found.
//!
//! Never reads a clock, and draws every number from the seed.

pub mod activator;
pub mod chance;
pub mod constant;
pub mod core;
pub mod dispatcher;
pub mod driving;
pub mod effects;
pub mod intake;
pub mod judge;
pub mod message;
pub mod moment;
pub mod notifier;
pub mod outcome;
pub mod outside;
pub mod plan;
pub mod planted;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod store;
pub mod worker;

pub use store::witness;
