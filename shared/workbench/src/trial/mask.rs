//! Masks of whole lines of text, such as a URL. Must never look inside what it matches.

/// A text in which `*` stands for anything but a slash, and `**` for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextMask {
    text: String,
    parts: Vec<MaskPart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MaskPart {
    Letter(char),
    Star,
    DoubleStar,
}

impl TextMask {
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        for letter in text.chars() {
            match (letter, parts.last()) {
                ('*', Some(MaskPart::Star)) => {
                    parts.pop();
                    parts.push(MaskPart::DoubleStar);
                }
                ('*', Some(MaskPart::DoubleStar)) => {}
                ('*', _) => parts.push(MaskPart::Star),
                (letter, _) => parts.push(MaskPart::Letter(letter)),
            }
        }
        Self { text: text.to_owned(), parts }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// True if the whole text fits. Walks the text once for each part of the mask, whatever both
    /// contain.
    pub(super) fn fits(&self, text: &str) -> bool {
        let letters: Vec<char> = text.chars().collect();
        // open[n]: the parts so far can stand for the first n letters.
        let mut open = vec![false; letters.len() + 1];
        open[0] = true;
        for part in &self.parts {
            let mut next = vec![false; letters.len() + 1];
            for at in 0..=letters.len() {
                next[at] = match part {
                    MaskPart::Letter(letter) => at > 0 && open[at - 1] && letters[at - 1] == *letter,
                    MaskPart::Star => open[at] || (at > 0 && next[at - 1] && letters[at - 1] != '/'),
                    MaskPart::DoubleStar => open[at] || (at > 0 && next[at - 1]),
                };
            }
            open = next;
        }
        open[letters.len()]
    }

    /// True if a URL fits; its query only counts where the mask has one.
    pub(super) fn fits_url(&self, url: &str) -> bool {
        let without = url.split_once('?').map_or(url, |(path, _)| path);
        self.fits(url) || (!self.text.contains('?') && self.fits(without))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_within_a_segment() {
        for (mask, text, fits) in [
            ("http://b/t/*/r", "http://b/t/light/r", true),
            ("http://b/t/*/r", "http://b/t/a/b/r", false),
            ("http://b/t/**/r", "http://b/t/a/b/r", true),
            ("http://b/**", "http://b/", true),
            ("a*", "a", true),
            ("a", "ab", false),
            ("", "", true),
        ] {
            assert_eq!(TextMask::new(mask).fits(text), fits, "{mask} {text}");
        }
    }

    #[test]
    fn a_query_counts_where_the_mask_has_one() {
        assert!(TextMask::new("http://b/x").fits_url("http://b/x?a=1"));
        assert!(TextMask::new("http://b/x?a=*").fits_url("http://b/x?a=1"));
        assert!(!TextMask::new("http://b/x?a=2").fits_url("http://b/x?a=1"));
    }
}
