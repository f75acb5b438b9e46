//! The proof is the library itself: what passes the mender is read by its own parsers.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use lapin::{
    protocol::basic::parse_properties,
    types::{AMQPValue, parsing::parse_field_table},
};
use proptest::prelude::*;

use super::*;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&[kind, 0, 1][..], &size, payload, &[0xce]].concat()
}

fn short(text: &[u8]) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()][..], text].concat()
}

fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat()
}

/// The payload of a content header: each property that is there, in the order of the flags.
fn content_header(flags: u16, properties: &[u8]) -> Vec<u8> {
    [&[0, 60, 0, 0][..], &7_u64.to_be_bytes(), &flags.to_be_bytes(), properties].concat()
}

const HEADERS: u16 = 1 << 13;
const CORRELATION_ID: u16 = 1 << 10;

fn mended(frames: &[u8]) -> Vec<u8> {
    let mut bytes = frames.to_vec();
    assert_eq!(Mender::default().mend(&mut bytes), Ok(bytes.len()));
    bytes
}

fn nested_lists(depth: usize) -> Vec<u8> {
    (0..depth).fold(vec![b'V'], |inner, _| [&b"A"[..], &long(&inner)].concat())
}

#[test]
fn amqp_1_text_that_is_no_utf_8_is_replaced_byte_for_byte() {
    let payload = content_header(CORRELATION_ID, &short(b"caf\xe9 \xc3\xa9\xc3"));
    let frames = mended(&frame(CONTENT_HEADER, &payload));
    let (rest, properties) = parse_properties(&frames[FRAME_HEAD + 12..frames.len() - 1]).unwrap();
    assert!(rest.is_empty());
    assert_eq!(properties.correlation_id().as_ref().unwrap().as_str(), "caf\u{1a} é\u{1a}");
}

#[test]
fn amqp_1_a_routing_key_that_is_no_utf_8_is_replaced() {
    let payload = [
        &[0, 60, 0, 60][..],
        &short(b"tag"),
        &9_u64.to_be_bytes(),
        &[0],
        &short(b"pagurus.orders"),
        &short(b"\xff\xfe"),
    ]
    .concat();
    let frames = mended(&frame(METHOD, &payload));
    assert!(frames.ends_with(&[2, SUBSTITUTE, SUBSTITUTE, 0xce]));
}

#[test]
fn amqp_1_headers_are_read_to_their_greatest_depth_and_kept_as_bytes_below() {
    for depth in [1, MAX_HEADER_DEPTH, MAX_HEADER_DEPTH + 1, 5_000] {
        let table = [&short(b"n")[..], &nested_lists(depth)].concat();
        let frames = mended(&frame(CONTENT_HEADER, &content_header(HEADERS, &long(&table))));
        let (_, properties) = parse_properties(&frames[FRAME_HEAD + 12..frames.len() - 1]).unwrap();
        let mut value = properties.headers().as_ref().unwrap().inner().get("n").unwrap();
        let mut levels = 0;
        while let AMQPValue::FieldArray(list) = value {
            levels += 1;
            value = &list.as_slice()[0];
        }
        assert_eq!(levels, depth.min(MAX_HEADER_DEPTH));
        assert_eq!(matches!(value, AMQPValue::ByteArray(_)), depth > MAX_HEADER_DEPTH, "{depth}");
    }
}

#[test]
fn amqp_1_a_table_that_cannot_be_walked_becomes_one_value_of_bytes() {
    for broken in [&b"\x01n?"[..], b"\x05n", b"\x01nS\xff\xff\xff\xff....", b"\x00V\x00?"] {
        let frames = mended(&frame(CONTENT_HEADER, &content_header(HEADERS, &long(broken))));
        let (_, properties) = parse_properties(&frames[FRAME_HEAD + 12..frames.len() - 1]).unwrap();
        assert!(!properties.headers().as_ref().unwrap().inner().is_empty(), "{broken:?}");
    }
}

#[test]
fn amqp_1_what_is_legible_stays_as_it_is() {
    let table =
        [&short("größe".as_bytes())[..], &nested_lists(3), &short(b"t"), b"S", &long(b"\xff")].concat();
    let payload = content_header(HEADERS | CORRELATION_ID, &[long(&table), short("é".as_bytes())].concat());
    let frames = [
        b"AMQP\x00\x00\x09\x01".to_vec(),
        frame(CONTENT_HEADER, &payload),
        frame(3, b"\xff\xfe a body of any bytes"),
        frame(8, b""),
    ]
    .concat();
    assert_eq!(mended(&frames), frames);
}

#[test]
fn amqp_1_a_frame_without_end_is_refused_before_it_is_gathered() {
    let mut bytes = [METHOD, 0, 1, 0xff, 0xff, 0xff, 0xff, 0];
    assert_eq!(Mender::default().mend(&mut bytes), Err(TooLong(u32::MAX as usize)));
}

proptest! {
    /// However the bytes come in, the same goes out, and nothing is held back but an unfinished frame.
    #[test]
    fn amqp_1_pieces_pass_as_the_whole_does(
        frames in prop::collection::vec((1..4_u8, prop::collection::vec(any::<u8>(), 0..60)), 1..8),
        cuts in prop::collection::vec(1..40_usize, 1..200),
    ) {
        let stream: Vec<u8> = frames.iter().flat_map(|(kind, payload)| frame(*kind, payload)).collect();
        let whole = mended(&stream);
        let (mut mender, mut held, mut out) = (Mender::default(), Vec::new(), Vec::new());
        let mut rest = &stream[..];
        for cut in cuts.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, later) = rest.split_at(cut.min(rest.len()));
            rest = later;
            held.extend_from_slice(piece);
            let passed = mender.mend(&mut held).unwrap();
            out.extend(held.drain(..passed));
        }
        prop_assert!(held.is_empty());
        prop_assert_eq!(out, whole);
    }

    /// The headers of a mended frame are read, whatever stood there.
    #[test]
    fn amqp_1_any_table_is_legible_when_it_is_mended(
        entries in prop::collection::vec((any::<u8>(), prop::sample::select(&b"VtbBsuUIifDlLdTSxAF?"[..])), 2..60),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut table: Vec<u8> = entries.into_iter().flat_map(|(byte, kind)| [1, byte, kind, byte % 4]).collect();
        table.extend(tail);
        let payload = content_header(HEADERS, &long(&table));
        let frames = mended(&frame(CONTENT_HEADER, &payload));
        let read = parse_field_table(&frames[FRAME_HEAD + 14..frames.len() - 1]);
        prop_assert!(read.is_ok(), "{:?}", read);
    }
}
