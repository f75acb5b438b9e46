//! Functions on texts: replacing, splitting, padding, and JSON.

use pagurus_domain::depth::{MAX_DEPTH, is_within};
use rhai::{Array, Dynamic, FuncRegistration, INT, ImmutableString, Module};
use serde_json::Value;

use super::super::convert::to_dynamic;
use super::super::holding::{DEPTH, too_large};
use super::{CallContext, NativeResult, ValueSize, check_text};

pub(super) fn install(module: &mut Module) {
    let changing = |name: &str| FuncRegistration::new(name).with_purity(false);
    changing("replace").set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, find: &str, with: &str| {
            replace(&context, text, find, with)
        },
    );
    changing("replace").set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, find: &str, with: char| {
            replace(&context, text, find, with.encode_utf8(&mut [0; 4]))
        },
    );
    changing("replace").set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, find: char, with: &str| {
            replace(&context, text, find.encode_utf8(&mut [0; 4]), with)
        },
    );
    changing("replace").set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, find: char, with: char| {
            replace(&context, text, find.encode_utf8(&mut [0; 4]), with.encode_utf8(&mut [0; 4]))
        },
    );
    changing("pad").set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, length: INT, with: char| {
            pad(&context, text, length, with.encode_utf8(&mut [0; 4]))
        },
    );
    changing("pad").set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, length: INT, with: &str| {
            pad(&context, text, length, with)
        },
    );
    FuncRegistration::new("to_chars").set_into_module(module, |context: CallContext<'_>, text: &str| {
        collect(&context, text.chars().map(Dynamic::from))
    });
    FuncRegistration::new("parse_json")
        .set_into_module(module, |context: CallContext<'_>, text: &str| parse_json(&context, text));
    install_splits(module);
}

/// All ways to split a text into a list. A text without the delimiter is its only part.
fn install_splits(module: &mut Module) {
    let split = || FuncRegistration::new("split");
    let split_rev = || FuncRegistration::new("split_rev");
    split().set_into_module(module, |context: CallContext<'_>, text: &mut ImmutableString| {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        parts(&context, text.split_whitespace())
    });
    split().set_into_module(module, |context: CallContext<'_>, text: &mut ImmutableString, by: &str| {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        parts(&context, text.split(by))
    });
    split().set_into_module(module, |context: CallContext<'_>, text: &mut ImmutableString, by: char| {
        parts(&context, text.split(by))
    });
    split().set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, by: &str, most: INT| {
            if text.is_empty() {
                return Ok(vec![text.clone().into()]);
            }
            parts(&context, text.splitn(at_least_one(most), by))
        },
    );
    split().set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, by: char, most: INT| {
            parts(&context, text.splitn(at_least_one(most), by))
        },
    );
    split_rev().set_into_module(module, |context: CallContext<'_>, text: &mut ImmutableString, by: &str| {
        if text.is_empty() {
            return Ok(vec![text.clone().into()]);
        }
        parts(&context, text.rsplit(by))
    });
    split_rev().set_into_module(module, |context: CallContext<'_>, text: &mut ImmutableString, by: char| {
        parts(&context, text.rsplit(by))
    });
    split_rev().set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, by: &str, most: INT| {
            if text.is_empty() {
                return Ok(vec![text.clone().into()]);
            }
            parts(&context, text.rsplitn(at_least_one(most), by))
        },
    );
    split_rev().set_into_module(
        module,
        |context: CallContext<'_>, text: &mut ImmutableString, by: char, most: INT| {
            parts(&context, text.rsplitn(at_least_one(most), by))
        },
    );
}

fn at_least_one(most: INT) -> usize {
    usize::try_from(most).unwrap_or(1).max(1)
}

fn parts<'t>(context: &CallContext<'_>, parts: impl Iterator<Item = &'t str>) -> NativeResult<Array> {
    collect(context, parts.map(|part| part.into()))
}

/// The items as a list; ends at the first one too many.
fn collect(context: &CallContext<'_>, items: impl Iterator<Item = Dynamic>) -> NativeResult<Array> {
    let most = context.engine().max_array_size();
    let mut list = Array::new();
    for item in items {
        if most > 0 && list.len() == most {
            return Err(too_large("Size of array/BLOB"));
        }
        list.push(item);
    }
    Ok(list)
}

fn replace(
    context: &CallContext<'_>,
    text: &mut ImmutableString,
    find: &str,
    with: &str,
) -> NativeResult<()> {
    if text.is_empty() {
        return Ok(());
    }
    let hits = text.matches(find).count();
    if hits == 0 {
        return Ok(());
    }
    let kept = text.len() - hits * find.len();
    check_text(context, kept.saturating_add(hits.saturating_mul(with.len())))?;
    *text = text.replace(find, with).into();
    Ok(())
}

/// Fills a text up to `length` characters, over and over with the same text.
fn pad(context: &CallContext<'_>, text: &mut ImmutableString, length: INT, with: &str) -> NativeResult<()> {
    let missing = usize::try_from(length).unwrap_or(0).saturating_sub(text.chars().count());
    // Nothing never fills anything.
    if missing == 0 || with.is_empty() {
        return Ok(());
    }
    // A character has at least one byte.
    check_text(context, text.len().saturating_add(missing))?;
    let bytes: usize = with.chars().cycle().take(missing).map(char::len_utf8).sum();
    check_text(context, text.len().saturating_add(bytes))?;
    text.make_mut().extend(with.chars().cycle().take(missing));
    Ok(())
}

/// JSON as a value. The standard package has the text parsed and run as an expression, in a run of its
/// own that does not know how deep this one stands.
fn parse_json(context: &CallContext<'_>, text: &str) -> NativeResult<Dynamic> {
    let (elements, members) = sizes_of(text);
    ValueSize { elements, members, ..ValueSize::default() }.check(context)?;
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}").into_boxed_str())?;
    if !is_within(&value, MAX_DEPTH) {
        return Err(too_large(DEPTH));
    }
    Ok(to_dynamic(&value))
}

/// Numbers of elements and of members of a JSON text, at all depths. Of a text that is not JSON
/// the numbers mean nothing.
fn sizes_of(json: &str) -> (usize, usize) {
    let (mut both, mut members) = (0_usize, 0);
    let (mut in_text, mut escaped, mut opened) = (false, false, false);
    for byte in json.bytes() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        // Each but the first of its list or map has a comma before it, and a member a colon inside.
        both += usize::from(opened && !matches!(byte, b']' | b'}')) + usize::from(byte == b',');
        members += usize::from(byte == b':');
        opened = matches!(byte, b'[' | b'{');
        in_text = byte == b'"';
    }
    (both.saturating_sub(members), members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scn_5_json_is_measured_before_it_is_read() {
        for (json, sizes) in [
            ("1", (0, 0)),
            ("[]", (0, 0)),
            ("[ ]", (0, 0)),
            ("[[],[],{}]", (3, 0)),
            ("[[[1]]]", (3, 0)),
            (r#"[{"a,[:": "\\\"", "b": "\",:"}, 2]"#, (2, 2)),
        ] {
            assert_eq!(sizes_of(json), sizes, "{json}");
        }
    }
}
