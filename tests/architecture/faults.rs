//! Pages of rows that must hold (docs/faults.md, docs/security-checks.md): each has every row, and each row names tests that
//! exist, or says why there is none. Never judges whether a test shows what its row says.

use std::collections::BTreeSet;

use crate::tree::{none, read, rust};

struct Row {
    number: u32,
    /// Tests that show it.
    tests: Vec<String>,
    /// Further words about it.
    rest: String,
}

fn rows(page: &str) -> Vec<Row> {
    page.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let number = cells.first()?.parse().ok()?;
            let shown = cells.get(2)?;
            let tests = shown.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            let rest = shown.split('`').step_by(2).collect::<String>();
            Some(Row { number, tests, rest })
        })
        .collect()
}

/// The names of all tests of the project.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in rust() {
        for part in file.text.split("test]\n").skip(1).chain(file.text.split(")]\n").skip(1)) {
            let Some((_, rest)) = part.split_once("fn ") else { continue };
            names.extend(rest.split('(').next().map(|name| name.trim().to_owned()));
        }
    }
    names
}

/// Demands that a page has the rows from 1 to the last, and that each names tests that exist, or says why there is none.
fn demand(page: &str, last: u32) {
    let rows = rows(&read(page));
    let numbers: Vec<u32> = rows.iter().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "rows of {page}");
    let known = tests();
    let unknown: Vec<String> = rows
        .iter()
        .flat_map(|row| row.tests.iter().map(move |test| (row, test)))
        .filter(|(_, test)| !known.contains(*test))
        .map(|(row, test)| format!("{}: {test}", row.number))
        .collect();
    none(&format!("rows of {page} that name a test that does not exist"), &unknown);
    let bare: Vec<String> = rows
        .iter()
        .filter(|row| row.tests.is_empty() && !row.rest.contains("not tried: "))
        .map(|row| row.number.to_string())
        .collect();
    none(&format!("rows of {page} with neither a test nor `not tried: ` and the reason"), &bare);
}

#[test]
fn qlt_5_every_row_of_the_fault_matrix_has_a_test_or_a_reason() {
    demand("docs/faults.md", 58);
}

#[test]
fn qlt_15_every_line_of_the_security_checks_has_a_test_or_a_reason() {
    demand("docs/security-checks.md", 40);
}
