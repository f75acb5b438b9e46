//! What is lost, contradicts itself or belongs to dead nodes, and how it is found and mended.

pub mod cluster;
pub mod consistency;
pub mod idle;
pub mod leases;
pub mod lost;
pub mod marks;
pub mod presence;
pub mod restore;
pub mod suspensions;
