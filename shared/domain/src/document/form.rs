//! The keys that a mapping may have and the forms of their values, as tables. Readers refuse what their table does not
//! have; the JSON Schemas by which editors complete and check files are made of the same tables.
//!
//! A form says what can be said without reading the rest of the file; the reader says the rest.

mod schema;

pub use schema::{editor_schema, file_schema, schema};

/// The keys of a mapping.
#[derive(Debug)]
pub struct Keys {
    known: &'static [Key],
    rules: &'static [KeyRule],
}

/// Key of a mapping.
#[derive(Debug)]
pub struct Key {
    /// The name.
    pub name: &'static str,
    /// The form of the value.
    pub form: Form,
    /// True if the mapping is nothing without it.
    pub is_required: bool,
    /// Purpose of the key, as editors show it.
    pub meaning: &'static str,
}

/// Relations between the keys of one mapping.
#[derive(Clone, Copy, Debug)]
pub enum KeyRule {
    /// Exactly the keys of one list are there, of all the keys that stand here.
    OneOf(&'static [&'static [&'static str]]),
    /// At least one key is there.
    AtLeastOne,
    /// At least one of these keys is there.
    AnyOf(&'static [&'static str]),
    /// Exactly one key is there.
    ExactlyOne,
    /// The first key asks for the second, with the value `true`.
    Needs(&'static str, &'static str),
    /// A key with this value requires some keys and forbids others.
    Where {
        /// The key.
        key: &'static str,
        /// The value.
        word: &'static str,
        /// True if the value is meant where the key is not there.
        is_default: bool,
        /// Keys that must be there then.
        needs: &'static [&'static str],
        /// Keys that must not be there then.
        refuses: &'static [&'static str],
    },
}

/// The form of a value.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// Anything, also nothing.
    Anything,
    /// Anything but nothing.
    Something,
    /// A text.
    Text,
    /// A text of which this regular expression finds something.
    Matching(&'static str),
    /// A text, or a number or a truth value that is taken as it was written.
    AsWritten,
    /// A value like that of [`Form::AsWritten`], and not empty.
    NotEmpty,
    /// A value like that of [`Form::AsWritten`]; in a text, this regular expression finds something.
    Written(&'static str),
    /// A word of this list.
    Word(&'static [&'static str]),
    /// A list of words out of these, also of none; a word that is a number may be written as one.
    WordList(&'static [&'static str]),
    /// A word of the list that the function returns.
    Words(fn() -> Vec<&'static str>),
    /// `true` or `false`.
    Flag,
    /// `true`, or nothing at all.
    Bare,
    /// A whole number within bounds.
    Whole {
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A number within bounds.
    Number {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// A duration longer than nothing.
    Duration,
    /// A duration, also of nothing.
    DurationOrZero,
    /// A duration longer than nothing, or a text with an expression.
    Lapse,
    /// A duration, also of nothing, or a text with an expression.
    LapseOrZero,
    /// A mapping that is a JSON Schema.
    Schema,
    /// A list.
    List {
        /// The form of its items.
        of: &'static Form,
        /// Least number of items.
        least: usize,
        /// Greatest number of items.
        most: Option<usize>,
    },
    /// A mapping with keys that its author chooses.
    Map {
        /// A regular expression that finds something in each key.
        names: &'static str,
        /// The form of the values.
        of: &'static Form,
        /// Least number of entries.
        least: usize,
    },
    /// A mapping with known keys.
    Fields(&'static Keys),
    /// A mapping with known keys, and others that its author chooses.
    Open {
        /// The known keys.
        keys: &'static Keys,
        /// A regular expression that finds something in each of the others.
        names: &'static str,
        /// The form of the values of the others.
        of: &'static Form,
    },
    /// A mapping whose keys depend on one of them: those of the first table where it has the word, else of the second.
    ByWord {
        /// The key.
        key: &'static str,
        /// The word.
        word: &'static str,
        /// The keys where it has it.
        then: &'static Keys,
        /// The keys where it has not, or is not there.
        otherwise: &'static Keys,
    },
    /// A form with a name, which can hold itself.
    Named(&'static NamedForm),
    /// A form with a name, with more and fewer keys than it allows.
    Narrowed {
        /// The form.
        form: &'static NamedForm,
        /// Keys that must be there.
        needs: &'static [&'static str],
        /// Keys that must not be there.
        refuses: &'static [&'static str],
    },
    /// Any of several forms.
    Either(&'static [Form]),
}

/// A form that is written once and referred to by its name.
#[derive(Debug)]
pub struct NamedForm {
    /// The name.
    pub name: &'static str,
    /// The form.
    pub form: Form,
}

/// A key that may be left out.
pub const fn key(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key { name, form, is_required: false, meaning }
}

/// A key that must be there.
pub const fn required(name: &'static str, form: Form, meaning: &'static str) -> Key {
    Key { name, form, is_required: true, meaning }
}

/// A list of any length.
pub const fn list(of: &'static Form) -> Form {
    Form::List { of, least: 0, most: None }
}

/// A list with at least one item.
pub const fn filled_list(of: &'static Form) -> Form {
    Form::List { of, least: 1, most: None }
}

impl Keys {
    /// A table of keys.
    pub const fn new(known: &'static [Key]) -> Self {
        Self { known, rules: &[] }
    }

    /// A table of keys that have to do with each other.
    pub const fn with_rules(known: &'static [Key], rules: &'static [KeyRule]) -> Self {
        Self { known, rules }
    }

    /// The names, in the order of the table.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.known.iter().map(|key| key.name)
    }

    /// The name as the table has it; none if it does not.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static str> {
        self.names().find(|known| *known == name)
    }

    /// True if the key is known.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// True if the mapping is nothing without the key.
    #[must_use]
    pub fn requires(&self, name: &str) -> bool {
        self.known.iter().any(|key| key.is_required && key.name == name)
    }
}

#[cfg(test)]
mod tests;
