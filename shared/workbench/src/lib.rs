//! Tools for people who write scenarios and set rules, as pure code: whole orders in virtual time ([`trial`]), drawings
//! ([`graph`]), comparison ([`diff`]), and the dispatcher's policy against simulated systems ([`lab`]).
//!
//! The engine needs none of it to run an order.

pub mod complete;
pub mod diff;
pub mod graph;
pub mod lab;
pub mod trial;
