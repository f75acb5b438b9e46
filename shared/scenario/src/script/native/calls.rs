//! Code of a script that a function of the language calls for each element: what it returns and what it
//! makes of the elements is counted while it goes.

use rhai::{Dynamic, FnPtr, INT};

use super::{CallContext, NativeResult, ValueSize};

/// Calls of one function for the elements of one list or map.
pub(super) struct Calls<'a, 'c> {
    context: &'a CallContext<'c>,
    /// The function of the language that calls.
    name: &'static str,
    f: &'a FnPtr,
    /// Position of the element among the arguments of a function that takes it as one.
    place: Option<usize>,
    held: ValueSize,
}

impl<'a, 'c> Calls<'a, 'c> {
    pub fn new(context: &'a CallContext<'c>, name: &'static str, f: &'a FnPtr, place: Option<usize>) -> Self {
        Self { context, name, f, place, held: ValueSize::default() }
    }

    /// Result of the function for an element of a list; the element may be changed by it.
    pub fn of_element(&mut self, index: usize, element: &mut Dynamic) -> NativeResult<Dynamic> {
        let extra = [number(index).into()];
        self.counted(element, |calls, element| {
            calls.f.call_raw_with_extra_args(calls.name, calls.context, Some(element), [], extra, calls.place)
        })
    }

    /// Result of the function for a member of a map.
    pub fn of_member(&mut self, key: &str, value: &mut Dynamic) -> NativeResult<Dynamic> {
        self.counted(value, |calls, value| {
            calls.f.call_raw_with_extra_args(
                calls.name,
                calls.context,
                Some(value),
                [key.into()],
                [],
                calls.place,
            )
        })
    }

    fn counted(
        &mut self,
        value: &mut Dynamic,
        call: impl FnOnce(&Self, &mut Dynamic) -> NativeResult<Dynamic>,
    ) -> NativeResult<Dynamic> {
        let before = ValueSize::of(value);
        let said = call(self, value)?;
        self.held.grown(before, ValueSize::of(value));
        self.held.check(self.context)?;
        Ok(said)
    }

    /// Counts in a value that is kept as an element of a list.
    pub fn keep(&mut self, value: &Dynamic) -> NativeResult<()> {
        self.held.add(ValueSize::of(value), 1);
        self.held.add(ValueSize { elements: 1, ..ValueSize::default() }, 1);
        self.held.check(self.context)
    }
}

/// The number of an element, as scripts see it.
pub(super) fn number(index: usize) -> INT {
    INT::try_from(index).unwrap_or(INT::MAX)
}
