//! Request for TLS on a connection that is not encrypted yet (RFC 4511, 4.14).
//!
//! The library can ask for it, too, but reads answers of any length and any depth: somebody who can change what passes on the network
//! could end the process with one. Here nothing but one short, flat message is read before TLS.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Message 1: an extended request with the name `1.3.6.1.4.1.1466.20037`.
const REQUEST: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
/// Longest answer, in bytes: a result code, and a sentence of the directory.
const MAX_ANSWER: usize = 4096;
/// Tags of BER.
const SEQUENCE: u8 = 0x30;
const ENUMERATED: u8 = 0x0a;
/// Tag of an extended response.
const EXTENDED_RESPONSE: u8 = 0x78;

/// Asks for TLS. Nothing behind the answer is read: it belongs to the handshake.
///
/// # Errors
/// The connection fails, the answer is not LDAP, or the directory refuses.
pub(super) async fn ask<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("StartTLS failed: {error}");
    stream.write_all(REQUEST).await.map_err(failed)?;
    stream.flush().await.map_err(failed)?;
    let mut answer = vec![0; 2];
    stream.read_exact(&mut answer).await.map_err(failed)?;
    let bytes_of_length = if answer[1] & 0x80 == 0 { 0 } else { usize::from(answer[1] & 0x7f) };
    let no_answer = || "StartTLS failed: the answer is not LDAP".to_owned();
    if answer[0] != SEQUENCE || bytes_of_length > 4 {
        return Err(no_answer());
    }
    read_on(stream, &mut answer, bytes_of_length).await.map_err(failed)?;
    let length = length(&answer[1..]).map(|(length, _)| length).filter(|length| *length <= MAX_ANSWER);
    read_on(stream, &mut answer, length.ok_or_else(no_answer)?).await.map_err(failed)?;
    match result_code(&answer).ok_or_else(no_answer)? {
        0 => Ok(()),
        code => Err(format!("the directory refuses StartTLS: result code {code}")),
    }
}

async fn read_on<S: AsyncRead + Unpin>(
    stream: &mut S,
    into: &mut Vec<u8>,
    count: usize,
) -> std::io::Result<()> {
    let from = into.len();
    into.resize(from + count, 0);
    stream.read_exact(&mut into[from..]).await.map(|_| ())
}

/// Result code of a message that is an extended response.
fn result_code(message: &[u8]) -> Option<u8> {
    let content = element(message, SEQUENCE)?.0;
    let (_, operation) = element(content, 0x02)?;
    let (result, _) = element(operation, EXTENDED_RESPONSE)?;
    let (code, _) = element(result, ENUMERATED)?;
    if let [code] = code { Some(*code) } else { None }
}

/// Content of an element with this tag, and what stands behind it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, behind) = bytes.split_first()?;
    let (length, content) = length(behind).filter(|_| *first == tag)?;
    content.split_at_checked(length)
}

/// A length, and what stands behind it.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, behind) = bytes.split_first()?;
    if first & 0x80 == 0 {
        return Some((usize::from(*first), behind));
    }
    let (digits, behind) =
        behind.split_at_checked(usize::from(first & 0x7f)).filter(|(digits, _)| digits.len() <= 4)?;
    Some((digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit)), behind))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use proptest::prelude::*;

    use super::*;

    /// Asks a directory that answers with these bytes; returns the outcome, and what is left unread.
    fn asked(answer: &[u8]) -> (Result<(), String>, Vec<u8>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (mut ours, mut theirs) = tokio::io::duplex(16 * 1024);
            theirs.write_all(answer).await.unwrap();
            theirs.shutdown().await.unwrap();
            let outcome = ask(&mut ours).await;
            let mut rest = Vec::new();
            ours.read_to_end(&mut rest).await.unwrap();
            drop(ours);
            let mut request = Vec::new();
            theirs.read_to_end(&mut request).await.unwrap();
            assert_eq!(request, REQUEST);
            (outcome, rest)
        })
    }

    #[test]
    fn qlt_9_start_tls_is_granted_or_refused() {
        let granted = b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";
        assert_eq!(asked(&[granted, &b"behind"[..]].concat()), (Ok(()), b"behind".to_vec()));
        // Active Directory writes all lengths with four bytes.
        let long =
            b"\x30\x84\0\0\0\x18\x02\x01\x01\x78\x84\0\0\0\x0f\x0a\x01\x00\x04\x84\0\0\0\0\x04\x84\0\0\0\0";
        assert_eq!(asked(long).0, Ok(()));
        let refused = asked(b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x35\x04\x00\x04\x00").0.unwrap_err();
        assert_eq!(refused, "the directory refuses StartTLS: result code 53");
        for strange in [
            &b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"[..],
            b"HTTP/1.1 400\r\n",
            b"\x30\x84\x7f\xff\xff\xff",
        ] {
            assert_eq!(asked(strange).0.unwrap_err(), "StartTLS failed: the answer is not LDAP");
        }
        assert!(asked(b"").0.unwrap_err().starts_with("StartTLS failed: "));
    }

    proptest! {
        #[test]
        fn qlt_8_no_answer_before_tls_is_trusted(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x30), Just(0x80), Just(0x78)], 0..64)) {
            let (outcome, rest) = asked(&bytes);
            prop_assert!(rest.len() <= bytes.len());
            prop_assert!(outcome.is_err() || result_code(&bytes) == Some(0));
        }
    }
}
