//! Bounds on how many different words are counted apart: a count by what clients name would otherwise
//! hold, and show, as many series as there are names in the world.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// Words of one label that are counted apart at most, over the life of a process: as many as a chart of one
/// scenario a line can hold several times over, and two such labels together stay some ten thousand series.
pub(crate) const MOST_WORDS: usize = 200;
/// Word under which all others are counted.
pub(crate) const OTHER: &str = "other";
/// Longest word, in characters.
const MOST_CHARACTERS: usize = 128;

/// Words of one label, the first that came. Those that come when it is full are [`OTHER`].
#[derive(Debug, Default)]
pub(crate) struct Cap {
    known: RwLock<HashSet<Box<str>>>,
}

impl Cap {
    /// The word under which this one is counted, cut to a length and without control characters.
    pub fn admit(&self, word: &str) -> String {
        // Known words are fit as they are, and most that come are known.
        if self.knows(word) {
            return word.to_owned();
        }
        let word = cut(word);
        if self.knows(&word) {
            return word;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have brought it in between.
        if known.len() >= MOST_WORDS && !known.contains(word.as_str()) {
            return OTHER.to_owned();
        }
        known.insert(word.as_str().into());
        word
    }

    fn knows(&self, word: &str) -> bool {
        self.known.read().unwrap_or_else(PoisonError::into_inner).contains(word)
    }
}

/// A word without control characters, and no longer than may be counted.
pub(crate) fn cut(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beyond_the_cap_are_other_and_the_known_ones_stay() {
        let cap = Cap::default();
        for number in 0..MOST_WORDS {
            assert_eq!(cap.admit(&format!("s-{number}")), format!("s-{number}"));
        }
        assert_eq!(cap.admit("one more"), OTHER);
        assert_eq!(cap.admit("s-7"), "s-7");
        assert_eq!(cap.known.read().unwrap_or_else(PoisonError::into_inner).len(), MOST_WORDS);
    }

    #[test]
    fn a_word_is_cut_and_holds_no_control_characters() {
        let cap = Cap::default();
        assert_eq!(cap.admit("a\0b\nc"), "abc");
        assert_eq!(cap.admit(&"ä".repeat(1000)), "ä".repeat(MOST_CHARACTERS));
    }
}
