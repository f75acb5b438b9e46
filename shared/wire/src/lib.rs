//! What outsiders, and the services among each other, see: bodies of the API and of messages.
//!
//! A change here is a change of contract. Nothing here decides anything or does I/O.

pub mod audit;
pub mod callbacks;
pub mod consistency;
pub mod errors;
pub mod export;
pub mod flows;
pub mod json;
pub mod message;
pub mod order;
pub mod problem;

pub use problem::Problem;
