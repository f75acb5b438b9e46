//! Reading fields that may be missing: `get(value, "a.b.0.c", default)`, and what `value?.field` stands for.

use rhai::{Dynamic, FuncRegistration, Module};

pub(super) fn install(module: &mut Module) {
    let pure = || FuncRegistration::new("get").with_purity(true);
    pure().set_into_module(module, |value: &mut Dynamic, path: &str, default: Dynamic| {
        at(value, path).unwrap_or(default)
    });
    pure().set_into_module(module, |value: &mut Dynamic, name: &str| {
        field(value, name).unwrap_or(Dynamic::UNIT)
    });
}

/// Returns the value at a path of names and numbers; `None` if there is nothing, or `()`.
fn at(value: &Dynamic, path: &str) -> Option<Dynamic> {
    let mut found: Option<Dynamic> = None;
    for part in path.split('.').filter(|_| !path.is_empty()) {
        let next = field(found.as_ref().unwrap_or(value), part)?;
        found = Some(next);
    }
    found.or_else(|| Some(value.clone())).filter(|value| !value.is_unit())
}

/// A member of a map, or an element of a list by its number.
fn field(value: &Dynamic, name: &str) -> Option<Dynamic> {
    if let Ok(map) = value.as_map_ref() {
        return map.get(name).cloned();
    }
    value.as_array_ref().ok()?.get(name.parse::<usize>().ok()?).cloned()
}
