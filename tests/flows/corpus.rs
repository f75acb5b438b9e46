//! The bad-input corpus (QLT-8, QLT-9): files of inputs in `tests/corpus`, each with the outcome that the contract demands, run
//! against real services and the real readers. Never takes an answer for right because it is the one that comes.
//!
//! Right behind each input goes an order of a neighbour, which is followed beside the next inputs and must end: see [`watch`].

mod access;
mod amqp;
mod configuration;
mod data;
mod http;
mod routes;
mod scenarios;
mod scripts;
mod socket;
mod watch;
