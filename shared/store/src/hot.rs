//! The way of every stage: its places, its hand-out, its end, and what it asks of others.

pub mod asking;
pub mod attempts;
pub mod calls;
pub mod cancellations;
pub mod control;
pub(crate) mod deadlines;
pub mod dependencies;
pub mod due;
pub mod history;
pub mod outbox;
pub(crate) mod place;
pub mod queues;
pub(crate) mod ready;
pub mod requests;
pub mod stages;
pub mod standing;
pub mod suspects;
