//! The bounds of one run, and the engine that keeps to them.
//!
//! Operations, sizes and depths are counted by the engine. One operation may still walk over all
//! that a bound allows, a hundred thousand times, so that a run is watched by a clock, too: it
//! comes in as an argument, as all time does here. What all variables hold together is weighed
//! ([`holding`]).

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::Duration;

use pagurus_domain::depth::MAX_DEPTH;
use rhai::{Dynamic, Engine, Module, Shared};
use serde_json::Value;

use super::clock::Clock;
use super::{holding, native};

/// Operations of one run at most, however many the deployment allows: the stack is made for these.
pub const MOST_OPERATIONS: u64 = 250_000;

/// Stack that a thread needs to run code. Values of a run may be nested by one level more with each operation until somebody
/// looks, and whatever goes through them takes up to 500 bytes of stack for each. Only what is used takes memory.
pub const STACK_BYTES: usize = 128 << 20;

/// Bounds of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations, counted by the engine; 100 000 take about 3 ms.
    pub max_operations: u64,
    /// Bytes of all text in one value, beside what the order brings.
    pub max_string_bytes: usize,
    /// Elements of one list or map, beside what the order brings.
    pub max_elements: usize,
    /// Functions that call functions.
    pub max_call_depth: usize,
    /// Longest time of a run, by the clock.
    pub max_duration: Duration,
    /// The clock.
    pub clock: Clock,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_operations: 100_000,
            max_string_bytes: 256 * 1024,
            max_elements: 10_000,
            max_call_depth: 32,
            max_duration: Duration::from_secs(1),
            clock: Clock::STOPPED,
        }
    }
}

/// Ends a run whose time is over.
#[derive(Clone)]
pub(super) struct TimeOver;

/// Bound on the bytes of the variables of a run, in values of the largest kind.
const VALUES: usize = 8;
/// Bytes of an element of a list or map at most: it may be a map with one member.
const ELEMENT: usize = 600;

thread_local! {
    /// Time at which the run of this thread has to be over. A run never leaves its thread.
    static ENDS_AT: Cell<Duration> = const { Cell::new(Duration::MAX) };
}

impl Limits {
    /// Starts a run in this thread, with values of size `brought` from the order.
    pub(super) fn begin(&self, brought: Size) {
        ENDS_AT.set((self.clock.0)().saturating_add(self.max_duration));
        let largest = self.max_string_bytes.saturating_add(self.max_elements.saturating_mul(ELEMENT));
        // What is brought is there, and may be there once more in another form.
        let most = largest.saturating_mul(VALUES).saturating_add(brought.bytes().saturating_mul(2));
        // A variable is a member of `vars`; what was stored with more levels can still be read.
        holding::begin(most, brought.depth.max(MAX_DEPTH + 1));
    }

    /// An engine that keeps to these bounds.
    pub(super) fn engine(&self) -> Engine {
        let mut engine = Engine::new_raw();
        engine.register_global_module(functions());
        engine.set_max_operations(self.max_operations.min(MOST_OPERATIONS));
        engine.set_max_call_levels(self.max_call_depth);
        engine.set_max_expr_depths(64, 32);
        engine.set_max_string_size(self.max_string_bytes);
        engine.set_max_array_size(self.max_elements);
        engine.set_max_map_size(self.max_elements);
        engine.set_max_variables(256);
        engine.set_max_functions(64);
        engine.set_strict_variables(true);
        engine.set_fail_on_invalid_map_property(true);
        engine.set_optimization_level(rhai::OptimizationLevel::None);
        engine.disable_symbol("eval");
        engine.on_print(|_| {});
        engine.on_debug(|_, _, _| {});
        let clock = self.clock;
        holding::watch(&mut engine, clock);
        engine.on_progress(move |_| ((clock.0)() > ENDS_AT.get()).then(|| Dynamic::from(TimeOver)));
        engine
    }

    /// Makes room for the values of the order, however large they are: an answer or the variables were let in
    /// by bounds of their own, and to be read they only have to be there. `None` if these bounds
    /// have room for it anyway.
    pub(super) fn wider(&self, brought: Size) -> Option<Self> {
        let is_large = brought.text > self.max_string_bytes / 2 || brought.elements > self.max_elements / 2;
        is_large.then(|| Self {
            max_string_bytes: self.max_string_bytes.saturating_add(brought.text),
            max_elements: self.max_elements.saturating_add(brought.elements),
            ..self.clone()
        })
    }
}

/// Size of a value, as the engine counts: all text in it, and all elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    text: usize,
    elements: usize,
    depth: usize,
}

impl Size {
    /// The most bytes that it takes.
    fn bytes(self) -> usize {
        self.text.saturating_add(self.elements.saturating_mul(ELEMENT))
    }

    /// Counts the members of a map in.
    pub(super) fn add_members(&mut self, members: &[(&str, &Value)]) {
        self.elements += members.len();
        self.depth = self.depth.max(1);
        members.iter().for_each(|(_, value)| self.add_below(value, 1));
    }

    /// Counts a value in.
    pub(super) fn add(&mut self, value: &Value) {
        self.add_below(value, 0);
    }

    /// Counts a value in that stands `depth` lists and maps deep.
    fn add_below(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.text += text.len(),
            Value::Array(list) => {
                self.elements += list.len();
                self.depth = self.depth.max(depth + 1);
                list.iter().for_each(|value| self.add_below(value, depth + 1));
            }
            Value::Object(map) => {
                self.elements += map.len();
                self.depth = self.depth.max(depth + 1);
                map.values().for_each(|value| self.add_below(value, depth + 1));
            }
        }
    }
}

/// Functions that scripts can call, built once and shared by every engine.
fn functions() -> Shared<Module> {
    static FUNCTIONS: LazyLock<Shared<Module>> = LazyLock::new(|| native::functions().into());
    FUNCTIONS.clone()
}
