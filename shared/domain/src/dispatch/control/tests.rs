//! What one control does with samples, one rule each.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
