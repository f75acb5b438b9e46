//! Trace contexts (W3C Trace Context): read from clients, kept with orders, and worked out for stages.
//!
//! The context of a stage follows from its order and its number alone. So a stage can name the first and the previous
//! one of its order, whichever worker ran them, and nothing is stored for that.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::id::Attempt;

/// Bytes of a `tracestate` at most: what the standard asks everybody to carry. A longer one is left out.
pub const MAX_STATE_BYTES: usize = 512;

/// Separator of the two headers in the stored text; neither may have it.
const BETWEEN: char = '\n';

/// A place in a trace: what the headers `traceparent` and `tracestate` tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Number of the trace, never zero.
    pub trace: u128,
    /// Number of the span, never zero.
    pub span: u64,
    /// True if the starter of the trace wants it to be recorded.
    pub sampled: bool,
    /// Entries of tracing systems beside it, opaque.
    pub state: Option<Arc<str>>,
}

impl TraceContext {
    /// Reads the two headers; none where the first is not well-formed. A second one that is not is left out alone.
    #[must_use]
    pub fn read(parent: &str, state: Option<&str>) -> Option<Self> {
        let (version, rest) = parent.split_at_checked(2)?;
        // Later versions begin alike, and may go on after the flags.
        let fields = match (version, rest.as_bytes().get(53)) {
            ("00", None) => rest,
            ("00" | "ff", _) => return None,
            (_, None | Some(b'-')) => rest.get(..53)?,
            _ => return None,
        };
        hex(version, 2)?;
        let mut parts = fields.strip_prefix('-')?.split('-');
        let (trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        let trace = hex(trace, 32)?;
        let span = u64::try_from(hex(span, 16)?).ok()?;
        let sampled = hex(flags, 2)? & 1 == 1;
        let whole = parts.next().is_none() && trace != 0 && span != 0;
        whole.then(|| Self { trace, span, sampled, state: state.and_then(read_state) })
    }

    /// Reads the stored text.
    #[must_use]
    pub fn of_stored(text: &str) -> Option<Self> {
        match text.split_once(BETWEEN) {
            Some((parent, state)) => Self::read(parent, Some(state)),
            None => Self::read(text, None),
        }
    }

    /// The text under which it is kept with an order: `traceparent`, and `tracestate` in a second line if there is one.
    #[must_use]
    pub fn stored(&self) -> String {
        let mut text = self.parent();
        if let Some(state) = &self.state {
            text.push(BETWEEN);
            text.push_str(state);
        }
        text
    }

    /// The header `traceparent`.
    #[must_use]
    pub fn parent(&self) -> String {
        let mut text = String::with_capacity(55);
        // Writing into a String cannot fail.
        let _ = write!(text, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled));
        text
    }

    /// The number of the trace, as tools that show traces spell it.
    #[must_use]
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.trace)
    }

    /// The headers by their names.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let state = self.state.as_ref().map(|state| ("tracestate", state.to_string()));
        std::iter::once(("traceparent", self.parent())).chain(state)
    }

    /// The context of a new trace.
    #[must_use]
    pub fn root(trace: u128, span: u64, sampled: bool) -> Self {
        Self { trace: trace.max(1), span: span.max(1), sampled, state: None }
    }

    /// Another span of the same trace.
    #[must_use]
    pub fn with_span(&self, span: u64) -> Self {
        Self { span: span.max(1), ..self.clone() }
    }
}

/// Facts from which the traces of an order follow.
#[derive(Clone, Copy, Debug)]
pub struct TracedOrder<'a> {
    /// The client's id.
    pub id: &'a str,
    /// Moment of the registration: other installations may have an order of the same id.
    pub created_at: Timestamp,
    /// The context that was stored with it.
    pub registration: Option<&'a TraceContext>,
    /// Part of the orders without a stored context that is recorded, from 0 to 1.
    pub ratio: f64,
}

impl TracedOrder<'_> {
    /// The context of the root span of a stage. All stages of an order are recorded, or none.
    #[must_use]
    pub fn stage(&self, attempt: Attempt) -> TraceContext {
        let digest = self.digest(attempt.0);
        let sampled = match self.registration {
            Some(registration) => registration.sampled,
            None => is_sampled(number(&self.digest(0)[..8]) as u64, self.ratio),
        };
        let state = self.registration.and_then(|registration| registration.state.clone());
        let root = TraceContext::root(number(&digest[..16]), number(&digest[16..24]) as u64, sampled);
        TraceContext { state, ..root }
    }

    fn digest(&self, attempt: i32) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.created_at.as_microsecond().to_be_bytes());
        hash.update(attempt.to_be_bytes());
        hash.update(self.id.as_bytes());
        hash.finalize().into()
    }
}

/// True for this part of evenly drawn numbers.
#[must_use]
pub fn is_sampled(drawn: u64, ratio: f64) -> bool {
    // 53 bits fill the mantissa of a double.
    ((drawn >> 11) as f64) < ratio * (1_u64 << 53) as f64
}

fn number(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// Reads a number of `digits` lower-case hexadecimal digits.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let good = text.len() == digits && text.bytes().all(is_digit);
    if good { u128::from_str_radix(text, 16).ok() } else { None }
}

fn read_state(text: &str) -> Option<Arc<str>> {
    let text = text.trim_matches([' ', '\t']);
    let good =
        (1..=MAX_STATE_BYTES).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    good.then(|| text.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn amqp_3_only_well_formed_trace_contexts_are_taken() {
        assert_eq!(TraceContext::read(GOOD, None).unwrap().parent(), GOOD);
        let not_sampled = GOOD.replace("-01", "-00");
        assert_eq!(TraceContext::read(&not_sampled, None).unwrap().parent(), not_sampled);
        for bad in [
            "",
            "0",
            "00-0-0-01",
            "00",
            "заказ",
            &GOOD.to_uppercase(),
            &GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            &format!("{GOOD}-more"),
            &GOOD.replacen("00", "ff", 1),
            &GOOD.replacen("00", "0x", 1),
            &format!("{}x", GOOD.replacen("00", "01", 1)),
            &GOOD[..54],
        ] {
            assert_eq!(TraceContext::read(bad, None), None, "{bad}");
        }
    }

    #[test]
    fn amqp_3_a_later_version_is_read_as_far_as_it_is_known() {
        for later in [GOOD.replacen("00", "01", 1), format!("{}-more", GOOD.replacen("00", "cc", 1))] {
            assert_eq!(TraceContext::read(&later, None).unwrap().parent(), GOOD, "{later}");
        }
    }

    #[test]
    fn amqp_3_the_state_is_carried_and_a_broken_one_is_left_out_alone() {
        let read = |state: &str| TraceContext::read(GOOD, Some(state)).unwrap();
        let context = read(" vendor=1,other=a b ");
        assert_eq!(context.state.as_deref(), Some("vendor=1,other=a b"));
        let headers: Vec<_> = context.headers().collect();
        assert_eq!(headers, [("traceparent", GOOD.into()), ("tracestate", "vendor=1,other=a b".into())]);
        for bad in ["", " ", "a=\n", "ключ=1", &"x".repeat(MAX_STATE_BYTES + 1)] {
            assert_eq!(read(bad).state, None, "{bad}");
        }
    }

    #[test]
    fn telemetry_stages_of_an_order_have_traces_of_their_own_that_anybody_can_name() {
        let registration = TraceContext::read(GOOD, Some("vendor=1"));
        let order = TracedOrder {
            id: "o-1",
            created_at: Timestamp::UNIX_EPOCH,
            registration: registration.as_ref(),
            ratio: 0.0,
        };
        let first = order.stage(Attempt(1));
        assert_eq!(first, order.stage(Attempt(1)));
        assert!(first.sampled && first.state == registration.as_ref().unwrap().state);
        let others = [
            order.stage(Attempt(2)),
            TracedOrder { id: "o-2", ..order }.stage(Attempt(1)),
            TracedOrder { created_at: "2026-01-01T00:00:00Z".parse().unwrap(), ..order }.stage(Attempt(1)),
        ];
        for other in others {
            assert!(other.trace != first.trace && other.span != first.span, "{other:?}");
        }
    }

    #[test]
    fn telemetry_all_stages_of_an_order_are_recorded_or_none() {
        let sampled = |number: i32, attempt, ratio| {
            let id = format!("o-{number}");
            let created_at = Timestamp::UNIX_EPOCH;
            TracedOrder { id: &id, created_at, registration: None, ratio }.stage(Attempt(attempt)).sampled
        };
        let recorded = (0..2000).filter(|number| sampled(*number, 1, 0.25)).count();
        assert!((400..600).contains(&recorded), "{recorded}");
        for number in 0..100 {
            assert_eq!(sampled(number, 1, 0.25), sampled(number, 7, 0.25));
            assert!(sampled(number, 1, 1.0) && !sampled(number, 1, 0.0));
        }
    }

    proptest! {
        #[test]
        fn amqp_3_what_is_stored_is_read_again(trace in 1_u128.., span in 1_u64.., sampled: bool, state in "[ -~]{0,40}") {
            let context = TraceContext { state: read_state(&state), ..TraceContext::root(trace, span, sampled) };
            prop_assert_eq!(TraceContext::of_stored(&context.stored()), Some(context));
        }

        #[test]
        fn amqp_3_any_text_is_read_or_left(parent: String, state: String) {
            if let Some(context) = TraceContext::read(&parent, Some(&state)) {
                prop_assert_eq!(TraceContext::of_stored(&context.stored()), Some(context));
            }
        }
    }
}
