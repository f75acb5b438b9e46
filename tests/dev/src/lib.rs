//! What the tool and the program of its measurements share: the checkout, its builds, and the stages of a command.
//! Never uses the engine from inside: what can be done here with the program of the engine, anybody can.

pub mod build;
pub mod place;
pub mod stages;
