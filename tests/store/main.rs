//! `pagurus-store` against a real PostgreSQL, a database for each test: guards, plans and races.
//! Never starts a service: what is tested here is what the database itself refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod amend;
mod audit;
mod callbacks;
mod calls;
mod cluster;
mod deadlines;
mod dependencies;
mod due;
mod errors;
mod failover;
mod flows;
mod ground;
mod lanes;
mod law;
mod marks;
mod migrations;
mod model;
mod orders;
mod outbox;
mod plans;
mod queues;
mod requests;
mod roles;
mod scenarios;
mod schedules;
mod search;
mod snapshot;
mod stages;
mod stats;
mod suspects;
