//! Reading fields that may be missing: `get(value, "a.b.0.c", default)`, and what `value?.field` stands for; and lists of
//! which XML has one element, or none.

use rhai::{Array, Dynamic, FuncRegistration, Module};

use crate::xml::TEXT;

pub(super) fn install(module: &mut Module) {
    let pure = || FuncRegistration::new("get").with_purity(true);
    pure().set_into_module(module, |value: &mut Dynamic, path: &str, default: Dynamic| {
        at(value, path).unwrap_or(default)
    });
    pure().set_into_module(module, |value: &mut Dynamic, name: &str| {
        field(value, name).unwrap_or(Dynamic::UNIT)
    });
    FuncRegistration::new("list").with_purity(true).set_into_module(module, |value: Dynamic| list(value));
}

/// The value as a list: nothing is an empty one, and what is no list is its only element.
fn list(value: Dynamic) -> Array {
    if value.is_unit() {
        return Array::new();
    }
    value.try_cast_result::<Array>().unwrap_or_else(|value| vec![value])
}

/// Returns the value at a path of names and numbers; `None` if there is nothing, or `()`.
fn at(value: &Dynamic, path: &str) -> Option<Dynamic> {
    let mut found: Option<Dynamic> = None;
    for part in path.split('.').filter(|_| !path.is_empty()) {
        let here = found.as_ref().unwrap_or(value);
        let next = field(here, part).or_else(|| alone(here, part))?;
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

/// Returns the value itself where a document of XML has less than it could have: one element in the place of several, and text
/// alone in that of an element with attributes.
fn alone(value: &Dynamic, name: &str) -> Option<Dynamic> {
    let is_itself = match name {
        "0" => !value.is_array() && !value.is_unit(),
        TEXT => value.is_string(),
        _ => false,
    };
    is_itself.then(|| value.clone())
}
