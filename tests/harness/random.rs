//! Random small scenarios, the system that they call, and the naive way through them.
//!
//! The interpreter has random tests of its own, without servers. What is judged elsewhere is what these are for:
//! callbacks that come early, late, twice or for nobody, over both transports. No verdict hangs on a race: what is to be
//! early comes before the answer of its request, what is to be late comes when the order has gone on.

pub mod model;
pub mod plan;
pub mod play;
pub mod text;
pub mod transports;
