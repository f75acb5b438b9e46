//! Functions of the language that are bounded before they make anything, in the place of those of the
//! standard package that look at the bounds after they have returned.
//!
//! Most functions of that package make no more than they are given, twice or ten times over, which the
//! bounds of a value allow for. These make a product of what they are given, call code again and again
//! and keep what it returns, never return, or run text as code.

mod calls;
mod fields;
mod lists;
mod text;

use super::holding::{self, bytes_of, too_large};
use rhai::packages::{Package, StandardPackage};
use rhai::{Dynamic, EvalAltResult, FnPtr, FuncRegistration, INT, Module, NativeCallContext};

/// The call that a function of the language answers.
type CallContext<'c> = NativeCallContext<'c>;

/// Result of a function.
type NativeResult<T> = Result<T, Box<EvalAltResult>>;

/// The functions that scripts and expressions can call.
pub(super) fn functions() -> Module {
    let mut module = Module::new();
    StandardPackage::init(&mut module);
    text::install(&mut module);
    lists::install(&mut module);
    fields::install(&mut module);
    let refused = || -> NativeResult<()> { Err("a script cannot sleep; write the action `sleep`".into()) };
    FuncRegistration::new("sleep").set_into_module(&mut module, move |_: INT| refused());
    FuncRegistration::new("sleep").set_into_module(&mut module, move |_: rhai::FLOAT| refused());
    module.build_index();
    module
}

/// Size of values together, as the engine counts: elements of lists, members of maps, bytes of text.
#[derive(Clone, Copy, Default)]
struct ValueSize {
    elements: usize,
    members: usize,
    text: usize,
    /// True if something is nested deeper than a value may be; that is not counted.
    is_deep: bool,
}

impl ValueSize {
    fn of(value: &Dynamic) -> Self {
        let mut held = Self::default();
        held.count(value);
        held
    }

    fn count(&mut self, value: &Dynamic) {
        self.count_within(value, holding::deepest());
    }

    /// Counts a value in that may have `depth` levels.
    fn count_within(&mut self, value: &Dynamic, depth: usize) {
        let inside = depth.checked_sub(1);
        if let Ok(list) = value.as_array_ref() {
            self.elements += list.len();
            self.is_deep |= inside.is_none();
            inside
                .into_iter()
                .for_each(|depth| list.iter().for_each(|value| self.count_within(value, depth)));
        } else if let Ok(map) = value.as_map_ref() {
            self.members += map.len();
            self.is_deep |= inside.is_none();
            inside
                .into_iter()
                .for_each(|depth| map.values().for_each(|value| self.count_within(value, depth)));
        } else if let Ok(text) = value.as_immutable_string_ref() {
            self.text += text.len();
        } else if let Ok(bytes) = value.as_blob_ref() {
            self.elements += bytes.len();
        } else if value.read_lock::<FnPtr>().is_some_and(|function| function.is_curried()) {
            // What it was given in advance, as closures are.
            let bytes = bytes_of(value);
            self.is_deep |= bytes.is_none();
            self.text = self.text.saturating_add(bytes.unwrap_or(0));
        }
    }

    /// Counts more in, `times` times.
    fn add(&mut self, more: Self, times: usize) {
        let sum = |held: usize, more: usize| held.saturating_add(more.saturating_mul(times));
        self.elements = sum(self.elements, more.elements);
        self.members = sum(self.members, more.members);
        self.text = sum(self.text, more.text);
        self.is_deep |= more.is_deep;
    }

    /// Counts in by how much a value has grown.
    fn grown(&mut self, before: Self, after: Self) {
        let growth = Self {
            elements: after.elements.saturating_sub(before.elements),
            members: after.members.saturating_sub(before.members),
            text: after.text.saturating_sub(before.text),
            is_deep: after.is_deep,
        };
        self.add(growth, 1);
    }

    /// True if all that is within the bounds of one value.
    fn check(self, context: &NativeCallContext<'_>) -> NativeResult<()> {
        let engine = context.engine();
        if self.is_deep {
            return Err(too_large(holding::DEPTH));
        }
        // Zero is no bound.
        let over = |held: usize, most: usize| most > 0 && held > most;
        if over(self.text, engine.max_string_size()) {
            return Err(too_large("Length of string"));
        }
        if over(self.elements, engine.max_array_size()) {
            return Err(too_large("Size of array/BLOB"));
        }
        if over(self.members, engine.max_map_size()) {
            return Err(too_large("Size of object map"));
        }
        Ok(())
    }
}

/// Checks that a text of `bytes` bytes is within the bound.
fn check_text(context: &NativeCallContext<'_>, bytes: usize) -> NativeResult<()> {
    ValueSize { text: bytes, ..ValueSize::default() }.check(context)
}

#[cfg(test)]
mod tests;
