//! The small numbers by which flows, systems, queues and ready stages are known here.

/// The number of a flow; valid until the flow is forgotten.
pub(super) type FlowIndex = u32;

/// The number of a system; it is valid for ever.
pub(super) type SystemIndex = u32;

/// The number of a queue; valid while it has ready members or something in progress.
pub(super) type QueueIndex = u32;

/// The number of a ready stage; valid until it is removed.
pub(super) type StageSlot = u32;
