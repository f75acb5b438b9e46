//! Functions on lists and maps that keep what is given to them many times, or that call code for each
//! element: what it returns and what it makes of the elements is counted while they go.

use std::cmp::Ordering;

use rhai::{Array, Dynamic, EvalAltResult, FnPtr, FuncRegistration, INT, ImmutableString, Map, Module};

use super::calls::{Calls, number};
use super::{CallContext, NativeResult, ValueSize};

pub(super) fn install(module: &mut Module) {
    install_lists(module);
    install_comparing(module);
    install_by_name(module);
    install_maps(module);
}

fn install_lists(module: &mut Module) {
    let pure = FuncRegistration::new;
    let changing = |name: &str| FuncRegistration::new(name).with_purity(false);
    changing("pad").set_into_module(module, pad);
    changing("for_each").set_into_module(module, for_each);
    pure("map").set_into_module(module, map);
    pure("filter").set_into_module(module, filter);
    pure("some").set_into_module(module, some);
    pure("all").set_into_module(module, all);
    pure("zip").set_into_module(module, zip);
    changing("drain").set_into_module(module, drain);
    changing("retain").set_into_module(module, retain);
    pure("index_of").set_into_module(module, |context: CallContext<'_>, list: &mut Array, f: FnPtr| {
        index_of(context, list, f, 0)
    });
    pure("index_of").set_into_module(module, index_of);
    pure("find").set_into_module(module, |context: CallContext<'_>, list: &mut Array, f: FnPtr| {
        find(context, list, f, 0)
    });
    pure("find").set_into_module(module, find);
    pure("find_map").set_into_module(module, |context: CallContext<'_>, list: &mut Array, f: FnPtr| {
        find_map(context, list, f, 0)
    });
    pure("find_map").set_into_module(module, find_map);
}

/// Installs the functions that compare: Rhai's own go on when the code that compares fails, also when its time is over.
fn install_comparing(module: &mut Module) {
    let changing = |name: &str| FuncRegistration::new(name).with_purity(false);
    changing("dedup").set_into_module(module, dedup);
    changing("dedup").set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
        dedup(context, list, FnPtr::new(name)?)
    });
    for name in ["sort", "sort_by"] {
        changing(name).set_into_module(module, |context: CallContext<'_>, list: &mut Array, f: FnPtr| {
            sort(&context, list, &f)
        });
    }
    changing("sort").set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
        sort(&context, list, &FnPtr::new(name)?)
    });
    for name in ["order", "order_by"] {
        FuncRegistration::new(name).set_into_module(
            module,
            |context: CallContext<'_>, list: &mut Array, f: FnPtr| {
                let mut ordered = list.clone();
                sort(&context, &mut ordered, &f)?;
                Ok::<_, Box<EvalAltResult>>(ordered)
            },
        );
    }
}

/// The forms that take the name of a function.
fn install_by_name(module: &mut Module) {
    let new = FuncRegistration::new;
    new("map").set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
        map(context, list, FnPtr::new(name)?)
    });
    new("filter").set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
        filter(context, list, FnPtr::new(name)?)
    });
    new("some").set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
        some(context, list, FnPtr::new(name)?)
    });
    new("all").set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
        all(context, list, FnPtr::new(name)?)
    });
    new("drain")
        .with_purity(false)
        .set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
            drain(context, list, FnPtr::new(name)?)
        });
    new("retain")
        .with_purity(false)
        .set_into_module(module, |context: CallContext<'_>, list: &mut Array, name: &str| {
            retain(context, list, FnPtr::new(name)?)
        });
    new("index_of").set_into_module(
        module,
        |context: CallContext<'_>, list: &mut Array, text: ImmutableString| {
            index_of_text(context, list, &text, 0)
        },
    );
    new("index_of").set_into_module(
        module,
        |context: CallContext<'_>, list: &mut Array, text: ImmutableString, start: INT| {
            index_of_text(context, list, &text, start)
        },
    );
}

fn install_maps(module: &mut Module) {
    FuncRegistration::new("map").set_into_module(module, map_members);
    FuncRegistration::new("filter").set_into_module(module, filter_members);
    FuncRegistration::new("drain")
        .with_purity(false)
        .set_into_module(module, |context: CallContext<'_>, map: &mut Map, f: FnPtr| {
            take_members(&context, "drain", map, &f, true)
        });
    FuncRegistration::new("retain")
        .with_purity(false)
        .set_into_module(module, |context: CallContext<'_>, map: &mut Map, f: FnPtr| {
            take_members(&context, "retain", map, &f, false)
        });
}

fn yes(said: &Dynamic) -> bool {
    said.as_bool().unwrap_or(false)
}

/// Returns where a search begins; a negative number counts from the end.
fn start_in(list: &Array, start: INT) -> usize {
    let distance = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
    if start < 0 { list.len().saturating_sub(distance) } else { distance.min(list.len()) }
}

fn pad(context: CallContext<'_>, list: &mut Array, length: INT, item: Dynamic) -> NativeResult<()> {
    let length = usize::try_from(length).unwrap_or(0);
    let missing = length.saturating_sub(list.len());
    if missing == 0 {
        return Ok(());
    }
    let mut held = ValueSize { elements: list.len(), ..ValueSize::default() };
    list.iter().for_each(|value| held.count(value));
    held.add(ValueSize::of(&item), missing);
    held.add(ValueSize { elements: 1, ..ValueSize::default() }, missing);
    held.check(&context)?;
    list.resize(length, item);
    Ok(())
}

fn for_each(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<()> {
    let mut calls = Calls::new(&context, "for_each", &f, None);
    for (index, element) in list.iter_mut().enumerate() {
        let _ = calls.of_element(index, element)?;
    }
    Ok(())
}

fn map(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<Array> {
    let mut calls = Calls::new(&context, "map", &f, Some(0));
    let mut mapped = Array::with_capacity(list.len());
    for (index, element) in list.iter_mut().enumerate() {
        let said = calls.of_element(index, element)?;
        calls.keep(&said)?;
        mapped.push(said);
    }
    Ok(mapped)
}

fn filter(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<Array> {
    let mut calls = Calls::new(&context, "filter", &f, Some(0));
    let mut chosen = Array::new();
    for (index, element) in list.iter_mut().enumerate() {
        if yes(&calls.of_element(index, element)?) {
            chosen.push(element.clone());
        }
    }
    Ok(chosen)
}

fn some(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<bool> {
    Ok(first(&context, "some", list, &f, 0, yes)?.is_some())
}

fn all(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<bool> {
    Ok(first(&context, "all", list, &f, 0, |said| !yes(said))?.is_none())
}

fn index_of(context: CallContext<'_>, list: &mut Array, f: FnPtr, start: INT) -> NativeResult<INT> {
    let found = first(&context, "index_of", list, &f, start, yes)?;
    Ok(found.map_or(-1, |(index, _)| number(index)))
}

fn find(context: CallContext<'_>, list: &mut Array, f: FnPtr, start: INT) -> NativeResult<Dynamic> {
    let found = first(&context, "find", list, &f, start, yes)?;
    Ok(found.and_then(|(index, _)| list.get(index).cloned()).unwrap_or(Dynamic::UNIT))
}

fn find_map(context: CallContext<'_>, list: &mut Array, f: FnPtr, start: INT) -> NativeResult<Dynamic> {
    let found = first(&context, "find_map", list, &f, start, |said| !said.is_unit())?;
    Ok(found.map_or(Dynamic::UNIT, |(_, said)| said))
}

/// The first element of which the function says something that fits, with what it says.
fn first(
    context: &CallContext<'_>,
    name: &'static str,
    list: &mut Array,
    f: &FnPtr,
    start: INT,
    fits: impl Fn(&Dynamic) -> bool,
) -> NativeResult<Option<(usize, Dynamic)>> {
    let start = start_in(list, start);
    let mut calls = Calls::new(context, name, f, Some(0));
    for (index, element) in list.iter_mut().enumerate().skip(start) {
        let said = calls.of_element(index, element)?;
        if fits(&said) {
            return Ok(Some((index, said)));
        }
    }
    Ok(None)
}

/// Finds a text: it is the name of a function if there is one, else a value to be found.
fn index_of_text(context: CallContext<'_>, list: &mut Array, text: &str, start: INT) -> NativeResult<INT> {
    let unknown = |error: &EvalAltResult| matches!(error, EvalAltResult::ErrorFunctionNotFound(..));
    if let Ok(f) = FnPtr::new(text) {
        match first(&context, "index_of", list, &f, start, yes) {
            Ok(found) => return Ok(found.map_or(-1, |(index, _)| number(index))),
            Err(error) => match &*error {
                EvalAltResult::ErrorInFunctionCall(_, _, inner, _) if unknown(inner) => {}
                error if unknown(error) => {}
                _ => return Err(error),
            },
        }
    }
    let is_it = |value: &Dynamic| value.as_immutable_string_ref().is_ok_and(|value| *value == text);
    let start = start_in(list, start);
    Ok(list.iter().skip(start).position(is_it).map_or(-1, |index| number(start + index)))
}

fn zip(context: CallContext<'_>, list: &mut Array, other: Array, f: FnPtr) -> NativeResult<Array> {
    let mut calls = Calls::new(&context, "zip", &f, None);
    let mut zipped = Array::new();
    for (index, (one, two)) in list.iter().zip(other).enumerate() {
        let extra = [number(index).into()];
        let said = f.call_raw_with_extra_args("zip", &context, None, [one.clone(), two], extra, None)?;
        calls.keep(&said)?;
        zipped.push(said);
    }
    Ok(zipped)
}

fn drain(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<Array> {
    take_elements(&context, "drain", list, &f, true)
}

fn retain(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<Array> {
    take_elements(&context, "retain", list, &f, false)
}

/// Takes out of the list what the function says `taken` of.
fn take_elements(
    context: &CallContext<'_>,
    name: &'static str,
    list: &mut Array,
    f: &FnPtr,
    taken: bool,
) -> NativeResult<Array> {
    let mut calls = Calls::new(context, name, f, Some(0));
    let verdicts = list.iter_mut().enumerate().map(|(index, element)| calls.of_element(index, element));
    let verdicts: Vec<bool> =
        verdicts.map(|said| said.map(|said| yes(&said))).collect::<NativeResult<_>>()?;
    let mut verdicts = verdicts.into_iter();
    Ok(list.extract_if(.., |_| verdicts.next() == Some(taken)).collect())
}

fn dedup(context: CallContext<'_>, list: &mut Array, f: FnPtr) -> NativeResult<()> {
    let mut failed = None;
    list.dedup_by(|one, before| {
        failed.is_none()
            && match f.call_raw(&context, None, [before.clone(), one.clone()]) {
                Ok(said) => yes(&said),
                Err(error) => {
                    failed = Some(error);
                    false
                }
            }
    });
    failed.map_or(Ok(()), Err)
}

/// Sorts by what the function says of two: a number or, of the first one, whether it comes first.
fn sort(context: &CallContext<'_>, list: &mut Array, f: &FnPtr) -> NativeResult<()> {
    let mut failed = None;
    let mut compare = |one: &Dynamic, two: &Dynamic| {
        if failed.is_some() {
            return Ordering::Equal;
        }
        match f.call_raw(context, None, [one.clone(), two.clone()]) {
            Ok(said) => match (said.as_int(), said.as_bool()) {
                (Ok(number), _) => number.cmp(&0),
                (_, Ok(is_first)) => (!is_first).cmp(&is_first),
                _ => one.type_id().cmp(&two.type_id()),
            },
            Err(error) => {
                failed = Some(error);
                Ordering::Equal
            }
        }
    };
    // Sorting panics where what is said makes no order.
    let sorted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| list.sort_by(&mut compare)));
    match (failed, sorted) {
        (Some(error), _) => Err(error),
        (None, Err(_)) => Err("what compares for the sorting makes no order".into()),
        (None, Ok(())) => Ok(()),
    }
}

fn map_members(context: CallContext<'_>, map: &mut Map, f: FnPtr) -> NativeResult<Map> {
    // As the standard package calls it.
    let mut calls = Calls::new(&context, "filter", &f, Some(1));
    let mut mapped = Map::new();
    for (key, value) in map.iter_mut() {
        let said = calls.of_member(key, value)?;
        calls.keep(&said)?;
        mapped.insert(key.clone(), said);
    }
    Ok(mapped)
}

fn filter_members(context: CallContext<'_>, map: &mut Map, f: FnPtr) -> NativeResult<Map> {
    let mut calls = Calls::new(&context, "filter", &f, Some(1));
    let mut chosen = Map::new();
    for (key, value) in map.iter_mut() {
        if yes(&calls.of_member(key, value)?) {
            chosen.insert(key.clone(), value.clone());
        }
    }
    Ok(chosen)
}

/// Takes out of the map what the function says `taken` of.
fn take_members(
    context: &CallContext<'_>,
    name: &'static str,
    map: &mut Map,
    f: &FnPtr,
    taken: bool,
) -> NativeResult<Map> {
    let mut calls = Calls::new(context, name, f, Some(1));
    let mut out = Vec::new();
    for (key, value) in map.iter_mut() {
        if yes(&calls.of_member(key, value)?) == taken {
            out.push(key.clone());
        }
    }
    Ok(out.into_iter().filter_map(|key| map.remove_entry(&key)).collect())
}
