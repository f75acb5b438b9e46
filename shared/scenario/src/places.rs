//! Places of the parts of a text in the file that it was read from: a failure at run time names its line.

use pagurus_domain::document::Position;

/// The places of a text: one for each line of it, and one wherever the file breaks a line that the text does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places(Vec<(Position, Position)>);

impl Places {
    /// Maps the text from `text` on to `file`; called in the order of the text.
    pub fn push(&mut self, text: Position, file: Position) {
        self.0.push((text, file));
    }

    /// Returns the place in the file of a place in the text; `None` if nothing is known of the text.
    pub fn of(&self, at: Position) -> Option<Position> {
        let place = |position: &Position| (position.line, position.column);
        let next = self.0.partition_point(|(text, _)| place(text) <= place(&at));
        let (text, file) = self.0.get(next.checked_sub(1)?)?;
        let further =
            if text.line == at.line { at.column - text.column } else { at.column.saturating_sub(1) };
        Some(Position { line: file.line, column: file.column.saturating_add(further) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_18_a_place_in_a_text_is_found_in_its_file() {
        let at = |line, column| Position { line, column };
        let mut places = Places::default();
        assert_eq!(places.of(at(1, 1)), None);
        places.push(at(1, 1), at(10, 5));
        places.push(at(1, 20), at(11, 7));
        places.push(at(2, 1), at(12, 5));
        for (text, file) in [((1, 1), (10, 5)), ((1, 19), (10, 23)), ((1, 21), (11, 8)), ((2, 4), (12, 8))] {
            assert_eq!(places.of(at(text.0, text.1)), Some(at(file.0, file.1)));
        }
    }
}
