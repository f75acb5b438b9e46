//! Frames to the broker that come too late: those of a channel whose end has been sent.
//!
//! The client library sends `channel.close` and `channel.close-ok` ahead of messages that it was given
//! before. A broker takes a frame of a channel that has ended for a fault of the whole connection
//! (AMQP 0-9-1, section 4.9), so one missing exchange would cost all other channels their connection.

use std::collections::HashSet;

use super::{FRAME_HEAD, FRAME_TAIL, METHOD, PROTOCOL_HEADER, PROTOCOL_HEADER_LENGTH};

/// Head of a frame with class and method.
const METHOD_HEAD: usize = FRAME_HEAD + 4;

const CHANNEL: u16 = 20;
const OPEN: u16 = 10;
const CLOSE: u16 = 40;
const CLOSE_OK: u16 = 41;

/// Follows what is written on one connection, and leaves out frames that come too late.
#[derive(Debug, Default)]
pub(crate) struct LateFrames {
    /// Numbers of channels that have been closed and not been opened again.
    closed: HashSet<u16>,
    /// Front of the present frame, until it is known what the frame is.
    head: Vec<u8>,
    /// Bytes of the present frame that are still to come.
    rest: usize,
    /// True if the present frame is left out.
    is_late: bool,
}

impl LateFrames {
    /// Appends what the broker may get of `bytes`, which go on where the last call stopped.
    pub(crate) fn filter(&mut self, mut bytes: &[u8], kept: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.rest == 0 {
                let missing = self.head_length() - self.head.len();
                let (head, rest) = bytes.split_at(missing.min(bytes.len()));
                self.head.extend_from_slice(head);
                bytes = rest;
                if self.head.len() == self.head_length() {
                    self.start(kept);
                }
                continue;
            }
            let (part, rest) = bytes.split_at(self.rest.min(bytes.len()));
            if !self.is_late {
                kept.extend_from_slice(part);
            }
            self.rest -= part.len();
            bytes = rest;
        }
    }

    /// Bytes that say what the present frame is. No frame is as short as the head of another kind.
    fn head_length(&self) -> usize {
        if self.head.first() == Some(&METHOD) { METHOD_HEAD } else { FRAME_HEAD }
    }

    /// Decides on the frame whose head is complete.
    fn start(&mut self, kept: &mut Vec<u8>) {
        let number = |at: usize| u16::from_be_bytes([self.head[at], self.head[at + 1]]);
        let whole = if self.head.starts_with(&PROTOCOL_HEADER) {
            PROTOCOL_HEADER_LENGTH
        } else {
            let size = u32::from_be_bytes([self.head[3], self.head[4], self.head[5], self.head[6]]);
            FRAME_HEAD + size as usize + FRAME_TAIL
        };
        let channel = number(1);
        let method = (self.head[0] == METHOD).then(|| (number(FRAME_HEAD), number(FRAME_HEAD + 2)));
        if method == Some((CHANNEL, OPEN)) {
            self.closed.remove(&channel);
        }
        // Both sides may close a channel at once: then each still confirms the end of the other.
        self.is_late = self.closed.contains(&channel) && method != Some((CHANNEL, CLOSE_OK));
        if matches!(method, Some((CHANNEL, CLOSE | CLOSE_OK))) {
            self.closed.insert(channel);
        }
        if !self.is_late {
            kept.extend_from_slice(&self.head);
        }
        self.rest = whole.saturating_sub(self.head.len());
        self.head.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
        let size = u32::try_from(payload.len()).unwrap();
        [&[kind][..], &channel.to_be_bytes(), &size.to_be_bytes(), payload, &[0xce]].concat()
    }

    fn method(channel: u16, class: u16, method: u16) -> Vec<u8> {
        frame(METHOD, channel, &[&class.to_be_bytes()[..], &method.to_be_bytes(), b"arguments"].concat())
    }

    /// A message of two parts.
    fn message(channel: u16) -> Vec<u8> {
        [
            method(channel, 60, 40),
            frame(2, channel, b"header"),
            frame(3, channel, b"body"),
            frame(3, channel, b""),
        ]
        .concat()
    }

    /// Bytes that are kept of frames that are written in pieces of some length.
    fn kept(frames: &[Vec<u8>], piece: usize) -> Vec<u8> {
        let (mut late, mut kept) = (LateFrames::default(), Vec::new());
        for bytes in frames.concat().chunks(piece) {
            late.filter(bytes, &mut kept);
        }
        kept
    }

    #[test]
    fn amqp_1_what_comes_after_the_end_of_its_channel_is_left_out_however_it_is_cut() {
        let heartbeat = frame(8, 0, b"");
        let open = |channel| method(channel, CHANNEL, OPEN);
        for end in [CLOSE, CLOSE_OK] {
            let sent = [
                b"AMQP\x00\x00\x09\x01".to_vec(),
                open(1),
                open(2),
                message(1),
                method(1, CHANNEL, end),
                message(1),
                heartbeat.clone(),
                message(2),
                message(1),
                method(1, CHANNEL, CLOSE_OK),
                open(1),
                message(1),
            ];
            let expected: Vec<Vec<u8>> = sent
                .iter()
                .enumerate()
                .filter(|(index, _)| ![5, 8].contains(index))
                .map(|(_, one)| one.clone())
                .collect();
            for piece in [1, 2, 3, 7, 8, 10, 11, 12, 40, 1000] {
                assert_eq!(kept(&sent, piece), expected.concat(), "{end} in pieces of {piece}");
            }
        }
    }
}
