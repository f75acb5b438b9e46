//! Files of tests that were changed at random.

use super::{TEAM_TESTS, read};

proptest::proptest! {
    #[test]
    fn scn_13_qlt_8_no_change_of_a_file_of_tests_breaks_its_reader(
        at in proptest::arbitrary::any::<proptest::sample::Index>(), dropped in 0_usize..12,
        piece in "[\\[\\]{}:,&*!|>'\"#\n\t a-z0-9.-]{0,4}",
    ) {
        let mut letters: Vec<char> = TEAM_TESTS.chars().collect();
        let at = at.index(letters.len());
        let end = (at + dropped).min(letters.len());
        letters.splice(at..end, piece.chars());
        let text: String = letters.into_iter().collect();
        if let Err(faults) = read(&text) {
            let lines = text.matches(['\n', '\r']).count() + 1;
            proptest::prop_assert!(!faults.is_empty());
            proptest::prop_assert!(faults.iter().all(|fault| fault.at.is_none_or(|at| at.line as usize <= lines)));
        }
    }
}
