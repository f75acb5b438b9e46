//! Messages as they arrive.

use sha2::{Digest, Sha256};

use crate::message::Properties;

/// Identity of a delivery within its consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryTag {
    /// Life of the consumer: a tag means nothing in another.
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

impl Delivery {
    /// Digest of the message, by which it is known when it is delivered again.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        let Properties { message_id, correlation_id, type_, .. } = &self.properties;
        let texts = [
            Some(&self.exchange),
            Some(&self.routing_key),
            message_id.as_ref(),
            correlation_id.as_ref(),
            type_.as_ref(),
        ];
        let mut digest = Sha256::new();
        for text in texts {
            let text = text.map_or("", String::as_str);
            digest.update((text.len() as u64).to_be_bytes());
            digest.update(text);
        }
        digest.update(&self.body);
        digest.finalize().into()
    }
}

impl DeliveryTag {
    /// Tag of a delivery that never was at the broker, and is not acknowledged. Generations of consumers begin at 1.
    pub(crate) const LOCAL: Self = Self { generation: 0, tag: 0 };

    /// True if the broker knows nothing of the delivery.
    pub(crate) const fn is_local(self) -> bool {
        self.generation == Self::LOCAL.generation
    }
}
