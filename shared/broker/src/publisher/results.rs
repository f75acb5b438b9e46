//! Results of the messages of a batch, and what can be concluded from them together.
//!
//! Pure: no channel, no clock.

use std::collections::BTreeMap;

use super::Published;
use crate::{error::Error, message::Message};

/// A message that came back, as far as it is needed to recognise it.
pub(super) struct Returned {
    exchange: String,
    key: String,
    message_id: Option<String>,
    body: Vec<u8>,
    code: u16,
    text: String,
}

impl Returned {
    pub(super) fn new(back: lapin::message::BasicReturnMessage) -> Self {
        let message_id = back.delivery.properties.message_id();
        Self {
            exchange: back.delivery.exchange.to_string(),
            key: back.delivery.routing_key.to_string(),
            message_id: message_id.as_ref().map(ToString::to_string),
            code: back.reply_code,
            text: back.reply_text.to_string(),
            body: back.delivery.data,
        }
    }

    fn is(&self, message: &Message) -> bool {
        message.mandatory
            && message.exchange == self.exchange
            && message.key == self.key
            && message.properties.message_id == self.message_id
            && message.body == self.body
    }
}

/// Results of messages, one for each in their order.
pub(super) struct Results<'a> {
    messages: &'a [Message],
    results: Vec<Option<Published>>,
}

impl<'a> Results<'a> {
    pub(super) fn new(messages: &'a [Message]) -> Self {
        Self { messages, results: vec![None; messages.len()] }
    }

    pub(super) fn messages(&self) -> &'a [Message] {
        self.messages
    }

    /// Places of all messages.
    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.messages.len()).collect()
    }

    pub(super) fn set(&mut self, index: usize, published: Published) {
        self.results[index] = Some(published);
    }

    pub(super) fn set_all(&mut self, indices: &[usize], published: &Published) {
        for &index in indices {
            self.set(index, published.clone());
        }
    }

    /// Finds out which messages came back. lapin hands a returned message out with the next
    /// confirm that it completes, and a confirm for many completes them in no order: so the
    /// carrier is a first guess, and the content decides.
    pub(super) fn attribute(&mut self, sent: &[usize], returned: Vec<(usize, Returned)>) {
        for (carrier, back) in returned {
            let candidates = std::iter::once(carrier).chain(sent.iter().copied());
            let mut matching = candidates.filter(|&index| {
                self.results[index] == Some(Published::Confirmed) && back.is(&self.messages[index])
            });
            if let Some(index) = matching.next() {
                let Returned { code, text, .. } = back;
                self.set(index, Published::Unroutable { code, text });
            }
        }
    }

    /// The places of the messages with such a result.
    pub(super) fn places(&self, wanted: impl Fn(&Message, &Published) -> bool) -> Vec<usize> {
        let results = self.messages.iter().zip(&self.results).enumerate();
        results
            .filter_map(|(index, (message, result))| wanted(message, result.as_ref()?).then_some(index))
            .collect()
    }

    /// True if the message failed with its channel, for a reason that could be another message's.
    pub(super) fn may_be_innocent(&self, index: usize) -> bool {
        match &self.results[index] {
            Some(Published::Failed(Error::ChannelEnded(_) | Error::NotPermitted(_))) => true,
            Some(Published::Failed(Error::MissingExchange(missing))) => {
                *missing != self.messages[index].exchange
            }
            _ => false,
        }
    }

    /// The places of these messages, by exchange.
    pub(super) fn innocent(&self) -> Vec<Vec<usize>> {
        let mut by_exchange: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, message) in self.messages.iter().enumerate() {
            if self.may_be_innocent(index) {
                let group = by_exchange.entry(&message.exchange).or_default();
                group.push(index);
            }
        }
        by_exchange.into_values().collect()
    }

    pub(super) fn finish(self) -> Vec<Published> {
        let result = |(message, result): (&Message, Option<Published>)| match result {
            // Said of another message of the batch; this one only shared the channel.
            Some(Published::Failed(Error::MissingExchange(missing))) if missing != message.exchange => {
                let text = format!("another message named the missing exchange {missing:?}");
                Published::Failed(Error::ChannelEnded(text))
            }
            Some(result) => result,
            None => Published::Failed(Error::ChannelEnded("not sent".to_owned())),
        };
        self.messages.iter().zip(self.results).map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(exchange: &str, key: &str) -> Message {
        Message::json(exchange, key, key.as_bytes().to_vec())
    }

    fn missing(exchange: &str) -> Published {
        Published::Failed(Error::MissingExchange(exchange.to_owned()))
    }

    #[test]
    fn amqp_1_a_returned_message_is_recognised_by_its_content() {
        let messages = [message("e", "taken"), message("e", "nowhere")];
        let mut results = Results::new(&messages);
        results.set_all(&[0, 1], &Published::Confirmed);
        let back = Returned {
            exchange: "e".to_owned(),
            key: "nowhere".to_owned(),
            message_id: None,
            body: b"nowhere".to_vec(),
            code: 312,
            text: "NO_ROUTE".to_owned(),
        };
        results.attribute(&[0, 1], vec![(0, back)]);
        let results = results.finish();
        assert_eq!(results[0], Published::Confirmed);
        assert!(matches!(results[1], Published::Unroutable { code: 312, .. }));
    }

    #[test]
    fn amqp_1_only_the_message_with_the_missing_exchange_is_at_fault() {
        let messages = [message("a", "1"), message("b", "2"), message("a", "3")];
        let mut results = Results::new(&messages);
        results.set_all(&[0, 1, 2], &missing("b"));
        assert_eq!(results.innocent(), [vec![0, 2]]);
        let results = results.finish();
        assert_eq!(results[1], missing("b"));
        assert!(matches!(
            &results[0],
            Published::Failed(error) if error.is_transient()
        ));
    }
}
