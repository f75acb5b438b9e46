//! No circles among the rooms of a crate: what is below never asks for what is above it.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{none, rust};

/// Rooms that know each other, with the reason. The list may only shrink.
const KNOWN: [(&str, &str, &str); 2] = [
    ("shared/domain", "order scenario activation", "an order names its scenario, and a stage its order"),
    ("services/cli", "failure screen", "a failure is shown, and showing may fail"),
];

/// Rooms of a crate with the rooms that each one imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// First words of the paths that stand in the braces of a `use`; the text begins behind the first brace.
fn first_words(list: &str) -> Vec<String> {
    let (mut depth, mut words, mut word) = (0_i32, Vec::new(), String::new());
    for sign in list.chars() {
        match sign {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let first = word.split("::").next().unwrap_or_default().trim().to_owned();
                words.push(first.split_whitespace().next().unwrap_or_default().to_owned());
                word.clear();
                if sign == '}' {
                    break;
                }
            }
            _ => word.push(sign),
        }
    }
    words
}

/// Rooms that a text names by `crate::`.
fn named(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        if let Some(list) = rest.strip_prefix('{') {
            found.extend(first_words(list));
        } else {
            found.insert(rest.chars().take_while(|sign| sign.is_alphanumeric() || *sign == '_').collect());
        }
    }
    found
}

fn imports() -> BTreeMap<String, Imports> {
    let mut crates: BTreeMap<String, Imports> = BTreeMap::new();
    for source in rust() {
        let Some((folder, path)) = source.path.split_once("/src/") else { continue };
        let room = path.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        if matches!(room.as_str(), "lib" | "main") {
            continue;
        }
        let code: Vec<&str> =
            source.code().lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        crates.entry(folder.to_owned()).or_default().entry(room).or_default().extend(named(&code.join("\n")));
    }
    for rooms in crates.values_mut() {
        let known: BTreeSet<String> = rooms.keys().cloned().collect();
        for (room, imported) in rooms.iter_mut() {
            imported.retain(|one| one != room && known.contains(one));
        }
    }
    crates
}

/// Everything that a room reaches.
fn reached(rooms: &Imports, from: &str) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(room) = open.pop() {
        for next in rooms.get(&room).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

#[test]
fn architecture_rooms_of_a_crate_import_each_other_in_one_direction() {
    let crates = imports();
    assert!(crates["shared/store"].len() > 15, "the rooms of the store were not found");
    let mut offenders = Vec::new();
    for (folder, rooms) in &crates {
        for room in rooms.keys().filter(|room| reached(rooms, room).contains(*room)) {
            let known = KNOWN
                .iter()
                .any(|(crate_, rooms, _)| crate_ == folder && rooms.split(' ').any(|known| known == room));
            if !known {
                offenders
                    .push(format!("{folder}: {room} imports {:?}, and is imported by them", rooms[room]));
            }
        }
    }
    none("rooms in a circle", &offenders);
    for (folder, rooms, _) in KNOWN {
        let first = rooms.split(' ').next().unwrap_or_default();
        assert!(reached(&crates[folder], first).contains(first), "no circle any more: {folder}, {rooms}");
    }
}

#[test]
fn architecture_the_rule_against_circles_sees_one() {
    let rooms: Imports = [
        ("a", named("use crate::{b, c::{D, e}};")),
        ("b", named("crate::c::f()")),
        ("c", named("use crate::a;")),
    ]
    .map(|(room, imported)| (room.to_owned(), imported))
    .into();
    assert_eq!(rooms["a"], ["b".to_owned(), "c".to_owned()].into());
    assert!(reached(&rooms, "a").contains("a") && !reached(&rooms, "d").contains("d"));
}
