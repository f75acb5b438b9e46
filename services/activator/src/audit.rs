//! The audit log beside the actions that write it: its chain, and its way to a receiver outside.

mod export;
mod seal;

pub(crate) use export::AuditExporter;
pub(crate) use seal::Sealer;
