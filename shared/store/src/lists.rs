//! What is looked for, counted and shown of many orders.

pub mod actors;
pub mod audit;
pub mod errors;
pub mod ledger;
pub mod measures;
pub mod promises;
pub mod scope;
pub mod search;
pub mod searches;
pub mod stats;
