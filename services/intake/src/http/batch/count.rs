//! Counts the items of a batch in the bytes as they come, without keeping or reading them. Right for
//! whatever is JSON; what is not is found when it is read.

/// Form in which the items stand in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchFormat {
    /// Elements of one JSON array.
    Array,
    /// Items on a line each.
    Lines,
}

/// Counter of the items so far.
#[derive(Debug)]
pub(super) struct ItemCounter {
    form: BatchFormat,
    items: usize,
    /// True if the present item has begun.
    begun: bool,
    depth: usize,
    in_text: bool,
    escaped: bool,
}

impl ItemCounter {
    pub(super) const fn new(form: BatchFormat) -> Self {
        Self { form, items: 0, begun: false, depth: 0, in_text: false, escaped: false }
    }

    /// Takes the next bytes, and returns the number of items that have begun by then.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        for byte in bytes {
            match self.form {
                BatchFormat::Array => self.of_array(*byte),
                BatchFormat::Lines => self.of_lines(*byte),
            }
        }
        self.items
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.items += 1;
        }
    }

    fn of_lines(&mut self, byte: u8) {
        match byte {
            b'\n' => self.begun = false,
            other if other.is_ascii_whitespace() => {}
            _ => self.begin(),
        }
    }

    fn of_array(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        let top = self.depth == 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => return,
            b',' if top => {
                self.begun = false;
                return;
            }
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                return;
            }
            b'[' | b'{' => self.depth += 1,
            b'"' => self.in_text = true,
            _ => {}
        }
        if top {
            self.begin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(form: BatchFormat, text: &str) -> usize {
        let whole = ItemCounter::new(form).feed(text.as_bytes());
        let mut bytewise = ItemCounter::new(form);
        text.as_bytes().chunks(1).for_each(|byte| {
            bytewise.feed(byte);
        });
        assert_eq!(bytewise.items, whole, "{text}");
        whole
    }

    #[test]
    fn ord_1_elements_are_counted_as_json_has_them() {
        for (text, items) in [
            ("[]", 0),
            (" [ ] ", 0),
            ("[1]", 1),
            ("[1, 2,\n3]", 3),
            (r#"[{"a": [1, 2], "b": {"c": "],["}}, "\",\\", [], {}]"#, 4),
            (r#"["a,b\\\",", ","]"#, 2),
        ] {
            assert_eq!(counted(BatchFormat::Array, text), items, "{text}");
        }
        assert_eq!(
            counted(BatchFormat::Array, &format!("[{}]", vec!["{\"id\":\"a,b\"}"; 5000].join(","))),
            5000
        );
    }

    #[test]
    fn ord_1_lines_without_anything_do_not_count() {
        for (text, items) in [("", 0), ("\n \r\n\n", 0), ("x", 1), ("x\n", 1), ("{}\n\n{}\r\n  {}", 3)] {
            assert_eq!(counted(BatchFormat::Lines, text), items, "{text:?}");
        }
        assert_eq!(counted(BatchFormat::Lines, &"x\n".repeat(5000)), 5000);
    }
}
