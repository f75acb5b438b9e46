//! The operations that a scenario runs by `do` (SCN-19), while it is read: each is read from its own text for each place
//! that runs it. Bounded: chains end at a depth, and all actions together at a number.

use std::sync::Arc;

use pagurus_domain::document::{self, DocumentNode, Fault};

use super::around::Inlining;
use super::draft::{DraftAction, DraftPart};
use super::operation::read_parts;
use super::read_by;
use super::reader::{ScenarioReader, Spot, quoted, with_nearest};
use crate::library::{LibraryEntry, LibraryNo, OperationUse};
use crate::operation::{CalledOperation, INSIDE, MOST_NESTED, ParamsSchema};
use crate::{Action, Scenario, ScenarioKind};

/// Most actions that the operations of one scenario have together: an `each` numbers the requests of its elements behind
/// those of the actions of a state.
const MOST_ACTIONS: usize = 2000;

/// An operation, read for the place that runs it.
pub(super) struct Inlined {
    pub operation: Arc<CalledOperation>,
    /// Names of the operations around it and its own.
    pub prefix: String,
    pub parts: Vec<DraftPart>,
}

impl<'a> Inlining<'a> {
    /// The entry of an operation, or what is wrong with the name.
    fn find(
        &self,
        spot: &Spot<'_>,
        name: &str,
        wanted: Option<i32>,
    ) -> Result<(LibraryNo, &'a LibraryEntry), Fault> {
        let used = OperationUse { user: self.user, name: name.to_owned(), wanted };
        let Some(found) = self.library.find(&used) else {
            let known = self.library.names();
            return Err(match wanted.filter(|_| known.clone().any(|known| known == name)) {
                Some(wanted) => spot
                    .fault(format!("there is no version {wanted} of the operation {}", quoted(name)))
                    .hint("name one that is stored, or leave `version` out for the newest"),
                None => with_nearest(
                    spot.fault(format!("there is no operation {}", quoted(name))),
                    name,
                    known.filter(|known| !self.stack.iter().any(|around| around == known)),
                ),
            });
        };
        if self.stack.iter().any(|around| around == name) {
            let chain: Vec<&str> = self.stack.iter().map(String::as_str).chain([name]).collect();
            let fault = spot.fault(format!("{} would run itself: {}", quoted(name), chain.join(", ")));
            return Err(fault.hint("an operation ends before it begins again; write a workflow that circles"));
        }
        if self.stack.len() > MOST_NESTED {
            let message = format!("operations stand {MOST_NESTED} deep inside one another at most");
            return Err(spot.fault(message).hint(format!("write the actions of {} here", quoted(name))));
        }
        Ok(found)
    }
}

impl ScenarioReader<'_> {
    /// Reads the operation of this name for the place that runs it. What is wrong with it is a fault of that place.
    pub(super) fn inlined(&mut self, spot: &Spot<'_>, name: &str, wanted: Option<i32>) -> Option<Inlined> {
        let found = self.inlining.find(spot, name, wanted);
        let (no, entry) = found.map_err(|fault| self.push(fault)).ok()?;
        let read = read_entry(self, no, entry);
        read.map_err(|fault| self.push(placed(spot, entry, fault))).ok()
    }
}

/// The fault of an operation at the place that runs it.
fn placed(spot: &Spot<'_>, entry: &LibraryEntry, fault: Fault) -> Fault {
    let name = quoted(&entry.name);
    let Some(at) = fault.at else {
        return Fault { hint: fault.hint, ..spot.fault(format!("the operation {name} {}", fault.message)) };
    };
    let file = entry.file.as_deref().map_or_else(|| "its line".to_owned(), |file| format!("`{file}`, line"));
    let message =
        format!("the operation {name} has a fault of its own in {file} {}: {}", at.line, fault.message);
    spot.fault(message).hint("mend the operation first")
}

fn read_entry(
    reader: &mut ScenarioReader<'_>,
    no: LibraryNo,
    entry: &LibraryEntry,
) -> Result<Inlined, Fault> {
    let first = |faults: Vec<Fault>| {
        faults.into_iter().next().unwrap_or_else(|| Fault::placed(None, "", "is no scenario"))
    };
    let tree = document::parse(&entry.text, &document::DocumentLimits::default()).map_err(first)?;
    if !is_operation(&tree) {
        let fault = Fault::placed(None, "", "is a workflow");
        return Err(
            fault.hint(format!("start it as an order of its own: `order: {{scenario: {}}}`", entry.name))
        );
    }
    let operation = match reader.inlining.known.get(&no).cloned() {
        Some(known) => known,
        None => read_whole(reader, no, entry).map_err(first)?,
    };
    let inside = reader.inlining.inside(no, &entry.name);
    let prefix: String = inside.stack[1..].iter().flat_map(|name| [name.as_str(), SEPARATOR]).collect();
    let mut inner = ScenarioReader::new(&entry.text, reader.scripting, inside);
    let actions =
        Spot::root(&tree).entries().map(|(_, member)| member).find(|member| member.label == "actions");
    let mut parts = actions.map_or_else(Vec::new, |spot| read_parts(&mut inner, &spot));
    let Inlining { known, actions, mask, .. } =
        std::mem::replace(&mut inner.inlining, Inlining::of(None, reader.inlining.bounds));
    (reader.inlining.known, reader.inlining.actions) = (known, actions);
    reader.inlining.mask.join(&mask);
    if inner.fault_count() > 0 {
        return Err(first(inner.into_faults()));
    }
    for action in parts.iter_mut().flat_map(|part| &mut part.actions) {
        reader.inlining.actions += qualify(action, &prefix);
    }
    if reader.inlining.actions > MOST_ACTIONS {
        let message =
            format!("is too much: the operations of a scenario have {MOST_ACTIONS} actions together at most");
        return Err(Fault::placed(None, "", message).hint("start some of them as orders of their own"));
    }
    Ok(Inlined { operation, prefix, parts })
}

const SEPARATOR: &str = "/";
const _: () = assert!(SEPARATOR.as_bytes()[0] == INSIDE as u8, "one separator");

fn is_operation(tree: &DocumentNode) -> bool {
    tree.get("kind").and_then(|kind| kind.as_str()) == Some(ScenarioKind::Operation.as_str())
}

/// Reads an operation as it stands alone: what has no faults can be run.
fn read_whole(
    reader: &mut ScenarioReader<'_>,
    no: LibraryNo,
    entry: &LibraryEntry,
) -> Result<Arc<CalledOperation>, Vec<Fault>> {
    let bounds = reader.inlining.bounds;
    let inside = reader.inlining.inside(no, &entry.name);
    let read = read_by(ScenarioReader::new(&entry.text, reader.scripting, inside), &entry.text, bounds)?;
    let Scenario { params_schema, params_validator, params_expansion, errors, description, mask, .. } =
        read.scenario;
    reader.inlining.mask.join(&mask);
    let params = params_schema.zip(params_validator);
    let params =
        params.map(|(schema, validator)| ParamsSchema { schema, validator, expansion: params_expansion });
    let (name, version, file) = (entry.name.clone(), entry.version, entry.file.clone());
    let operation = Arc::new(CalledOperation { name, version, file, description, params, errors });
    reader.inlining.known.insert(no, operation.clone());
    Ok(operation)
}

/// Puts the names of the operations around it in front of the request of an action. Returns the number of actions.
fn qualify(draft: &mut DraftAction, prefix: &str) -> usize {
    let name = |request: &mut Option<String>| {
        if let Some(request) = request {
            request.insert_str(0, prefix);
        }
    };
    let set = |action: &mut Action| match action {
        Action::Http(http) => name(&mut http.request),
        Action::Amqp(amqp) => name(&mut amqp.request),
        Action::Order(order) => name(&mut order.request),
        _ => {}
    };
    if let Some(Action::Each(each)) = &mut draft.action {
        each.actions.iter_mut().for_each(set);
    } else {
        draft.action.iter_mut().for_each(set);
    }
    let branches = draft.branches.iter_mut().flat_map(|branch| &mut branch.actions);
    let inside: usize = branches.map(|action| 1 + qualify(action, prefix)).sum();
    // An operation inside has counted its own.
    2 + inside
}
