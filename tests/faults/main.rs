//! The whole engine under faults: processes killed and frozen, connections cut and parted, servers restarted.
//! Never looks inside: what counts is what clients, called systems and `/readyz` see.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod answers;
mod away;
mod broker;
mod clock;
mod cluster;
mod crowd;
mod encrypted;
mod freeze;
mod growth;
mod hints;
mod installation;
mod invariants;
mod kill;
mod load;
mod network;
mod notice;
mod pooler;
mod random;
mod restart;
mod restore;
mod servers;
mod sessions;
mod storm;
