//! What comes from outside of the stages: registrations, answers, and what people do to orders.

pub mod access;
pub mod amend;
pub mod answers;
pub mod callbacks;
pub mod changes;
pub mod children;
pub mod ends;
pub mod operations;
pub mod orders;
pub mod refused;
pub mod scenarios;
pub mod subscriptions;
