//! Every statement of the project, for tests.

use crate::sql::Statement;

/// Every statement of the project.
pub fn all() -> impl Iterator<Item = &'static Statement> {
    [
        crate::amend::STATEMENTS,
        crate::answers::STATEMENTS,
        crate::audit::STATEMENTS,
        crate::callbacks::STATEMENTS,
        crate::calls::STATEMENTS,
        crate::children::STATEMENTS,
        crate::cluster::STATEMENTS,
        crate::control::STATEMENTS,
        crate::dependencies::STATEMENTS,
        crate::dependencies::admission::STATEMENTS,
        crate::dependencies::graph::STATEMENTS,
        crate::due::STATEMENTS,
        crate::ends::STATEMENTS,
        crate::errors::STATEMENTS,
        crate::flows::STATEMENTS,
        crate::history::STATEMENTS,
        crate::measures::STATEMENTS,
        crate::orders::STATEMENTS,
        crate::orders::SEARCH_STATEMENTS,
        crate::orders::VIEW_STATEMENTS,
        crate::outbox::STATEMENTS,
        crate::outbox::sending::STATEMENTS,
        crate::outbox::shown::STATEMENTS,
        crate::outbox::webhooks::STATEMENTS,
        crate::place::STATEMENTS,
        crate::presence::STATEMENTS,
        crate::queues::STATEMENTS,
        crate::recovery::STATEMENTS,
        crate::requests::STATEMENTS,
        crate::scenarios::STATEMENTS,
        crate::shift::STATEMENTS,
        crate::stages::STATEMENTS,
        crate::stages::advance::STATEMENTS,
        crate::stages::finish::STATEMENTS,
        crate::stats::STATEMENTS,
        crate::stops::STATEMENTS,
        crate::suspensions::STATEMENTS,
        crate::upkeep::STATEMENTS,
    ]
    .into_iter()
    .flatten()
}
