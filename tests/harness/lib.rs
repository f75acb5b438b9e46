//! The harness: real servers, real processes, and a world to call, for the tests and for `./dev`.
//! Never reaches into the engine: it knows its programs, its configuration, HTTP and AMQP, as any outsider does.

pub mod certificates;
pub mod client;
pub mod env;
pub mod fuzz;
pub mod nodes;
pub mod npm;
pub mod of_test;
pub mod packages;
pub mod ports;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod rabbit;
pub mod race;
pub mod random;
pub mod samba;
pub mod slapd;
pub mod venv;
pub mod world;
