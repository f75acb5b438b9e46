//! Memory that the variables of a run take together.
//!
//! The engine bounds each value for itself, and it counts neither what a function has been given in
//! advance, as closures have, nor the keys of maps. Here the variables of all functions that have begun
//! are weighed, each time that some of them have been named or defined: seldom enough that weighing
//! takes a small part of the run, and often enough that little can be made in between.
//! Values that stand in no variable yet, the arguments of a call, are not seen.
//!
//! The same walk sees how deep values are nested. Between two walks a script may nest them deeper, by one level for each of
//! its operations: threads that run code have stack for that ([`super::STACK_BYTES`]).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use rhai::{Dynamic, Engine, EvalAltResult, EvalContext, FnPtr, Position};

use super::clock::Clock;

/// Variables that are named between two weighings, at least.
const LEAST_NAMED: usize = 16;
/// Values that are weighed for each variable that is named, on average.
const VALUES_TO_NAMED: usize = 4;
/// Time between two weighings after which there is another: as long as the weighing took, within these.
const LEAST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Bytes of a value in a list.
const SLOT: usize = size_of::<Dynamic>();
/// Bytes of a member of a map: its name and its value.
const MEMBER: usize = SLOT + 24;
/// Bytes of a map with one member, which has room for eleven; a large one is half full at worst.
const NODE: usize = 11 * MEMBER + 16;
/// Bytes of a name that needs no memory of its own.
const SHORT_NAME: usize = 24;
/// Bytes by which a text, a list, a map or a function is larger than what it holds.
const HEAD: usize = 48;

thread_local! {
    /// The run of this thread. A run never leaves its thread.
    static RUN: RefCell<Run> = RefCell::default();
}

/// State of a run.
#[derive(Default)]
struct Run {
    most: usize,
    /// Levels of nesting of a variable, at most.
    deepest: usize,
    /// The functions that have begun, each called by the one before.
    functions: Vec<Function>,
}

/// The variables of a function that has begun, as they were weighed last.
#[derive(Clone, Copy, Default)]
struct Function {
    weight: Weight,
    /// Variables that were named since.
    named: usize,
    /// Time at which the next weighing is due.
    due: Duration,
}

/// Size of values.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    bytes: usize,
    values: usize,
    /// True if something is nested deeper than a variable may be; that is not weighed.
    is_deep: bool,
}

/// Name of the bound of nesting, as errors have it.
pub(super) const DEPTH: &str = "Depth of lists and maps in one another";

/// Starts a run in this thread, whose variables take at most `most` bytes and `deepest` levels of nesting.
pub(super) fn begin(most: usize, deepest: usize) {
    RUN.with_borrow_mut(|run| {
        run.most = most;
        run.deepest = deepest;
        run.functions.clear();
    });
}

/// Levels of nesting that a value of the run of this thread may have.
pub(super) fn deepest() -> usize {
    RUN.with_borrow(|run| run.deepest)
}

/// Makes an engine weigh what its runs hold.
#[expect(deprecated, reason = "the engine means by it that these hooks may change")]
pub(super) fn watch(engine: &mut Engine, clock: Clock) {
    engine.on_var(move |_, _, context| note(&context, clock).map(|()| None));
    engine.on_def_var(move |is_run, _, context| {
        if is_run {
            note(&context, clock)?;
        }
        Ok(true)
    });
}

/// Weighs the run now and then, when a variable is named or defined.
fn note(context: &EvalContext<'_, '_, '_, '_, '_, '_>, clock: Clock) -> Result<(), Box<EvalAltResult>> {
    RUN.with_borrow_mut(|run| {
        let begun = (clock.0)();
        let level = context.call_level();
        run.functions.resize_with(level + 1, || Function { due: begun + LEAST_PAUSE, ..Function::default() });
        let Some(function) = run.functions.last_mut() else { return Ok(()) };
        function.named += 1;
        let often = LEAST_NAMED.max(function.weight.values / VALUES_TO_NAMED);
        if function.named < often && begun < function.due {
            return Ok(());
        }
        let weight = Scales::weigh(context.scope().iter_raw().map(|(_, _, value)| value), run.deepest);
        if weight.is_deep {
            return Err(too_large(DEPTH));
        }
        let ended = (clock.0)();
        let pause = ended.saturating_sub(begun).clamp(LEAST_PAUSE, LONGEST_PAUSE);
        *function = Function { weight, named: 0, due: ended + pause };
        if run.functions.iter().map(|function| function.weight.bytes).sum::<usize>() > run.most {
            return Err(too_large("Size of all variables"));
        }
        Ok(())
    })
}

/// The error of what would be larger than a bound.
pub(super) fn too_large(what: &str) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorDataTooLarge(what.to_owned(), Position::NONE))
}

/// The bytes that a value takes with all that it holds; none if it is nested too deep.
pub(super) fn bytes_of(value: &Dynamic) -> Option<usize> {
    let weight = Scales::weigh([value], deepest());
    (!weight.is_deep).then_some(weight.bytes)
}

/// Weighs values. What several of them share counts once, and so does a function that holds itself.
#[derive(Default)]
struct Scales {
    total: Weight,
    seen: BTreeSet<usize>,
}

impl Scales {
    fn weigh<'v>(values: impl IntoIterator<Item = &'v Dynamic>, deepest: usize) -> Weight {
        let mut scales = Self::default();
        values.into_iter().for_each(|value| scales.add(value, deepest));
        scales.total
    }

    /// Adds a value that may have `depth` levels.
    fn add(&mut self, value: &Dynamic, depth: usize) {
        self.total.values += 1;
        self.total.bytes += SLOT;
        if value.is_int() || value.is_unit() || value.is_bool() || value.is_float() {
            return;
        }
        if value.is_shared() {
            if let Some(shared) = value.read_lock::<Dynamic>()
                && self.is_first(&*shared)
            {
                self.add_inner(&shared, depth);
            }
            return;
        }
        self.add_inner(value, depth);
    }

    fn add_inner(&mut self, value: &Dynamic, depth: usize) {
        if let Ok(text) = value.as_immutable_string_ref() {
            if text.len() <= SHORT_NAME || self.is_first(text.as_bytes()) {
                self.total.bytes += HEAD + text.len();
            }
            return;
        }
        let Some(depth) = depth.checked_sub(1) else {
            self.total.is_deep |= value.is_array() || value.is_map() || value.is_fnptr();
            return;
        };
        if let Ok(list) = value.as_array_ref() {
            self.total.bytes += HEAD + list.capacity().saturating_sub(list.len()) * SLOT;
            list.iter().for_each(|value| self.add(value, depth));
        } else if let Ok(map) = value.as_map_ref() {
            self.total.bytes += HEAD + map.len().div_ceil(6) * NODE;
            for (name, value) in map.iter() {
                self.total.bytes += if name.len() > SHORT_NAME { HEAD + name.len() } else { 0 };
                self.add(value, depth);
            }
        } else if let Ok(bytes) = value.as_blob_ref() {
            self.total.bytes += HEAD + bytes.len();
        } else if let Some(function) = value.read_lock::<FnPtr>() {
            self.total.bytes += HEAD;
            function.iter_curry().for_each(|value| self.add(value, depth));
        }
    }

    /// True the first time that this stands on the scales.
    fn is_first<T: ?Sized>(&mut self, what: &T) -> bool {
        self.seen.insert(std::ptr::from_ref(what).addr())
    }
}

#[cfg(test)]
mod tests;
