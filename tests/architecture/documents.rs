//! The words of the documents about scenarios are true: each word of the language is explained, and each
//! snippet is a scenario that passes its check and its tests. Never judges prose.

use std::collections::BTreeSet;
use std::sync::Arc;

use pagurus_domain::classes;
use pagurus_domain::document::Fault;
use pagurus_domain::operation::BulkKind;
use pagurus_scenario::deployment::Deployment;
use pagurus_scenario::script::{ROOTS, Scripting};
use pagurus_scenario::{Bounds, Library, LibraryEntry, Scenario, source};
use pagurus_workbench::trial;

use crate::tree::{files, none, read, rust};

const REFERENCE: &str = "docs/scenarios.md";

/// Pages whose snippets are tried.
const TRIED: [&str; 6] = [
    "README.md",
    REFERENCE,
    "docs/guides/coming-from.md",
    "docs/guides/first-scenario.md",
    "docs/guides/soap.md",
    "docs/guides/testing-scenarios.md",
];

/// The text of a page between its snippets.
fn prose(page: &str) -> String {
    page.split("```").step_by(2).collect()
}

/// The snippets of this language, from the top.
fn snippets<'p>(page: &'p str, language: &'p str) -> impl Iterator<Item = &'p str> {
    let blocks = page.split("```").skip(1).step_by(2);
    blocks.filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

/// The words that stand in back-ticks.
fn coded(page: &str) -> BTreeSet<String> {
    let spans = prose(page);
    let spans = spans.split('`').skip(1).step_by(2);
    let words = spans.flat_map(|span| span.split(|c: char| !c.is_alphanumeric()));
    words.map(str::to_owned).collect()
}

/// The keys of all mappings that a schema describes, in words.
fn collect_keys(schema: &serde_json::Value, into: &mut BTreeSet<String>) {
    for (name, part) in schema.as_object().into_iter().flatten() {
        if let ("properties", Some(keys)) = (name.as_str(), part.as_object()) {
            let words = keys.keys().flat_map(|key| key.split(|c: char| !c.is_alphanumeric()));
            into.extend(words.map(str::to_owned));
        }
        collect_keys(part, into);
    }
    schema.as_array().into_iter().flatten().for_each(|part| collect_keys(part, into));
}

/// The words of the language: keys of every mapping that the reader knows, actions, and roots of values.
fn words() -> BTreeSet<String> {
    let mut words: BTreeSet<String> = ROOTS.iter().map(|root| (*root).to_owned()).collect();
    // The rules for errors have a page of their own.
    let mut schema = source::editor_schema();
    for branch in ["then", "else"] {
        schema[branch]["properties"]["errors"] = serde_json::Value::Null;
    }
    collect_keys(&schema, &mut words);
    words
}

#[test]
fn architecture_every_word_of_the_language_is_explained() {
    let words = words();
    for known in ["retryFailedOnly", "forceFinishAfterTaskTimeout", "interval", "parallel", "bearer", "event"]
    {
        assert!(words.contains(known), "the tables of keys are read elsewhere now: no `{known}`");
    }
    let coded = coded(&read(REFERENCE));
    let missing: Vec<String> = words.difference(&coded).cloned().collect();
    none("words without an explanation in docs/scenarios.md", &missing);
}

#[test]
fn architecture_the_guide_explains_every_action_of_operations() {
    let guide = read("docs/guides/bulk-operations.md");
    let (_, table) = guide.split_once("| action | fields").expect("the table of actions");
    let first = table.lines().skip(2).map_while(|row| row.strip_prefix("| ")?.split(" | ").next());
    let explained: BTreeSet<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert_eq!(explained, BulkKind::ALL.iter().map(|kind| kind.as_str()).collect::<BTreeSet<_>>());
}

#[test]
fn architecture_a_class_of_the_engine_is_written_once() {
    let mut offenders = Vec::new();
    for file in rust().iter().filter(|file| file.path != "shared/domain/src/classes.rs") {
        for (class, _) in classes::ALL {
            let made = ["OrderError::new(", "class: Some(", "Failed, Some("]
                .map(|call| format!("{call}\"{class}\""));
            if made.iter().any(|written| file.code().contains(written)) {
                offenders.push(format!("{}: {class}", file.path));
            }
        }
    }
    none("classes of the engine that are spelled out in place of their constants", &offenders);
}

fn compiled(text: &str) -> Result<Scenario, Vec<Fault>> {
    let shipped = files(&[".yaml"]).into_iter().filter(|file| file.path.starts_with("scenarios/telecom/"));
    let library = Library::of_files(shipped.filter_map(|file| LibraryEntry::of_text(&file.text, None)));
    source::read_with(text, &library, &Scripting::new(Bounds::default().script), &Bounds::default())
}

/// Kind of a snippet: a file of tests, a scenario, or a list of actions; all others are passed over.
fn try_snippet(snippet: &str, before: &mut Option<Arc<Scenario>>) -> Result<bool, Vec<Fault>> {
    let has = |key: &str| snippet.lines().any(|line| line.starts_with(key));
    if has("tests:") {
        let file = trial::read(snippet)?;
        // A file that names its scenario is for one of the examples; else for the one above on the page.
        let named = file.scenario.as_ref().map(|name| read(&format!("scenarios/{name}")));
        let named = named.map(|text| compiled(&text)).transpose()?.map(Arc::new);
        if let Some(scenario) = named.as_ref().or(before.as_ref()) {
            for one in &file.trials {
                let outcome = trial::run(scenario, &Deployment::default(), one, &mut || true);
                if !outcome.passed() || !outcome.notes.is_empty() {
                    return Err([outcome.faults, outcome.notes].concat());
                }
            }
        }
        return Ok(true);
    }
    if has("scenario:") {
        *before = Some(Arc::new(compiled(snippet)?));
    } else if snippet.starts_with("- ") {
        let actions: String = snippet.lines().map(|line| format!("  {line}\n")).collect();
        compiled(&format!("scenario: snippet\nkind: operation\nactions:\n{actions}"))?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

#[test]
fn architecture_snippets_of_the_documents_are_sound() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for path in TRIED {
        let (page, mut before) = (read(path), None);
        for snippet in snippets(&page, "yaml") {
            let first = snippet.lines().next().unwrap_or_default();
            match try_snippet(snippet, &mut before) {
                Ok(counts) => tried += usize::from(counts),
                Err(faults) => {
                    let messages = faults.iter().map(|fault| format!("{path}: `{first}`: {}", fault.message));
                    wrong.extend(messages);
                }
            }
        }
    }
    none("snippets that are not true", &wrong);
    assert!(tried >= 15, "only {tried} snippets were found");
}

#[test]
fn architecture_the_configuration_of_the_guide_for_others_is_sound() {
    let page = read("docs/guides/coming-from.md");
    let whole =
        snippets(&page, "yaml").find(|snippet| snippet.starts_with("distribution:")).expect("it is there");
    let faults = pagurus_runtime::config::check(whole, std::iter::empty());
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn architecture_the_guide_shows_the_programs_that_are_shipped() {
    let guide = read("docs/guides/sending-orders.md");
    for (language, program) in [
        ("sh", "examples/senders/send-order.sh"),
        ("python", "examples/senders/python/send_order.py"),
        ("js", "examples/senders/node/send-order.mjs"),
        ("rust", "examples/senders/rust/src/main.rs"),
        ("python", "examples/receivers/python/receive_webhook.py"),
    ] {
        assert!(
            snippets(&guide, language).any(|shown| shown == read(program)),
            "{program} is shown otherwise"
        );
    }
}

#[test]
fn architecture_shipped_scenarios_bring_no_warnings() {
    let (mut tried, mut warned) = (0, Vec::new());
    let shipped = files(&[".yaml"]).into_iter().filter(|file| {
        ["scenarios/", "examples/scenarios/"].iter().any(|folder| file.path.starts_with(folder))
            && ![".test.yaml", ".flows.yaml"].iter().any(|end| file.path.ends_with(end))
            && !file.path.starts_with("scenarios/lab/")
    });
    let shipped: Vec<_> = shipped.collect();
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
    for file in &shipped {
        let bounds = Bounds::default();
        let beside = shipped.iter().filter(|other| folder(&other.path) == folder(&file.path));
        let library = Library::of_files(beside.filter_map(|other| LibraryEntry::of_text(&other.text, None)));
        let scripting = Scripting::new(bounds.script.clone());
        let read = source::read_with_warnings(&file.text, &library, &scripting, &bounds);
        tried += 1;
        warned.extend(read.unwrap().warnings.iter().map(|warning| format!("{}:{warning}", file.path)));
    }
    none("shipped scenarios that say what they hardly mean", &warned);
    assert!(tried >= 30, "only {tried} scenarios were found");
}

#[test]
fn qlt_11_continuous_integration_runs_the_commands_that_the_readme_names() {
    let run = read(".ci/run");
    let commands: Vec<&str> =
        run.lines().filter_map(|line| line.trim_start_matches("exec ").strip_prefix("./dev ")).collect();
    assert_eq!(commands, ["check", "test"], "{run}");
    let readme = read("README.md");
    for command in commands {
        assert!(readme.lines().any(|line| line.starts_with(&format!("./dev {command} "))), "{command}");
    }
}
