//! Code of a script that a function of the language calls for each element: what it returns and what it
//! makes of the elements is counted while it goes.

use rhai::{Dynamic, FnPtr, INT, NativeCallContext};

use super::{Held, Outcome};

type Context<'c> = NativeCallContext<'c>;

/// Calls of one function for the elements of one list or map.
pub(super) struct Calls<'a, 'c> {
    context: &'a Context<'c>,
    /// The function of the language that calls.
    name: &'static str,
    f: &'a FnPtr,
    /// Where the element stands among the arguments of a function that takes it as one.
    place: Option<usize>,
    held: Held,
}

impl<'a, 'c> Calls<'a, 'c> {
    pub fn new(context: &'a Context<'c>, name: &'static str, f: &'a FnPtr, place: Option<usize>) -> Self {
        Self { context, name, f, place, held: Held::default() }
    }

    /// Result of the function for an element of a list; the element may be changed by it.
    pub fn of_element(&mut self, index: usize, element: &mut Dynamic) -> Outcome<Dynamic> {
        let extra = [number(index).into()];
        self.counted(element, |calls, element| {
            calls.f.call_raw_with_extra_args(calls.name, calls.context, Some(element), [], extra, calls.place)
        })
    }

    /// Result of the function for a member of a map.
    pub fn of_member(&mut self, key: &str, value: &mut Dynamic) -> Outcome<Dynamic> {
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
        call: impl FnOnce(&Self, &mut Dynamic) -> Outcome<Dynamic>,
    ) -> Outcome<Dynamic> {
        let before = Held::of(value);
        let said = call(self, value)?;
        self.held.grown(before, Held::of(value));
        self.held.check(self.context)?;
        Ok(said)
    }

    /// Counts in a value that is kept as an element of a list.
    pub fn keep(&mut self, value: &Dynamic) -> Outcome<()> {
        self.held.add(Held::of(value), 1);
        self.held.add(Held { elements: 1, ..Held::default() }, 1);
        self.held.check(self.context)
    }
}

/// The number of an element, as scripts see it.
pub(super) fn number(index: usize) -> INT {
    INT::try_from(index).unwrap_or(INT::MAX)
}
