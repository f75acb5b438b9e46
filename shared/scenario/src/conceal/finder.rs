//! Finds texts in another one, however it spells their characters, in one pass.

use super::reading::{SPECIAL, is_special, readings};

/// Length from which the beginning of a wanted text is recognised at the end of a text that may be cut.
const SHORTEST_PART: usize = 8;
/// Longest spelling of one character that may be cut itself.
const LONGEST_SPELLING: usize = 24;

/// Options of a search.
#[derive(Clone, Copy)]
pub(super) struct FinderOptions {
    /// Wanted texts with fewer bytes are not looked for.
    pub shortest: usize,
    /// True for a text that may be cut: the beginning of a wanted text at its end counts.
    pub may_be_cut: bool,
}

/// Wanted texts.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct SecretFinder {
    wanted: Vec<Box<str>>,
    /// Bytes by which a spelling may go on, by their last seven bits, for each byte by which it may begin. Empty
    /// without wanted texts.
    begins: Vec<u128>,
    /// The first characters of wanted texts: ASCII by its bits, all others as one.
    firsts: (u128, bool),
}

impl SecretFinder {
    /// Adds a text to look for.
    pub fn add(&mut self, wanted: &str) {
        let [first, second, ..] = *wanted.as_bytes() else { return };
        if self.wanted.iter().any(|known| **known == *wanted) {
            return;
        }
        self.wanted.push(wanted.into());
        if self.begins.is_empty() {
            self.begins = vec![0; 256];
            for byte in [b'\\', b'%', b'&'] {
                self.begins[usize::from(byte)] = u128::MAX;
            }
        }
        match first {
            0..=0x7f => self.firsts.0 |= 1 << first,
            _ => self.firsts.1 = true,
        }
        let follow = |byte: u8| 1_u128 << (byte & 0x7f);
        self.begins[usize::from(first)] |=
            SPECIAL.iter().fold(follow(second), |bits, byte| bits | follow(*byte));
        if first == b' ' {
            self.begins[usize::from(b'+')] = u128::MAX;
        }
    }

    pub fn wanted(&self) -> impl Iterator<Item = &str> {
        self.wanted.iter().map(|wanted| &**wanted)
    }

    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The text with every wanted one replaced; none if it holds none. Where several overlap, all of them go.
    pub fn replace(&self, text: &str, by: &str, look: FinderOptions) -> Option<String> {
        let mut out: Option<String> = None;
        let (mut copied, mut at) = (0, 0);
        while let Some((start, mut end)) = self.next(text, at, text.len(), look) {
            let mut inner = start + 1;
            while let Some((other, longer)) = self.next(text, inner, end, look) {
                (inner, end) = (other + 1, end.max(longer));
            }
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(&text[copied..start]);
            out.push_str(by);
            (copied, at) = (end, end);
        }
        let mut out = out?;
        out.push_str(&text[copied..]);
        Some(out)
    }

    /// The first place in these bounds where a wanted text begins, and where the longest ends that begins there.
    fn next(&self, text: &str, from: usize, to: usize, look: FinderOptions) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        for at in from..to {
            let follow = self.begins[usize::from(bytes[at])];
            // The last byte of a text begins nothing that could be known.
            if follow == 0 || bytes.get(at + 1).is_none_or(|next| follow & (1 << (next & 0x7f)) == 0) {
                continue;
            }
            if let Some(end) = self.end_of(text, at, look) {
                return Some((at, end));
            }
        }
        None
    }

    fn end_of(&self, text: &str, start: usize, look: FinderOptions) -> Option<usize> {
        let mut longest = None;
        let (ascii, others) = self.firsts;
        let mut begun = |character: char, end: usize| {
            if !(if character.is_ascii() { ascii >> (character as u32) & 1 == 1 } else { others }) {
                return;
            }
            for wanted in self.wanted.iter().filter(|wanted| wanted.len() >= look.shortest) {
                if wanted.starts_with(character) {
                    let end = follow(text, end, wanted, character.len_utf8(), look.may_be_cut);
                    longest = longest.max(end);
                }
            }
        };
        if is_special(text.as_bytes()[start]) {
            readings(text, start, &mut begun);
        } else if let Some(character) = text.get(start..).and_then(|rest| rest.chars().next()) {
            begun(character, start + character.len_utf8());
        }
        longest
    }
}

/// Returns where the wanted text ends, of which the first `done` bytes were found up to `from`.
fn follow(text: &str, from: usize, wanted: &str, done: usize, may_be_cut: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    // Up to the first byte that may spell something else there is one way to go on.
    let same = |(is, wanted): &(&u8, &u8)| is == wanted && !is_special(**is);
    let plain = bytes[from..].iter().zip(&wanted.as_bytes()[done..]).take_while(same).count();
    if done + plain == wanted.len() {
        return Some(from + plain);
    }
    if bytes.get(from + plain).is_some_and(|byte| !is_special(*byte)) {
        return None;
    }
    let known = wanted.floor_char_boundary(done + plain);
    let mut ends = vec![from + known - done];
    let mut next = Vec::new();
    for (at, character) in wanted[known..].char_indices() {
        if may_be_cut && known + at >= SHORTEST_PART && ends.iter().any(|end| is_cut(&bytes[*end..])) {
            return Some(bytes.len());
        }
        next.clear();
        for end in &ends {
            readings(text, *end, &mut |found, end| {
                if found == character && !next.contains(&end) {
                    next.push(end);
                }
            });
        }
        if next.is_empty() {
            return None;
        }
        std::mem::swap(&mut ends, &mut next);
    }
    ends.into_iter().max()
}

/// True if nothing follows, or no more than a part of the spelling of a character.
fn is_cut(rest: &[u8]) -> bool {
    let is_part = |first: u8| {
        matches!(first, b'\\' | b'%' | b'&')
            && rest.len() < LONGEST_SPELLING
            && rest
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'\\' | b'%' | b'&' | b'#' | b';'))
    };
    rest.first().is_none_or(|first| is_part(*first))
}
