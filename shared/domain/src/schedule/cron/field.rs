//! Fields of an expression: lists, ranges and steps of numbers or names.

use super::{CronFault, cut};

/// A kind of field.
pub(super) struct FieldKind {
    /// Name with an article.
    pub name: &'static str,
    pub least: i8,
    pub most: i8,
    /// Names of its values, from the least on.
    pub names: &'static [&'static str],
}

pub(super) const SECOND: FieldKind = FieldKind { name: "a second", least: 0, most: 59, names: &[] };
pub(super) const MINUTE: FieldKind = FieldKind { name: "a minute", least: 0, most: 59, names: &[] };
pub(super) const HOUR: FieldKind = FieldKind { name: "an hour", least: 0, most: 23, names: &[] };
pub(super) const DAY: FieldKind = FieldKind { name: "a day of a month", least: 1, most: 31, names: &[] };
pub(super) const MONTH: FieldKind = FieldKind {
    name: "a month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Sunday is 0, and 7 as well.
pub(super) const WEEKDAY: FieldKind = FieldKind {
    name: "a day of the week",
    least: 0,
    most: 6,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// Text of a field, or of a part of it, with its place in characters from 1.
#[derive(Clone, Debug)]
pub(super) struct FieldText {
    pub at: usize,
    pub text: String,
}

impl FieldText {
    /// The parts between commas.
    pub fn items(&self) -> Vec<Self> {
        let mut at = self.at;
        let mut items = Vec::new();
        for text in self.text.split(',') {
            items.push(Self { at, text: text.to_owned() });
            at += text.chars().count() + 1;
        }
        items
    }

    /// Parts before and behind the first of this letter.
    fn split_at(&self, letter: char) -> (Self, Option<Self>) {
        match self.text.split_once(letter) {
            None => (self.clone(), None),
            Some((before, behind)) => {
                let at = self.at + before.chars().count() + 1;
                let before = Self { at: self.at, text: before.to_owned() };
                (before, Some(Self { at, text: behind.to_owned() }))
            }
        }
    }
}

/// FieldValues of a field: a set of numbers from 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct FieldValues(u64);

impl FieldValues {
    pub const fn only(value: i8) -> Self {
        Self(1 << value)
    }

    fn add(&mut self, value: i8) {
        self.0 |= 1 << value;
    }

    pub const fn has(self, value: i8) -> bool {
        self.0 >> value & 1 == 1
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The least value that is not smaller than this one.
    pub fn at_or_after(self, value: i8) -> Option<i8> {
        let rest = self.0.checked_shr(u32::try_from(value).ok()?).unwrap_or(0);
        if rest == 0 {
            return None;
        }
        i8::try_from(rest.trailing_zeros()).ok().map(|more| value + more)
    }

    /// True if every value of the field is there.
    pub fn is_whole(self, kind: &FieldKind) -> bool {
        (kind.least..=kind.most).all(|value| self.has(value))
    }

    pub const fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Reads a field that is a list of numbers, names, ranges and steps.
pub(super) fn read(kind: &FieldKind, field: &FieldText) -> Result<FieldValues, CronFault> {
    let mut values = FieldValues::default();
    for item in field.items() {
        values.join(read_item(kind, &item)?);
    }
    Ok(values)
}

/// Reads one part of a list.
pub(super) fn read_item(kind: &FieldKind, item: &FieldText) -> Result<FieldValues, CronFault> {
    if item.text.is_empty() {
        let message = format!("{} is missing here", kind.name);
        return Err(CronFault::new(item.at, message, "remove the comma"));
    }
    let (range, step) = item.split_at('/');
    let step = step.map(|step| read_step(kind, &step)).transpose()?;
    let (first, last) = match range.text.as_str() {
        "*" | "?" => (kind.least, kind.most),
        _ => match range.split_at('-') {
            (only, None) => {
                let only = read_value(kind, &only)?;
                (only, if step.is_some() { kind.most } else { only })
            }
            (first, Some(last)) => (read_value(kind, &first)?, read_value(kind, &last)?),
        },
    };
    let mut values = FieldValues::default();
    let count = kind.most - kind.least + 1;
    // A range whose end is smaller goes on at the start, as `fri-mon` and `22-2` do.
    let length = if last >= first { last - first } else { last - first + count };
    for offset in (0..=length).step_by(usize::from(step.unwrap_or(1).unsigned_abs())) {
        values.add(kind.least + (first - kind.least + offset) % count);
    }
    Ok(values)
}

fn read_step(kind: &FieldKind, step: &FieldText) -> Result<i8, CronFault> {
    let count = kind.most - kind.least;
    let read =
        step.text.parse::<i8>().ok().filter(|step| (1..=count).contains(step) && is_plain(&step.to_string()));
    read.filter(|_| is_plain(&step.text)).ok_or_else(|| {
        let message = format!("`{}` is not a step of {}: a step is 1 to {count}", cut(&step.text), kind.name);
        let hint =
            "for an interval that does not fit the field, remove `cron` and write `every`, such as `90m`";
        CronFault::new(step.at, message, hint)
    })
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit())
}

/// Reads a number or a name.
pub(super) fn read_value(kind: &FieldKind, value: &FieldText) -> Result<i8, CronFault> {
    let text = value.text.to_ascii_lowercase();
    let named = kind.names.iter().position(|name| text == *name || is_whole_name(name, &text));
    if let Some(index) = named.and_then(|index| i8::try_from(index).ok()) {
        return Ok(kind.least + index);
    }
    let number = text.parse::<i8>().ok().filter(|_| is_plain(&text));
    // Seven is Sunday, too.
    let number = number.map(|number| if kind.most == 6 && number == 7 { 0 } else { number });
    number.filter(|number| (kind.least..=kind.most).contains(number)).ok_or_else(|| {
        let message = format!("`{}` is not {}", cut(&value.text), kind.name);
        let hint = match kind.names {
            [] => format!("{} is {} to {}", kind.name, kind.least, kind.most),
            names => {
                format!("{} is {} to {}, or one of {}", kind.name, kind.least, kind.most, names.join(", "))
            }
        };
        CronFault::new(value.at, message, hint)
    })
}

/// True if a text is the whole name that begins so, like `monday`.
fn is_whole_name(start: &str, text: &str) -> bool {
    const WHOLE: &[&str] = &[
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "sunday",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
    ];
    text.starts_with(start) && WHOLE.contains(&text)
}
