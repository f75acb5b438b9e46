//! Distance between two names. Knows letters only, never what a name stands for.

/// The Damerau–Levenshtein distance in its restricted form: no pair is swapped and then edited.
pub(super) fn mistakes(left: &[char], right: &[char]) -> usize {
    let width = right.len() + 1;
    let mut before: Vec<usize> = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    for (row, letter) in left.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for (column, other) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != other);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && left[row - 1] == *other && right[column - 1] == *letter;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        before = std::mem::replace(&mut above, current);
    }
    above[width - 1]
}
