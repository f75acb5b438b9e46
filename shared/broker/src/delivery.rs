//! Messages as they arrive.

use crate::message::Properties;

/// Identity of a delivery within its consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryTag {
    /// Which life of the consumer: a tag means nothing in another.
    pub generation: u64,
    /// The broker's number within that life.
    pub tag: u64,
}

/// A message that arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// For the acknowledgement.
    pub tag: DeliveryTag,
    /// Exchange to which it was published.
    pub exchange: String,
    /// Key with which it was published.
    pub routing_key: String,
    /// True if it was delivered before, perhaps to somebody else.
    pub redelivered: bool,
    /// Properties as the sender gave them.
    pub properties: Properties,
    /// Content, byte for byte.
    pub body: Vec<u8>,
}

impl DeliveryTag {
    /// Of a delivery that never was at the broker, and is not acknowledged. Generations of consumers begin at 1.
    pub(crate) const LOCAL: Self = Self { generation: 0, tag: 0 };

    /// True if the broker knows nothing of the delivery.
    pub(crate) const fn is_local(self) -> bool {
        self.generation == Self::LOCAL.generation
    }
}
