//! Texts that people give with a command: keywords, names, reasons.

use pagurus_wire::problem::Problem;

/// Longest keyword, reason and name of a node or system, in bytes.
pub(crate) const MAX_TEXT: usize = 1024;

/// Refuses a text that is empty, too long, or that the database does not take.
pub(crate) fn checked(name: &str, text: &str, most: usize) -> Result<(), Problem> {
    let message = if text.is_empty() {
        "is missing".to_owned()
    } else if text.len() > most {
        format!("is longer than {most} bytes")
    } else if text.chars().any(char::is_control) {
        "holds control characters".to_owned()
    } else {
        return Ok(());
    };
    Err(Problem::of_field(&format!("/{name}"), message))
}
