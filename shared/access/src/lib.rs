//! Who people and programs are: tokens, sessions, and the directories that know people.
//!
//! Never decides what somebody may do: that is the table of roles in `pagurus_domain::access`.

mod person;

pub use person::{LoginFailure, Person};
