//! The directory of the installation, if it has one.

use pagurus_runtime::config::Settings;
use pagurus_wire::access::AccessStep;

use crate::{LoginFailure, Person};

/// What knows people.
pub(crate) enum Directory {
    /// Nothing: people have no login, but for the local administrator.
    Nobody,
}

impl Directory {
    pub fn of(_: &Settings) -> Self {
        Self::Nobody
    }

    /// Proves a name by its password.
    pub async fn log_in(&self, _: &str, _: &str) -> Result<Person, LoginFailure> {
        match self {
            Self::Nobody => Err(LoginFailure::Refused("no directory is asked for passwords".into())),
        }
    }

    /// What the directory finds for a person, step by step, without their password.
    pub async fn look_up(&self, _: &str) -> (Vec<AccessStep>, Option<Person>) {
        match self {
            Self::Nobody => {
                let step =
                    AccessStep { step: "directory".into(), result: "there is none (`access.mode`)".into() };
                (vec![step], None)
            }
        }
    }

    /// Groups of a person, without their password: the inner none if the directory does not know them any more, the outer if it
    /// cannot be asked.
    pub async fn groups_of(&self, _: &str) -> Option<Option<Vec<String>>> {
        None
    }
}
