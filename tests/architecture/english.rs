//! Plain English: words that are kept out of code and documents, and how doc comments start. Each count may only shrink.

use std::collections::BTreeMap;

use crate::tree::{Source, files, none, rust};

/// Words to avoid, each with the most occurrences in Rust code and in documents. What is left is data of tests, or the right
/// word.
const AVOIDED: [(&str, usize, usize); 17] = [
    ("told", 34, 0),
    ("anew", 0, 0),
    ("bear", 0, 0),
    ("bears", 0, 0),
    ("whoever", 0, 0),
    ("so many", 0, 0),
    ("of late", 0, 0),
    ("come of", 0, 0),
    ("comes of", 0, 0),
    ("came of", 0, 0),
    ("become of", 0, 0),
    ("becomes of", 0, 0),
    ("became of", 0, 0),
    ("let go", 0, 0),
    ("lets go", 0, 0),
    ("the begin", 0, 0),
    ("a begin", 0, 0),
];

/// Words with which the doc line of an item says neither what it is nor what it does.
const VAGUE: [&str; 14] = [
    "One", "What", "Where", "How", "It", "Which", "Of", "Its", "Those", "Since", "As", "So", "They",
    "Whether",
];

/// Type names that stand more than once in the product, private ones included.
const MAX_SHARED_NAMES: usize = 7;

/// The words of a text in lower case; those of an identifier are words, too.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_lower = false;
    for sign in text.chars() {
        let starts_word = !sign.is_alphabetic() || (sign.is_uppercase() && is_lower);
        is_lower = sign.is_lowercase();
        if starts_word && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphabetic()) {
            word.extend(sign.to_lowercase());
        }
    }
    words
}

/// Occurrences of each avoided phrase in these files.
fn occurrences(sources: &[Source]) -> BTreeMap<&'static str, usize> {
    let mut found = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.path.ends_with("architecture/english.rs")) {
        let words = words(&source.text);
        for (phrase, ..) in AVOIDED {
            let wanted: Vec<&str> = phrase.split(' ').collect();
            let is_here =
                |window: &&[String]| window.iter().zip(&wanted).all(|(word, wanted)| word == wanted);
            *found.entry(phrase).or_default() += words.windows(wanted.len()).filter(is_here).count();
        }
    }
    found
}

#[test]
fn architecture_words_to_avoid_become_fewer() {
    let (code, documents) = (occurrences(&rust()), occurrences(&files(&[".md"])));
    let offenders: Vec<String> = AVOIDED
        .iter()
        .filter(|(phrase, most, most_in_documents)| {
            (code[phrase], documents[phrase]) != (*most, *most_in_documents)
        })
        .map(|(phrase, ..)| format!("(\"{phrase}\", {}, {}),", code[phrase], documents[phrase]))
        .collect();
    none("words to avoid whose counts differ: write them plainly, or lower the count", &offenders);
}

#[test]
fn architecture_doc_lines_say_what_a_thing_is_or_does() {
    let mut vague = Vec::new();
    for source in rust() {
        let lines: Vec<&str> = source.text.lines().map(str::trim_start).collect();
        for (number, line) in lines.iter().enumerate() {
            let is_first = number == 0 || !lines[number - 1].starts_with("///");
            let begin = line.strip_prefix("/// ").and_then(|text| text.split([' ', ',', '.']).next());
            if is_first && begin.is_some_and(|word| VAGUE.contains(&word)) {
                vague.push(format!("{}:{}: {line}", source.path, number + 1));
            }
        }
    }
    none("doc lines that say neither what a thing is nor what it does", &vague);
}

#[test]
fn architecture_few_type_names_stand_more_than_once() {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let sources = rust();
    let is_product =
        |source: &&Source| source.path.starts_with("shared/") || source.path.starts_with("services/");
    for source in sources.iter().filter(is_product) {
        // The name of an associated type is the trait's.
        for line in source.code().lines().filter(|line| !line.starts_with("    type ")).map(str::trim_start) {
            let mut words = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
            let kind = words.find(|word| !matches!(*word, "pub" | "crate" | "super" | "in" | ""));
            if matches!(kind, Some("struct" | "enum" | "trait" | "type"))
                && let Some(name) = words.next().filter(|name| name.len() > 1)
            {
                *found.entry(name).or_default() += 1;
            }
        }
    }
    let shared: Vec<String> = found
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    assert!(
        shared.len() <= MAX_SHARED_NAMES,
        "{} type names stand more than once, where {MAX_SHARED_NAMES} may: {}",
        shared.len(),
        shared.join(", ")
    );
}
