//! Form of files: heads, sizes, names, and words that have no place in them. Never judges taste.

use crate::tree::{Source, files, none, read, rust};

/// Lines of a file without its unit tests.
const CODE_LINES: usize = 400;
/// Lines of a file with its unit tests.
const LINES: usize = 600;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "common", "helper", "helpers", "prelude", "types", "manager", "misc"];

/// Words that read a clock or throw dice; the core gets both as arguments.
const CLOCKS_AND_DICE: [&str; 9] = [
    "Instant::now",
    "SystemTime::now",
    "UNIX_EPOCH.elapsed",
    "Timestamp::now",
    "Zoned::now",
    "::now_v7",
    "::new_v4",
    "rand::",
    "thread_rng",
];

/// Words that reach out of the process or depend on the machine; `Duration` is all of `std::time` that the core needs.
const OUTSIDE: [&str; 16] = [
    "std::{",
    "std::env::",
    "std::fs",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "Instant",
    "SystemTime",
    "OsStr",
    "TimeZone::system",
    "TimeZone::try_system",
    "available_parallelism",
];

fn offenders(sources: &[Source], judge: impl Fn(&Source) -> Option<String>) -> Vec<String> {
    sources.iter().filter_map(|source| Some(format!("{}: {}", source.path, judge(source)?))).collect()
}

#[test]
fn architecture_every_file_says_what_it_is_for() {
    let found = offenders(&rust(), |source| {
        (!source.text.starts_with("//! ")).then(|| "no `//!` at its head".into())
    });
    none("files without a head", &found);
}

#[test]
fn architecture_files_stay_short() {
    let found = offenders(&rust(), |source| {
        let (code, all) = (source.code().lines().count(), source.text.lines().count());
        let of_tests = code == 0;
        let fits = if of_tests { all <= CODE_LINES } else { code <= CODE_LINES && all <= LINES };
        (!fits).then(|| format!("{code} lines of code, {all} in all"))
    });
    none("files that should be split by duty", &found);
}

#[test]
fn architecture_names_say_something() {
    let found = offenders(&rust(), |source| {
        let parts = source.path.trim_end_matches(".rs").split('/');
        let empty = parts.clone().find(|part| EMPTY_NAMES.contains(part) || *part == "mod");
        empty.map(|name| format!("`{name}` is no name for a room"))
    });
    none("files named after nothing, or mod.rs", &found);
}

/// SQL is text in this project, so a crude look finds it: a literal that begins with one of its
/// verbs. Outside the store only tests speak it.
#[test]
fn architecture_sql_is_spoken_in_one_crate() {
    let spoken = |text: &str| {
        text.split('"').skip(1).any(|literal| {
            let words: Vec<&str> = literal.split_whitespace().take(3).collect();
            matches!(
                words.as_slice(),
                ["SELECT", ..] | ["INSERT", "INTO", ..] | ["DELETE", "FROM", ..] | ["UPDATE", _, "SET"]
            )
        })
    };
    assert!(spoken("query(\"\n  SELECT 1\")") && spoken("\"UPDATE orders SET x\"") && !spoken("SELECT 1"));
    let found = offenders(&rust(), |source| {
        let at_home = source.path.starts_with("shared/store/") || source.path.starts_with("tests/");
        (!at_home && spoken(&source.text)).then(|| "speaks SQL".into())
    });
    none("SQL outside the store", &found);
}

/// Columns have names: a position says nothing, and two of one type that change places go unseen.
#[test]
fn architecture_columns_are_read_by_name() {
    let by_position = |line: &str| {
        ["get", "try_get", "word"].iter().any(|read| {
            line.match_indices(read).any(|(at, _)| {
                let is_whole = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                let call = line[at + read.len()..]
                    .split_once('(')
                    .filter(|(kind, _)| kind.is_empty() || (kind.starts_with("::<") && kind.ends_with('>')));
                let Some((_, arguments)) = call.filter(|_| is_whole) else { return false };
                let column = if *read == "word" { arguments.split(',').nth(1) } else { Some(arguments) };
                column.is_some_and(|column| column.trim_start().starts_with(|c: char| c.is_ascii_digit()))
            })
        })
    };
    for seen in ["row.get(0)", "row.get::<_, Option<i64>>(12)", "word(&row, 3, \"a\")", "r.try_get(1)?"] {
        assert!(by_position(seen), "{seen}");
    }
    for passed in ["row.get(\"a\")", "row.get::<_, i64>(\"a\")", "word(row, \"a\", \"b\")", "budget(3)"] {
        assert!(!by_position(passed), "{passed}");
    }
    let found = offenders(&rust(), |source| {
        let at_home = source.path.starts_with("shared/store/src/");
        let line = source.code().lines().position(|line| at_home && by_position(line));
        line.map(|line| format!("line {}", line + 1))
    });
    none("columns that are read by position", &found);
}

#[test]
fn architecture_the_core_reads_no_clock_and_throws_no_dice() {
    let found = offenders(&rust(), |source| {
        let code = if source.is_core() { source.code() } else { "" };
        CLOCKS_AND_DICE.iter().find(|word| code.contains(**word)).map(|word| (*word).to_owned())
    });
    none("time and chance are arguments in the core", &found);
}

/// The same as clippy's table in shared/domain/clippy.toml, for whole modules: clippy forbids functions one by one, and a new
/// one would be let in.
#[test]
fn architecture_the_core_names_nothing_outside_of_itself() {
    let found = offenders(&rust(), |source| {
        let code = if source.is_core() { source.code() } else { "" };
        let lines = code.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        let named = lines.flat_map(|line| OUTSIDE.iter().filter(|word| line.contains(**word))).next();
        named.map(|word| (*word).to_owned())
    });
    none("files, network, environment, threads and clocks are none of the core's business", &found);
}

/// The configured prefix stands in front of every name; a whole name is one that ignores it.
#[test]
fn architecture_names_at_the_broker_stand_in_one_table() {
    let found = offenders(&rust(), |source| {
        let ours = source.path.starts_with("shared/") || source.path.starts_with("services/");
        // Attributes of spans are no names at the broker.
        let tables = ["broker/src/topology.rs", "runtime/src/traces/names.rs"];
        let named =
            source.code().contains("\"pagurus.") && !tables.iter().any(|table| source.path.ends_with(table));
        (ours && named && !source.code().contains("\"pagurus.yaml"))
            .then(|| "a whole name at the broker".into())
    });
    none("names outside topology.rs", &found);
}

/// Nothing keeps settings: they change while a process runs, and a kept copy would be outdated. Two files keep
/// those from which something was made, to see when it has to be made again.
#[test]
fn architecture_nobody_keeps_settings() {
    let makers = ["services/worker/src/rules.rs", "shared/runtime/src/scenarios.rs"];
    let keeps = |source: &Source| {
        let mut lines = source.code().lines().map(str::trim);
        lines.any(|line| line.contains(": Arc<Settings>") || line.contains("(Arc<Settings>"))
    };
    let ours = |source: &&Source| {
        let is_there = ["services/", "shared/command/", "shared/runtime/"];
        is_there.iter().any(|room| source.path.starts_with(room))
            && !source.path.starts_with("shared/runtime/src/config")
    };
    let sources = rust();
    let found: Vec<&str> =
        sources.iter().filter(ours).filter(|source| keeps(source)).map(|source| &*source.path).collect();
    assert_eq!(found, makers, "ask `host.settings()` in each turn");
}

#[test]
fn architecture_nothing_is_left_to_do() {
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("X", "XX"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ];
    let found = offenders(&files(&[".rs", ".sql", ".toml", ".yaml", ".md", ".conf"]), |source| {
        let line = source.text.lines().position(|line| words.iter().any(|word| line.contains(word)));
        line.map(|line| format!("line {}", line + 1))
    });
    none("an open end belongs into an issue", &found);
}

/// Links from one page to another lead somewhere.
#[test]
fn architecture_links_of_the_documents_lead_somewhere() {
    let root = crate::tree::root();
    let found = offenders(&files(&[".md"]), |source| {
        let folder = root.join(&source.path).parent().unwrap().to_path_buf();
        let links = source.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let mut inside = links.filter(|link| !link.contains("://") && !link.starts_with('#'));
        let dead = inside.find(|link| !folder.join(link.split('#').next().unwrap()).exists());
        dead.map(|link| format!("`{link}` is not there"))
    });
    none("dead links", &found);
}

/// Files are named without `src`, as far as they need be: `store/patience.rs`.
#[test]
fn architecture_files_that_the_code_map_names_are_there() {
    let paths: Vec<String> =
        rust().iter().map(|source| format!("/{}", source.path.replace("/src/", "/"))).collect();
    let maps = ["ARCHITECTURE.md", "docs/words.md"].map(|path| (path, read(path)));
    let named = maps.iter().flat_map(|(map, text)| {
        let words = text.split('`').skip(1).step_by(2);
        words.filter(|word| word.ends_with(".rs") && !word.contains(' ')).map(move |word| (map, word))
    });
    let found: Vec<String> = named
        .filter(|(_, word)| {
            !paths.iter().any(|path| path.ends_with(&format!("/{}", word.replace("/src/", "/"))))
        })
        .map(|(map, word)| format!("{map}: `{word}` is not there"))
        .collect();
    none("files that are named and not there", &found);
}

/// Texts that are put together at run time reach the database in these files only; each says what they are made of.
const MADE_SQL: [&str; 2] = ["shared/store/src/upkeep/deletion.rs", "shared/store/src/upkeep/migrate.rs"];

#[test]
fn architecture_statements_are_constants() {
    let calls = [
        "execute(",
        "execute_raw(",
        "query(",
        "query_one(",
        "query_opt(",
        "query_raw(",
        "prepare(",
        "prepare_cached(",
    ];
    let found = offenders(&rust(), |source| {
        if !source.path.starts_with("shared/store/src/") || MADE_SQL.contains(&source.path.as_str()) {
            return None;
        }
        let code: String = source.code().split_whitespace().collect();
        let made = calls.iter().any(|call| code.contains(&format!("{call}&format!(")));
        made.then(|| "gives the database a text that is made at run time".to_owned())
    });
    none("name it as a statement, with parameters", &found);
}
