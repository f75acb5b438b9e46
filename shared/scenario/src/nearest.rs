//! The name that was most probably meant.

use pagurus_domain::document;

/// The longest name that is compared: comparing costs the product of the lengths, and a name of a kilobyte is no typing
/// error.
const LONGEST_COMPARED: usize = 64;

/// The known name that was most probably meant.
pub(super) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    (name.len() <= LONGEST_COMPARED).then(|| document::nearest(name, known))?
}
