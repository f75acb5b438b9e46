//! Every command line of the documents is one that the program understands. Here are tests only.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};

use crate::CommandLine;

/// Code spans that begin like a command line and are something else: names of sessions at the database.
const NO_COMMANDS: &[&str] = &["pagurus worker-1 recovery"];
/// Languages of blocks whose lines are typed by people.
const TYPED: &[&str] = &["", "sh", "text", "console", "bash"];
/// Ways in which a line of a block calls the program.
const CALLS: &[&str] =
    &["pagurus", "$pagurus", "\"$pagurus\"", "$PAGURUS_BIN/pagurus", "target/debug/pagurus"];

/// A command line, and the file in which it stands.
#[derive(Debug, PartialEq, Eq)]
struct DocumentedCommand {
    file: PathBuf,
    words: Vec<String>,
    /// True in a block, where it must be whole; in a text a command may be named without its arguments.
    is_whole: bool,
}

/// The words of a line as a shell reads them, up to a comment, a pipe, another command or the file for its output.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '<' | ';' | '&') => break,
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Values that people put in place of a word that stands for something of theirs.
fn filled(word: &str) -> String {
    let is_name = word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
    match word {
        "…" | "..." => "1".to_owned(),
        "JSON" => "{}".to_owned(),
        "DURATION" => "1h".to_owned(),
        "TIME" => "2026-12-01T00:00:00Z".to_owned(),
        _ if is_name => "1".to_owned(),
        _ => word.replace(['[', ']'], ""),
    }
}

/// Lines for which a line with alternatives stands: `list|show ID`.
fn alternatives(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let is_quoted = word.contains(['\'', '"']);
        let choices: Vec<&str> = if is_quoted { vec![word] } else { word.split('|').collect() };
        lines = lines
            .iter()
            .flat_map(|line| choices.iter().map(move |choice| format!("{line} {choice}").trim().to_owned()))
            .collect();
    }
    lines
}

/// Command lines of the code spans of a text.
fn of_spans(text: &str) -> Vec<String> {
    // A span goes over the end of a line, and not over that of a paragraph.
    let spans = text.split("\n\n").flat_map(|paragraph| {
        let parts: Vec<String> = paragraph.split('`').map(|part| part.replace('\n', " ")).collect();
        parts.into_iter().skip(1).step_by(2)
    });
    let commands = spans.filter(|span| span.starts_with("pagurus ") && !NO_COMMANDS.contains(&&**span));
    commands.flat_map(|span| alternatives(&span)).collect()
}

/// Command lines of a block.
fn of_block(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.trim().trim_start_matches("$ "));
    lines
        .filter_map(|line| {
            let (call, rest) = line.split_once(' ')?;
            CALLS.contains(&call).then(|| format!("pagurus {rest}"))
        })
        .collect()
}

/// All command lines of a document.
fn found(file: &Path, document: &str) -> Vec<DocumentedCommand> {
    let mut found = Vec::new();
    for (number, part) in document.split("```").enumerate() {
        let is_block = number % 2 == 1;
        let lines = match part.split_once('\n') {
            Some((language, block)) if is_block && TYPED.contains(&language.trim()) => of_block(block),
            _ if is_block => continue,
            _ => of_spans(part),
        };
        found.extend(lines.iter().map(|line| DocumentedCommand {
            file: file.to_owned(),
            words: words(line).iter().map(|word| filled(word)).collect(),
            is_whole: is_block,
        }));
    }
    found
}

/// Returns why the program would not understand a command line; `None` if it would.
fn fault(one: &DocumentedCommand) -> Option<String> {
    let error = CommandLine::try_parse_from(&one.words).err()?;
    let shows = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let lacks = error.kind() == ErrorKind::MissingRequiredArgument && !one.is_whole && is_name(&one.words);
    let message = || format!("{}: `{}`: {error}", one.file.display(), one.words.join(" "));
    (!shows && !lacks).then(message)
}

/// True if words name a command that does something, and nothing of its arguments.
fn is_name(words: &[String]) -> bool {
    let program = CommandLine::command();
    let mut command = &program;
    for word in words.iter().skip(1) {
        match command.find_subcommand(word) {
            Some(inner) => command = inner,
            None => return false,
        }
    }
    !command.is_subcommand_required_set()
}

/// Documents for people in this folder and below.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files
}

#[test]
fn ui_every_command_line_of_the_documents_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    files.extend(["docs", "deploy", "examples"].iter().flat_map(|folder| documents(&root.join(folder))));
    let lines: Vec<DocumentedCommand> =
        files.iter().flat_map(|file| found(file, &fs::read_to_string(file).unwrap())).collect();
    assert!(lines.len() > 150, "only {} command lines were found", lines.len());
    let faults: Vec<String> = lines.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn ui_command_lines_are_found_wherever_they_stand() {
    let document = "See `pagurus order\nget ID`, `pagurus` and `pagurus refused show|drop ID`.\n\n```sh\n\
        $pagurus order list --text 'a b' | head   # all\n. .dev/env\n$PAGURUS_BIN/pagurus flows \\\n  list\n```\n\
        ```json\npagurus nonsense\n```\n";
    let lines: Vec<String> = found(Path::new("a"), document).iter().map(|one| one.words.join(" ")).collect();
    let expected = [
        "pagurus order get 1",
        "pagurus refused show 1",
        "pagurus refused drop 1",
        "pagurus order list --text a b",
        "pagurus flows list",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn ui_what_no_program_understands_is_found() {
    let bad = |document: &str| found(Path::new("a"), document).iter().any(|one| fault(one).is_some());
    for document in [
        "`pagurus flows`",
        "`pagurus order gte ID`",
        "`pagurus order get --limit 1 ID`",
        "```sh\npagurus order get\n```",
    ] {
        assert!(bad(document), "{document}");
    }
    for document in
        ["`pagurus order get`", "`pagurus errors`", "`pagurus --help`", "```sh\npagurus order get ID\n```"]
    {
        assert!(!bad(document), "{document}");
    }
}
