//! Every type of problem has a page that explains it, with an example that is true. Never writes one.

use std::collections::BTreeSet;

use pagurus_wire::problem::{Problem, Type};

use crate::tree::{files, read};

fn page(kind: Type) -> String {
    format!("docs/errors/{}.md", kind.name())
}

#[test]
fn architecture_every_problem_has_its_page_and_every_page_its_problem() {
    let expected: BTreeSet<String> = Type::ALL.iter().map(|kind| page(*kind)).collect();
    let pages = files(&[".md"]).into_iter().map(|file| file.path);
    let found: BTreeSet<String> =
        pages.filter(|path| path.starts_with("docs/errors/") && !path.ends_with("README.md")).collect();
    assert_eq!(found, expected);
    let index = read("docs/errors/README.md");
    for kind in Type::ALL {
        assert!(index.contains(&format!("]({}.md)", kind.name())), "the index does not name {}", kind.name());
    }
}

#[test]
fn architecture_the_pages_of_problems_tell_what_to_do() {
    for kind in Type::ALL {
        let (path, text) = (page(*kind), read(&page(*kind)));
        assert!(text.starts_with(&format!("# {}\n", kind.name())), "{path}: its heading is the name");
        for heading in ["## What it means", "## What to do", "## Example"] {
            assert!(text.contains(&format!("\n{heading}\n")), "{path}: `{heading}` is missing");
        }
    }
}

#[test]
fn architecture_the_examples_of_problems_are_what_the_engine_says() {
    for kind in Type::ALL {
        let (path, text) = (page(*kind), read(&page(*kind)));
        let body = text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
        let body = body.unwrap_or_else(|| panic!("{path}: no example"));
        let shown: Problem = serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}"));
        let model = Problem::new(*kind, shown.detail.clone());
        assert_eq!(
            (&shown.type_, &shown.title, shown.status),
            (&model.type_, &model.title, model.status),
            "{path}"
        );
        let written: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(written, serde_json::to_value(&shown).unwrap(), "{path}: a member that no problem has");
    }
}
