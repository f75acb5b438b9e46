//! The calls in each queue, held against the promise: one order at a time, in the order of registration.
//! Never looks at the engine: what counts is what the called system saw.

use std::collections::HashMap;

use super::system::InQueue;

/// Faults in a queue.
pub fn faults(queue: &str, calls: &[InQueue], registered: &HashMap<String, i64>) -> Vec<String> {
    let mut sorted: Vec<&InQueue> = calls.iter().collect();
    sorted.sort_by_key(|(_, call)| call.from);
    let mut faults = Vec::new();
    for pair in sorted.windows(2) {
        let [(one, first), (next, second)] = pair else { continue };
        if one == next {
            continue;
        }
        if first.until > second.from {
            faults.push(format!("{queue}: {one} and {next} overlap"));
        }
        if registered.get(one) > registered.get(next) {
            faults.push(format!("{queue}: {one} ran before {next}"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::system::Noted;
    use super::*;

    #[test]
    fn an_overlap_and_a_wrong_turn_are_seen_and_a_repeat_is_neither() {
        let zero = Instant::now();
        let at = |order: &str, from: u64, until: u64| {
            let time = |ms| zero + Duration::from_millis(ms);
            (order.to_owned(), Noted { path: b'd', key: 1, from: time(from), until: time(until) })
        };
        let registered: HashMap<String, i64> = [("a".to_owned(), 1), ("b".to_owned(), 2)].into();
        assert!(faults("q", &[at("a", 0, 10), at("a", 5, 15), at("b", 15, 20)], &registered).is_empty());
        assert_eq!(faults("q", &[at("a", 0, 10), at("b", 9, 20)], &registered).len(), 1);
        assert_eq!(faults("q", &[at("b", 0, 10), at("a", 10, 20)], &registered).len(), 1);
    }
}
