//! Types of the API that no structure outside `wire` repeats: what is shown as it was read is one type.

use std::collections::BTreeSet;

use crate::tree::{none, rust};

/// Fewest fields of a structure that is looked at: smaller ones are alike by chance.
const FIELDS: usize = 6;

/// Structures outside `wire` with nearly the fields of one of its types, and the reason. The list may only shrink.
const COPIES: [(&str, &str, &str); 10] = [
    ("ActionRequest", "RestartBody", "what any action says, its status read already"),
    ("Add", "WindowRequest", "arguments of the command line"),
    ("Arguments", "QuestionView", "arguments of the command line"),
    ("Asking", "AskingView", "kept by the interpreter, which knows no rows"),
    ("ChainEntry", "AuditedEntry", "borrowed by what hashes it, in the core"),
    ("HistoryEvent", "EventView", "a row may stand for two events, and its detail is no payload yet"),
    ("ListedOrder", "OrderLine", "words of the domain, and the number that a cursor needs"),
    ("Question", "QuestionView", "borrowed by the rules"),
    ("ReadyStage", "ReadyNews", "values of the domain; the message has texts"),
    ("Stop", "StopRequest", "arguments of the command line"),
];

/// A structure with the names of its fields.
struct Shape {
    path: String,
    name: String,
    fields: BTreeSet<String>,
}

impl Shape {
    /// True if most of the fields of either stand in the other, too.
    fn repeats(&self, other: &Self) -> bool {
        let shared = self.fields.intersection(&other.fields).count();
        let larger = self.fields.len().max(other.fields.len());
        self.fields.len().min(other.fields.len()) >= FIELDS && shared * 5 >= larger * 4
    }
}

/// Name of a structure whose fields begin behind this line.
fn name(line: &str) -> Option<&str> {
    let (before, behind) = line.trim_start().split_once("struct ")?;
    let opens = line.ends_with('{') && (before.is_empty() || before.starts_with("pub"));
    behind.split(|sign: char| !sign.is_alphanumeric()).next().filter(|_| opens)
}

/// Name of the field that this line has.
fn field(line: &str) -> Option<String> {
    let (before, _) = line.trim_start().split_once(": ")?;
    let field = before.rsplit(' ').next()?;
    (!before.starts_with(['/', '#'])).then(|| field.trim_start_matches("r#").to_owned())
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for source in rust() {
        if !source.path.starts_with("shared/") && !source.path.starts_with("services/") {
            continue;
        }
        let mut lines = source.code().lines();
        while let Some(line) = lines.next() {
            if let Some(name) = name(line) {
                let (path, name) = (source.path.clone(), name.to_owned());
                let fields = lines.by_ref().take_while(|line| line.trim() != "}").filter_map(field).collect();
                shapes.push(Shape { path, name, fields });
            }
        }
    }
    shapes
}

#[test]
fn architecture_nothing_repeats_a_type_of_the_api() {
    let (wire, others): (Vec<Shape>, Vec<Shape>) =
        shapes().into_iter().partition(|shape| shape.path.starts_with("shared/wire/"));
    assert!(wire.len() > 100 && others.len() > 500, "{} and {} were found", wire.len(), others.len());
    let pairs: Vec<(&Shape, &Shape)> = others
        .iter()
        .flat_map(|other| wire.iter().map(move |view| (other, view)))
        .filter(|(other, view)| other.repeats(view))
        .collect();
    let is_excepted = |(other, view): &&(&Shape, &Shape)| {
        COPIES.iter().any(|(copy, of, _)| *copy == other.name && *of == view.name)
    };
    let offenders: Vec<String> = pairs
        .iter()
        .filter(|pair| !is_excepted(pair))
        .map(|(other, view)| format!("{}: {} repeats {}", other.path, other.name, view.name))
        .collect();
    none("copies of types of the API", &offenders);
    let needless: Vec<String> = COPIES
        .iter()
        .filter(|(copy, of, _)| !pairs.iter().any(|(other, view)| other.name == *copy && view.name == *of))
        .map(|(copy, of, _)| format!("{copy} of {of}"))
        .collect();
    none("exceptions that are none any more", &needless);
}
