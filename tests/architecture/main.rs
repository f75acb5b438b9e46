//! The architecture rules as tests: what may import what, how files look, which generated files are
//! fresh. Crude on purpose: a rule that needs a parser is a rule for clippy.
//!
//! Never tests what the engine does. Only the page of the schema needs a database.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at the first surprise")]

mod circles;
mod compose;
mod copies;
mod dependencies;
mod deploy;
mod documents;
mod editors;
mod english;
mod faults;
mod generated;
mod imports;
mod loops;
mod names;
mod problems;
mod schema;
mod texts;
mod tree;
