//! Texts that people give with a command: keywords, names, reasons.

use pagurus_wire::problem::{Problem, Type};

/// Refuses a text that is empty, too long, or that the database does not take.
pub(crate) fn checked(name: &str, text: &str, most: usize) -> Result<(), Problem> {
    let message = if text.is_empty() {
        format!("/{name} is missing")
    } else if text.len() > most {
        format!("/{name} is longer than {most} bytes")
    } else if text.chars().any(char::is_control) {
        format!("/{name} holds control characters")
    } else {
        return Ok(());
    };
    Err(Problem::new(Type::Invalid, message).at(format!("/{name}")))
}
