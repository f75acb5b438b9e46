//! Compares two trees key by key; lists are laid side by side so that what stayed is not reported.

use serde_json::{Map, Value};

use super::{Difference, StateChange, ValueChange};

/// The longest list that is laid side by side; the work grows with the square of it.
const LONGEST_ALIGNED: usize = 400;

/// See [`super::diff`].
pub(super) fn documents(from: &Value, to: &Value) -> Difference {
    let (old, new) = (states(from), states(to));
    let mut difference = Difference {
        added: new.keys().filter(|name| !old.contains_key(*name)).cloned().collect(),
        removed: old.keys().filter(|name| !new.contains_key(*name)).cloned().collect(),
        ..Difference::default()
    };
    for (name, state) in &old {
        let mut changes = Vec::new();
        if let Some(other) = new.get(name) {
            compare(state, other, "", &mut changes);
        }
        if !changes.is_empty() {
            difference.changed.push(StateChange { state: name.clone(), changes });
        }
    }
    let without_states = |value: &Value| {
        let mut map = value.as_object().cloned().unwrap_or_default();
        map.remove("states");
        Value::Object(map)
    };
    compare(&without_states(from), &without_states(to), "", &mut difference.whole);
    difference
}

fn states(document: &Value) -> Map<String, Value> {
    document.get("states").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn compare(from: &Value, to: &Value, place: &str, changes: &mut Vec<ValueChange>) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                match new.get(key) {
                    Some(other) => compare(value, other, &member(place, key), changes),
                    None => changes.push(gone(member(place, key), value)),
                }
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                changes.push(fresh(member(place, key), value));
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len().max(new.len()) <= LONGEST_ALIGNED => {
            lists(old, new, place, changes);
        }
        _ => changes.push(ValueChange {
            place: place.to_owned(),
            from: Some(from.clone()),
            to: Some(to.clone()),
        }),
    }
}

/// Compares two lists. Items that stayed are not reported; what lies between them is compared in pairs
/// of one kind, and the rest is new or gone.
fn lists(old: &[Value], new: &[Value], place: &str, changes: &mut Vec<ValueChange>) {
    let (mut left, mut right) = (0, 0);
    let mut stayed = common(old, new, |one, other| one == other);
    stayed.push((old.len(), new.len()));
    for (at, other) in stayed {
        let (between, instead) = (&old[left..at], &new[right..other]);
        let pairs = common(between, instead, same_kind);
        for (number, value) in between.iter().enumerate() {
            match pairs.iter().find(|(one, _)| *one == number) {
                Some((_, to)) => {
                    let place = format!("{place}[{}]", right + to);
                    compare(value, &instead[*to], &place, changes);
                }
                None => changes.push(gone(format!("{place}[{}] before", left + number), value)),
            }
        }
        for (number, value) in instead.iter().enumerate() {
            if !pairs.iter().any(|(_, one)| *one == number) {
                changes.push(fresh(format!("{place}[{}]", right + number), value));
            }
        }
        (left, right) = (at + 1, other + 1);
    }
}

/// True if both actions do the same thing: only then they are compared inside.
fn same_kind(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => one.keys().eq(other.keys()),
        _ => true,
    }
}

/// The longest row of items that are the same in both lists and in the same order, as pairs of
/// their places.
fn common(old: &[Value], new: &[Value], same: fn(&Value, &Value) -> bool) -> Vec<(usize, usize)> {
    // longest[i][j]: of what stands from i and from j on.
    let mut longest = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = if same(&old[i], &new[j]) {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < old.len() && j < new.len() {
        if same(&old[i], &new[j]) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

fn member(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn gone(place: String, value: &Value) -> ValueChange {
    ValueChange { place, from: Some(value.clone()), to: None }
}

fn fresh(place: String, value: &Value) -> ValueChange {
    ValueChange { place, from: None, to: Some(value.clone()) }
}
