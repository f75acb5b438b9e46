//! Frames from the broker, mended where the client library could not read them.
//!
//! RabbitMQ passes on what publishers write: short strings that are no UTF-8, and headers nested as
//! deep as a frame is long. The library takes the first for a broken connection and overflows its
//! stack over the second, and the message would come again for ever. So frames are looked at before
//! the library sees them, and what it cannot read is replaced *in place*: every mended frame has the
//! length that it had, and nothing has to be put together again. What was mended is reported by
//! [`crate::Delivery::illegible`], so that such a message is put aside and never acted on.
//!
//! Pure: no socket, no clock. Formats are those of AMQP 0-9-1, sections 4.2.3 to 4.2.6, with the
//! types of table fields as RabbitMQ writes them.

mod late;

pub(crate) use late::LateFrames;

/// Stands for each byte of a short string that is no UTF-8: the control character SUBSTITUTE.
pub(crate) const SUBSTITUTE: u8 = 0x1a;
/// Levels of lists and tables in headers; what is nested deeper is kept as bytes.
pub(crate) const MAX_HEADER_DEPTH: usize = 32;
/// Longest frame, in bytes, that is gathered to be looked at. The broker cuts at 128 KiB by default.
const MAX_GATHERED: usize = 16 * 1024 * 1024;

/// Kind, channel and size.
const FRAME_HEAD: usize = 7;
/// Length of the byte after the payload.
const FRAME_TAIL: usize = 1;
/// With this a broker answers a protocol that it does not speak; it has no frame around it.
const PROTOCOL_HEADER: [u8; 4] = *b"AMQP";
const PROTOCOL_HEADER_LENGTH: usize = 8;

const METHOD: u8 = 1;
const CONTENT_HEADER: u8 = 2;

/// Numbers that open the payload of a content header: class, weight, size of the body.
const CONTENT_HEADER_NUMBERS: usize = 12;

/// Kinds of fields that follow one another in a payload.
#[derive(Clone, Copy)]
enum Field {
    /// Bytes that need no look.
    Skip(usize),
    /// Text of at most 255 bytes.
    Short,
    /// Named values.
    Table,
}

use Field::{Short, Skip, Table};

/// The properties of a message, in the order of their flags, the highest bit first.
const PROPERTIES: [Field; 14] = [
    Short,   // content type
    Short,   // content encoding
    Table,   // headers
    Skip(1), // delivery mode
    Skip(1), // priority
    Short,   // correlation id
    Short,   // reply to
    Short,   // expiration
    Short,   // message id
    Skip(8), // timestamp
    Short,   // type
    Short,   // user id
    Short,   // app id
    Short,   // cluster id
];

/// Methods by which the broker repeats text of others, with their class and number: names that a
/// publisher chose, and explanations that the broker cuts at 255 bytes, be it within a character.
const METHODS: [(u16, u16, &[Field]); 6] = [
    (10, 50, &[Skip(2), Short]),                        // connection.close
    (10, 60, &[Short]),                                 // connection.blocked
    (20, 40, &[Skip(2), Short]),                        // channel.close
    (60, 50, &[Skip(2), Short, Short, Short]),          // basic.return
    (60, 60, &[Short, Skip(8), Skip(1), Short, Short]), // basic.deliver
    (60, 71, &[Skip(8), Skip(1), Short, Short]),        // basic.get-ok
];

/// A frame that no broker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message broker announced a frame of {0} bytes, more than {MAX_GATHERED}")]
pub(crate) struct TooLong(usize);

/// Follows the frames of one connection.
#[derive(Debug, Default)]
pub(crate) struct Mender {
    /// Bytes of the present frame that are passed on unseen.
    unseen: usize,
}

impl Mender {
    /// Mends what has come in whole at the front of `bytes`, which go on where the last call
    /// stopped, and returns how many bytes may be passed on.
    pub(crate) fn mend(&mut self, bytes: &mut [u8]) -> Result<usize, TooLong> {
        let mut passed = 0;
        loop {
            let rest = &mut bytes[passed..];
            let unseen = self.unseen.min(rest.len());
            if unseen > 0 {
                self.unseen -= unseen;
                passed += unseen;
                continue;
            }
            let Some((&kind, size)) = head(rest) else { return Ok(passed) };
            if rest.starts_with(&PROTOCOL_HEADER) {
                self.unseen = PROTOCOL_HEADER_LENGTH;
                continue;
            }
            let whole = FRAME_HEAD + size + FRAME_TAIL;
            if kind != METHOD && kind != CONTENT_HEADER {
                self.unseen = whole;
                continue;
            }
            if size > MAX_GATHERED {
                return Err(TooLong(size));
            }
            let Some(frame) = rest.get_mut(..whole) else { return Ok(passed) };
            let payload = &mut frame[FRAME_HEAD..FRAME_HEAD + size];
            // What does not follow the format is left as it is: the library says so.
            let _ = if kind == METHOD { mend_method(payload) } else { mend_properties(payload) };
            passed += whole;
        }
    }
}

/// The kind of the frame at the front, and the size of its payload.
fn head(bytes: &[u8]) -> Option<(&u8, usize)> {
    let (kind, rest) = bytes.split_first()?;
    let size = rest.get(2..6)?.try_into().ok()?;
    Some((kind, usize::try_from(u32::from_be_bytes(size)).ok()?))
}

fn mend_method(payload: &mut [u8]) -> Option<()> {
    let mut cursor = PayloadCursor(payload);
    let (class, method) = (cursor.number_16()?, cursor.number_16()?);
    let (_, _, fields) = METHODS.iter().find(|(of, number, _)| (*of, *number) == (class, method))?;
    fields.iter().try_for_each(|field| cursor.mend(*field))
}

fn mend_properties(payload: &mut [u8]) -> Option<()> {
    let mut cursor = PayloadCursor(payload);
    cursor.take(CONTENT_HEADER_NUMBERS)?;
    let flags = cursor.number_16()?;
    let present = PROPERTIES.iter().enumerate().filter(|(index, _)| flags & (1 << (15 - index)) != 0);
    present.map(|(_, field)| *field).try_for_each(|field| cursor.mend(field))
}

/// The part of a payload that is still to be read; every step is `None` where it is too short.
struct PayloadCursor<'a>(&'a mut [u8]);

impl<'a> PayloadCursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a mut [u8]> {
        let (taken, rest) = std::mem::take(&mut self.0).split_at_mut_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<&'a mut u8> {
        self.take(1)?.first_mut()
    }

    fn number_16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes((&*self.take(2)?).try_into().ok()?))
    }

    /// Bytes after their number in 32 bits.
    fn long(&mut self) -> Option<&'a mut [u8]> {
        let length = u32::from_be_bytes((&*self.take(4)?).try_into().ok()?);
        self.take(usize::try_from(length).ok()?)
    }

    fn mend(&mut self, field: Field) -> Option<()> {
        match field {
            Skip(count) => self.take(count).map(drop),
            Short => self.mend_short(),
            Table => {
                let entries = self.long()?;
                if mend_table(entries, 1).is_none() {
                    make_opaque(entries);
                }
                Some(())
            }
        }
    }

    fn mend_short(&mut self) -> Option<()> {
        let length = usize::from(*self.byte()?);
        make_legible(self.take(length)?);
        Some(())
    }

    /// A value of a table or list on the given level.
    fn mend_value(&mut self, depth: usize) -> Option<()> {
        let kind = self.byte()?;
        match kind {
            b'V' => Some(()),
            b't' | b'b' | b'B' => self.take(1).map(drop),
            b's' | b'u' | b'U' => self.take(2).map(drop),
            b'I' | b'i' | b'f' => self.take(4).map(drop),
            b'D' => self.take(5).map(drop),
            b'l' | b'L' | b'd' | b'T' => self.take(8).map(drop),
            b'S' | b'x' => self.long().map(drop),
            b'A' | b'F' if depth > MAX_HEADER_DEPTH => {
                *kind = b'x';
                self.long().map(drop)
            }
            b'A' => mend_list(self.long()?, depth + 1),
            b'F' => mend_table(self.long()?, depth + 1),
            _ => None,
        }
    }
}

fn mend_list(values: &mut [u8], depth: usize) -> Option<()> {
    let mut cursor = PayloadCursor(values);
    while !cursor.0.is_empty() {
        cursor.mend_value(depth)?;
    }
    Some(())
}

fn mend_table(entries: &mut [u8], depth: usize) -> Option<()> {
    let mut cursor = PayloadCursor(entries);
    while !cursor.0.is_empty() {
        cursor.mend_short()?;
        cursor.mend_value(depth)?;
    }
    Some(())
}

/// Puts [`SUBSTITUTE`] for each byte that belongs to no character.
fn make_legible(text: &mut [u8]) {
    if std::str::from_utf8(text).is_ok() {
        return;
    }
    let mut at = 0;
    let mut broken = Vec::new();
    for chunk in text.utf8_chunks() {
        at += chunk.valid().len();
        broken.push(at..at + chunk.invalid().len());
        at += chunk.invalid().len();
    }
    for range in broken {
        text[range].fill(SUBSTITUTE);
    }
}

/// Makes one value of bytes, under a name of [`SUBSTITUTE`], of a table that cannot be walked.
fn make_opaque(entries: &mut [u8]) {
    const HEAD: usize = 7;
    let length = entries.len();
    if let Some(bytes) = length.checked_sub(HEAD).and_then(|bytes| u32::try_from(bytes).ok()) {
        entries[..3].copy_from_slice(&[1, SUBSTITUTE, b'x']);
        entries[3..HEAD].copy_from_slice(&bytes.to_be_bytes());
        return;
    }
    // Too short for that: names without a value, the first of one byte where the length is odd.
    let (odd, pairs) = entries.split_at_mut(if length % 2 == 1 { 3.min(length) } else { 0 });
    odd.iter_mut().zip([1, SUBSTITUTE, b'V']).for_each(|(byte, put)| *byte = put);
    pairs.chunks_exact_mut(2).for_each(|pair| pair.copy_from_slice(&[0, b'V']));
}

#[cfg(test)]
mod tests;
