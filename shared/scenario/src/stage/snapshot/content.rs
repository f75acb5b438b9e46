//! Content of what was asked: by it, and by no position, an answer is known to belong to a question.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// Digest of an element of a list, or of address and body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(Uuid);

impl Digest {
    /// The digest of this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.as_simple())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Uuid::try_parse(&String::deserialize(deserializer)?).map(Self).map_err(de::Error::custom)
    }
}

/// A good answer that a repeat does not ask for again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// State and name of its request: `STATE/NAME`.
    pub place: String,
    /// Content of that request. None in positions that were stored before it was kept: then nobody can tell what was
    /// asked, and it is asked again.
    pub content: Option<Digest>,
}

/// Numbers of the elements that an `each` went through in one visit. Requests, keys and child orders of an element are
/// known by its number, which never stands for another content in the same visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElementNumbers {
    /// The visit and the action of the `each`.
    pub at: (u32, usize),
    /// Elements by their numbers; `None` if a number is free.
    pub elements: Vec<Option<Digest>>,
}

impl ElementNumbers {
    /// Gives the element this number, before any list is looked at.
    pub(in super::super) fn reserve(&mut self, number: usize, element: Digest) {
        if self.elements.len() <= number {
            self.elements.resize(number + 1, None);
        }
        self.elements[number] = Some(element);
    }

    /// The numbers of the elements of a list. One that has a number keeps it, wherever it stands now; each of several equal
    /// ones has its own. The others take the lowest that are free.
    pub(in super::super) fn assign(&mut self, list: &[Digest]) -> Vec<usize> {
        let mut known: BTreeMap<Digest, VecDeque<usize>> = BTreeMap::new();
        for (number, element) in self.elements.iter().enumerate() {
            element.iter().for_each(|element| known.entry(*element).or_default().push_back(number));
        }
        let mut free = 0;
        let number_of = |element: &Digest| {
            if let Some(number) = known.get_mut(element).and_then(VecDeque::pop_front) {
                return number;
            }
            while self.elements.get(free).is_some_and(Option::is_some) {
                free += 1;
            }
            self.reserve(free, *element);
            free
        };
        list.iter().map(number_of).collect()
    }

    /// The element of this number.
    pub(in super::super) fn element(&self, number: usize) -> Option<Digest> {
        self.elements.get(number).copied().flatten()
    }
}
