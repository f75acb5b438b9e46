//! Failures of commands, and their exit codes for scripts.
//!
//! Never decides whether something is repeated: that is the caller's.

use std::io;

use pagurus_domain::document::{Fault, Position};
use pagurus_wire::problem::{Detail, Problem, Type};

/// The command failed: anything that has no code of its own.
pub(crate) const FAILED: u8 = 1;
/// The command line cannot be understood.
pub(crate) const USAGE: u8 = 2;
/// The present state does not allow it, or another order has the id.
pub(crate) const REFUSED: u8 = 3;
/// The thing that was named does not exist.
pub(crate) const NOT_FOUND: u8 = 4;
/// The server does not answer, or asks to come again later.
pub(crate) const AWAY: u8 = 5;

/// The time of `--timeout` was over before the order, or the call, had come to its end.
pub(crate) const NOT_YET: u8 = 6;

/// Reason for which a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The server said no, and why.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The server is not there, or it broke off.
    #[error("{server} does not answer: {why}")]
    Away {
        /// Server that the command talks to.
        server: String,
        /// Words of the network.
        why: String,
    },
    /// The database does not do now what was asked for; it may later.
    #[error("{why:#}")]
    Database {
        /// Words of the database, or of the network.
        why: anyhow::Error,
        /// False if it answered.
        is_unreachable: bool,
    },
    /// The values on the command line do not fit together.
    #[error("{0}")]
    Usage(String),
    /// An input is wrong; this is all of it, made for reading.
    #[error("{0}")]
    Input(String),
    /// Everything has been said already; only the code is left.
    #[error("exit code {0}")]
    Reported(u8),
    /// The world failed.
    #[error("{0:#}")]
    Other(#[from] anyhow::Error),
}

impl From<Problem> for CliError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<io::Error> for CliError {
    /// Converts an error of the output. A reader may stop when it has enough: `pagurus order list | head` is no failure.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Reported(0),
            _ => Self::Other(error.into()),
        }
    }
}

impl CliError {
    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            // The scenario of an order is not there, though its body is at fault.
            Self::Problem(problem) if problem.kind() == Some(Type::UnknownScenario) => NOT_FOUND,
            Self::Problem(problem) => code_of(problem.status),
            Self::Away { .. } | Self::Database { .. } => AWAY,
            Self::Usage(_) => USAGE,
            Self::Reported(code) => *code,
            Self::Input(_) | Self::Other(_) => FAILED,
        }
    }

    /// True if the same request may well succeed a moment later.
    pub fn is_away(&self) -> bool {
        self.code() == AWAY
    }

    /// The failure as programs read it.
    pub fn to_problem(&self) -> Problem {
        match self {
            Self::Problem(problem) => (**problem).clone(),
            Self::Away { .. } | Self::Database { .. } => Problem::new(Type::Unavailable, self.to_string()),
            Self::Usage(_) | Self::Input(_) => Problem::new(Type::Invalid, self.to_string()),
            // Something of this machine: no engine has said it, and there is no status of HTTP for it.
            Self::Reported(_) | Self::Other(_) => Problem {
                type_: "about:blank".to_owned(),
                title: "The command failed".to_owned(),
                status: 0,
                ..Problem::new(Type::Invalid, self.to_string())
            },
        }
    }
}

/// The exit code for the status of an answer.
pub(crate) const fn code_of(status: u16) -> u8 {
    match status {
        200..300 => 0,
        404 => NOT_FOUND,
        409 | 412 => REFUSED,
        // 502 and 504 come from what stands in front of the server.
        429 | 502..=504 => AWAY,
        _ => FAILED,
    }
}

/// Converts faults of the server into the form in which they are shown beside their source.
pub(crate) fn faults_of(problem: &Problem) -> Vec<Fault> {
    problem.errors.iter().map(fault_of).collect()
}

/// Converts one fault.
pub(crate) fn fault_of(detail: &Detail) -> Fault {
    Fault {
        at: detail.line.zip(detail.column).map(|(line, column)| Position { line, column }),
        pointer: detail.pointer.clone(),
        message: detail.message.clone(),
        hint: detail.hint.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_no_has_its_exit_code() {
        let cases = [
            (Type::Malformed, FAILED),
            (Type::Invalid, FAILED),
            (Type::UnknownScenario, NOT_FOUND),
            (Type::Conflict, REFUSED),
            (Type::Refused, REFUSED),
            (Type::NotFound, NOT_FOUND),
            (Type::TooLarge, FAILED),
            (Type::Busy, AWAY),
            (Type::Unavailable, AWAY),
            (Type::Internal, FAILED),
        ];
        for (kind, code) in cases {
            assert_eq!(CliError::from(Problem::new(kind, "")).code(), code, "{kind:?}");
        }
        assert_eq!(CliError::Usage(String::new()).code(), USAGE);
        let gone = CliError::Away { server: "x".into(), why: "y".into() };
        assert!(gone.is_away() && gone.code() == AWAY);
    }

    #[test]
    fn ui_a_fault_of_this_machine_is_not_reported_as_one_of_the_engine() {
        let input = crate::input::text_of(std::path::Path::new("/nope")).unwrap_err();
        assert_eq!((input.code(), input.to_problem().status), (FAILED, 422));
        let other = CliError::from(anyhow::anyhow!("no thread")).to_problem();
        assert_eq!((&*other.type_, other.status), ("about:blank", 0));
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert_eq!(CliError::from(io::Error::from(io::ErrorKind::BrokenPipe)).code(), 0);
        assert_eq!(CliError::from(io::Error::from(io::ErrorKind::StorageFull)).code(), FAILED);
    }
}
