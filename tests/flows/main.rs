//! The contract, requirement by requirement, against real servers and real processes.
//!
//! Needs what `./dev test` sets up. Knows the engine only from outside: its API, its broker names, its settings.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod access;
mod act;
mod actors;
mod alike;
mod amqp;
mod api;
mod asyncapi;
mod audit;
mod bench;
mod callbacks;
mod calls;
mod centre;
mod client_limits;
mod clients;
mod consistency;
mod contract;
mod deadly;
mod deleted;
mod dsp;
mod encrypted;
mod err;
mod examples;
mod flows;
mod found;
mod fuzz;
mod http_server;
mod idle;
mod inside;
mod installation;
mod language;
mod limits;
mod lost;
mod mass;
mod memory;
mod neighbours;
mod nodes;
mod odd_systems;
mod operations;
mod ord;
mod outside;
mod packages;
mod random;
mod rec;
mod receivers;
mod refused;
mod reload;
mod retention;
mod robust;
mod roles;
mod run;
mod scn;
mod scripts;
mod search;
mod senders;
mod serve;
mod sight;
mod start;
mod stats;
mod steps;
mod stream;
mod telemetry;
mod tools;
