//! Masks of names and of URL paths: what they match and which of two is the more specific one.
//! Must never allocate while matching, because every answer of every called system comes by here.

mod amqp;

use std::cmp::{Ordering, Reverse};

pub(super) use amqp::{AmqpMask, NoMask, Parts};

/// A name in which `*` stands for any letters, also none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glob(String);

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Greater is more specific: an exact name beats every mask, a longer mask a shorter one.
    pub(crate) fn specificity(&self) -> usize {
        if self.is_exact() {
            return usize::MAX;
        }
        self.0.bytes().filter(|byte| *byte != b'*').count()
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        matches(self.0.as_bytes(), name.as_bytes())
    }

    /// True if some name is matched by both. Tries every pair of places in the two masks once.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        let star = |mask: &[u8], at: usize| mask.get(at) == Some(&b'*');
        let width = right.len() + 1;
        // open[i * width + j]: what stands before place i of one and place j of the other can be
        // matched by one text.
        let mut open = vec![false; (left.len() + 1) * width];
        open[0] = true;
        for i in 0..=left.len() {
            for j in 0..=right.len() {
                if !open[i * width + j] {
                    continue;
                }
                if star(left, i) {
                    open[(i + 1) * width + j] = true;
                }
                if star(right, j) {
                    open[i * width + j + 1] = true;
                }
                let (Some(one), Some(two)) = (left.get(i), right.get(j)) else {
                    continue;
                };
                match (star(left, i), star(right, j)) {
                    (true, false) => open[i * width + j + 1] = true,
                    (false, true) => open[(i + 1) * width + j] = true,
                    (false, false) if one == two => open[(i + 1) * width + j + 1] = true,
                    _ => {}
                }
            }
        }
        open[left.len() * width + right.len()]
    }
}

/// Part of a path mask.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of segments, also none.
    Any,
    /// `*`, a name, or a name with `*` in it: one segment.
    One(Glob),
}

/// A mask of URL paths such as `/shop/*/items/**`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathMask {
    text: String,
    segments: Vec<Segment>,
}

impl PathMask {
    pub(crate) fn new(text: &str) -> Self {
        let read = segments(text)
            .map(|part| match part {
                "**" => Segment::Any,
                part => Segment::One(Glob::new(part)),
            })
            .collect();
        let parts: Vec<&str> = segments(text).collect();
        Self { text: format!("/{}", parts.join("/")), segments: read }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn has_double_star(&self) -> bool {
        self.segments.contains(&Segment::Any)
    }

    /// True if a path is meant; a slash at its end does not count.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let mut mask = self.segments.as_slice();
        let mut rest = segments(path);
        // The last `**` and the path from there on, for one more segment given to it.
        let mut retreat = None;
        loop {
            let here = rest.clone();
            match (mask.split_first(), rest.next()) {
                (Some((Segment::Any, after)), _) => {
                    retreat = Some((after, here.clone()));
                    mask = after;
                    rest = here;
                    continue;
                }
                (None, None) => return true,
                (Some((Segment::One(glob), after)), Some(part)) if glob.matches(part) => {
                    mask = after;
                    continue;
                }
                _ => {}
            }
            let Some((after, mut from)) = retreat.take() else {
                return false;
            };
            if from.next().is_none() {
                return false;
            }
            mask = after;
            rest = from.clone();
            retreat = Some((after, from));
        }
    }

    /// Greater is more specific: more names without a star, fewer `**`, fewer `*`, longer names;
    /// then the one that has the name further to the left; at last the alphabet, so that the order in
    /// the file never matters.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.weight().cmp(&other.weight()).then_with(|| {
            let exact = |mask: &Self| -> Vec<bool> {
                let exact = |segment: &Segment| matches!(segment, Segment::One(glob) if glob.is_exact());
                mask.segments.iter().map(exact).collect()
            };
            exact(self).cmp(&exact(other)).then_with(|| self.text.cmp(&other.text))
        })
    }

    fn weight(&self) -> (usize, Reverse<usize>, Reverse<usize>, usize) {
        let (mut exact, mut any, mut starred, mut letters) = (0, 0, 0, 0);
        for segment in &self.segments {
            match segment {
                Segment::Any => any += 1,
                Segment::One(glob) => {
                    letters += glob.as_str().bytes().filter(|byte| *byte != b'*').count();
                    if glob.is_exact() {
                        exact += 1;
                    } else {
                        starred += 1;
                    }
                }
            }
        }
        (exact, Reverse(any), Reverse(starred), letters)
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split('/').filter(|part| !part.is_empty())
}

/// Matches with one retreat: a later star makes earlier ones final, so that no mask takes more
/// than the product of the two lengths.
fn matches(mask: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut retreat = None;
    loop {
        match mask.get(at) {
            Some(b'*') => {
                retreat = Some((at + 1, read));
                at += 1;
                continue;
            }
            None if read == text.len() => return true,
            Some(letter) if text.get(read) == Some(letter) => {
                at += 1;
                read += 1;
                continue;
            }
            _ => {}
        }
        let Some((after, from)) = retreat.filter(|(_, from)| *from < text.len()) else {
            return false;
        };
        retreat = Some((after, from + 1));
        at = after;
        read = from + 1;
    }
}
