//! Every statement of the project, and the services that execute it: the one place that says who needs what of the database.
//! What the database permits each service is made from it (`migrations/roles.sql`), and tests try each statement under each role.

use pagurus_domain::id::Role::{self, Activator, Dispatcher, Intake, Notifier, Worker};

use crate::sql::Statement;

/// Every statement of the project.
pub fn all() -> impl Iterator<Item = &'static Statement> {
    MODULES.iter().flat_map(|module| module.statements)
}

/// Every statement with the services that execute it. None does where the list is empty: those are of commands that work on the
/// database as its owner.
pub fn with_services() -> impl Iterator<Item = (&'static Statement, &'static [Role])> {
    MODULES.iter().flat_map(|module| module.statements.iter().map(|one| (one, module.services_of(one))))
}

/// Names in the lists of exceptions that no statement of their module has.
pub fn strange_names() -> Vec<&'static str> {
    let known = |module: &Module, name: &str| module.statements.iter().any(|one| one.short_name() == name);
    let names = |module: &'static Module| module.but.iter().flat_map(|(_, names)| names.iter().copied());
    MODULES.iter().flat_map(|module| names(module).filter(move |name| !known(module, name))).collect()
}

/// Statements of a module, and who executes them.
struct Module {
    statements: &'static [Statement],
    services: &'static [Role],
    /// Services of single statements, by their names.
    but: &'static [(&'static [Role], &'static [&'static str])],
}

impl Module {
    fn services_of(&self, statement: &Statement) -> &'static [Role] {
        let own = self.but.iter().find(|(_, names)| names.contains(&statement.short_name()));
        own.map_or(self.services, |(services, _)| services)
    }
}

const fn of(
    statements: &'static [Statement],
    services: &'static [Role],
    but: &'static [(&'static [Role], &'static [&'static str])],
) -> Module {
    Module { statements, services, but }
}

/// All roles: what a process does whatever it serves.
const EACH: &[Role] = &[Intake, Dispatcher, Activator, Worker, Notifier];

/// Statements of each module.
const MODULES: &[Module] = &[
    of(crate::outside::access::STATEMENTS, &[Intake], &[(&[Activator], &["FORGET_SESSIONS"])]),
    of(crate::outside::amend::STATEMENTS, &[Intake, Activator], &[]),
    of(crate::outside::answers::STATEMENTS, &[Intake], &[]),
    of(
        crate::outside::answers::taken::STATEMENTS,
        &[Worker],
        &[(&[Intake, Worker], &["BODY"]), (&[Intake], &["CALLBACKS_OF_ORDER"])],
    ),
    of(
        crate::hot::asking::STATEMENTS,
        &[Worker],
        &[(&[Intake, Activator], &["ASKED_BY"]), (&[Activator], &["FORGET_ENDED"])],
    ),
    of(crate::hot::attempts::STATEMENTS, &[Intake], &[(&[Activator], &["FORGET"])]),
    of(crate::lists::actors::STATEMENTS, &[Intake], &[]),
    of(crate::lists::audit::STATEMENTS, &[Intake], &[(&[Intake, Activator, Worker], &["INSERT"])]),
    of(
        crate::lists::audit::chain::STATEMENTS,
        &[Activator],
        &[
            (&[Intake, Activator], &["LAST", "ANCHOR", "LINKS", "WAITING"]),
            (&[Intake], &["BEHIND", "PUT_IN"]),
        ],
    ),
    of(crate::lists::audit::export::STATEMENTS, &[Activator], &[]),
    of(crate::outside::callbacks::STATEMENTS, &[Intake], &[]),
    of(
        crate::hot::calls::STATEMENTS,
        &[Intake],
        &[(&[Worker], &["PENDING", "ANSWER"]), (&[Intake, Activator, Worker], &["ENDED", "WAKE"])],
    ),
    of(crate::outside::changes::STATEMENTS, &[Intake], &[]),
    of(
        crate::outside::children::STATEMENTS,
        &[Worker],
        &[(&[Intake], &["OF_PARENT", "PARENT"]), (&[Intake, Activator], &["AWAITED"])],
    ),
    of(
        crate::recovery::cluster::STATEMENTS,
        EACH,
        &[
            (&[Worker], &["INTAKE"]),
            (&[Activator], &["LOSE"]),
            (&[Dispatcher], &["WORKERS"]),
            (&[Intake, Activator], &["LIST"]),
        ],
    ),
    of(
        crate::recovery::consistency::STATEMENTS,
        &[Activator],
        &[(&[Intake, Activator], &["NUMBERED", "FACTS"])],
    ),
    of(
        crate::recovery::consistency::marks::STATEMENTS,
        &[Intake, Activator],
        &[(&[Intake], &["OF_ORDER"]), (&[Activator], &["COUNT_MARKS"])],
    ),
    of(crate::recovery::consistency::repair::STATEMENTS, &[Intake, Activator], &[]),
    of(
        crate::hot::control::STATEMENTS,
        &[Intake, Activator, Worker],
        &[(&[Intake, Activator], &["FIND", "SNAPSHOTS", "PARAMS"])],
    ),
    of(
        crate::upkeep::decisions::STATEMENTS,
        &[Dispatcher],
        &[(&[Intake], &["PAGE"]), (&[Activator], &["FORGET"])],
    ),
    of(crate::hot::deadlines::STATEMENTS, &[Intake, Activator, Worker], &[(&[Intake, Activator], &["HALT"])]),
    of(
        crate::hot::dependencies::STATEMENTS,
        &[Intake, Activator, Worker],
        &[
            (&[Activator], &["MARK_AWAITED", "URGENT", "PAGE"]),
            (&[Intake, Activator], &["CLOSED", "REOPEN", "WAIT"]),
        ],
    ),
    of(
        crate::hot::dependencies::admission::STATEMENTS,
        &[Intake, Activator, Worker],
        &[(&[Intake], &["SCENARIOS"])],
    ),
    of(crate::hot::dependencies::awaiting::STATEMENTS, &[Intake, Activator, Worker], &[]),
    of(
        crate::hot::dependencies::cycles::STATEMENTS,
        &[Intake, Activator, Worker],
        &[(&[Intake, Activator], &["HAS_CLOSED"])],
    ),
    of(crate::hot::dependencies::graph::STATEMENTS, &[Intake, Activator], &[]),
    of(crate::upkeep::doctor::STATEMENTS, &[Intake], &[]),
    of(crate::hot::due::STATEMENTS, &[Activator], &[(&[Intake, Activator, Worker], &["TAKE_ANSWERED"])]),
    of(crate::hot::due::by_flow::STATEMENTS, &[Activator], &[]),
    of(crate::outside::ends::STATEMENTS, &[Intake, Activator, Worker], &[]),
    of(crate::lists::errors::STATEMENTS, &[Intake], &[]),
    of(crate::lists::ledger::STATEMENTS, &[Intake], &[]),
    of(
        crate::upkeep::first::STATEMENTS,
        &[Activator],
        &[(&[Intake, Activator], &["DUE"]), (&[Notifier], &["OUTBOX"])],
    ),
    of(
        crate::upkeep::flows::STATEMENTS,
        &[Dispatcher],
        &[
            (&[Intake], &["FLOWS_PAGE", "NAMES_WITH", "SYSTEMS_PAGE", "STOPPED_FLOWS", "AWAY_SYSTEMS"]),
            (&[Intake, Dispatcher, Activator], &["FLOW"]),
            (&[Activator], &["RECORDS_OF", "HELD_BACK"]),
            (&[Intake, Activator], &["SYSTEM", "READY_BEFORE", "BACKLOG"]),
        ],
    ),
    of(
        crate::hot::history::STATEMENTS,
        &[Intake],
        &[(&[Intake, Activator, Worker], &["APPEND"]), (&[Intake, Activator], &["OF_KEY"])],
    ),
    of(crate::recovery::idle::STATEMENTS, &[Activator], &[]),
    of(
        crate::recovery::leases::STATEMENTS,
        &[Dispatcher],
        &[(&[Intake], &["END_LEASE"]), (&[Intake, Activator], &["LEASES", "LEADER"])],
    ),
    of(
        crate::recovery::marks::STATEMENTS,
        &[Intake],
        &[(EACH, &["IS_MARKED"]), (&[Notifier], &["NOTIFIERS"])],
    ),
    of(
        crate::outside::operations::STATEMENTS,
        &[Activator],
        &[
            (&[Intake], &["CREATE", "LIST", "SET_SHIFT"]),
            (&[Intake, Activator], &["FIND", "LOCK", "SET_STATE"]),
        ],
    ),
    of(crate::outside::operations::items::STATEMENTS, &[Activator], &[(&[Intake], &["PAGE"])]),
    of(crate::outside::operations::REASON_STATEMENTS, &[Intake], &[]),
    of(crate::upkeep::replays::STATEMENTS, &[Activator], &[(&[Intake], &["CREATE", "LIST", "STOP"])]),
    of(crate::upkeep::roles::STATEMENTS, &[], &[]),
    of(crate::upkeep::migrate::STATEMENTS, EACH, &[(&[Intake], &["NEWEST"])]),
    of(
        crate::lists::measures::STATEMENTS,
        &[Intake, Activator],
        &[
            (
                &[Intake],
                &[
                    "FIRST_STATUSES",
                    "FIRST_REQUESTS",
                    "ESTIMATE_WORDS",
                    "COUNT_REFUSED",
                    "COUNT_INCONSISTENT",
                    "OLDEST_READY",
                ],
            ),
            (&[Activator], &["OLDEST_SNAPSHOT"]),
        ],
    ),
    of(crate::outside::answers::kept::STATEMENTS, &[Intake, Activator], &[]),
    of(crate::outside::orders::STATEMENTS, &[Intake, Activator, Worker], &[]),
    of(
        crate::outside::orders::VIEW_STATEMENTS,
        &[Intake, Activator],
        &[(&[Intake], &["STATUS"]), (&[Activator], &["NAMES"])],
    ),
    of(crate::hot::outbox::STATEMENTS, &[Intake, Activator, Worker], &[(&[Activator], &["PUT_MISSING"])]),
    of(crate::hot::outbox::sending::STATEMENTS, &[Notifier], &[]),
    of(
        crate::hot::outbox::shown::STATEMENTS,
        &[Intake],
        &[(&[Intake, Activator], &["RESEND"]), (&[Intake, Notifier], &["BACKLOG"])],
    ),
    of(crate::hot::outbox::webhooks::STATEMENTS, &[Notifier], &[]),
    of(crate::hot::place::STATEMENTS, &[Intake, Activator, Worker], &[]),
    of(crate::recovery::presence::STATEMENTS, &[Intake, Activator], &[]),
    of(
        crate::lists::promises::STATEMENTS,
        &[Activator],
        &[(&[Intake, Activator], &["STANDS"]), (&[Intake], &["OF_ORDER"])],
    ),
    of(crate::lists::promises::LIFE_STATEMENTS, &[Activator], &[(&[Intake, Activator], &["REMAINING"])]),
    of(
        crate::hot::queues::STATEMENTS,
        &[Intake, Activator, Worker],
        &[
            (&[Intake, Activator], &["BEFORE", "HOLDER"]),
            (&[Dispatcher], &["HEADS"]),
            (&[Worker], &["RAISE_HEAD"]),
            (&[Intake], &["HAS_WAITING", "MEMBERS", "COUNTS", "LIST_QUEUES"]),
        ],
    ),
    of(
        crate::recovery::lost::STATEMENTS,
        &[Activator],
        &[
            (&[Activator, Worker], &["OF_NODE", "DROP_DEADLINE"]),
            (&[Worker], &["CLAIMS_OF_NODE", "SOME_OF_NODE"]),
            (&[Intake, Activator], &["OF_ORDERS"]),
            (&[Intake, Activator, Worker], &["DROP_RUNNING", "REISSUE"]),
        ],
    ),
    of(crate::outside::refused::STATEMENTS, &[Intake], &[(&[Activator], &["FORGET"])]),
    of(crate::hot::cancellations::STATEMENTS, &[Worker], &[]),
    of(crate::hot::requests::left::STATEMENTS, &[Worker], &[]),
    of(
        crate::hot::requests::STATEMENTS,
        &[Worker],
        &[
            (&[Dispatcher], &["OPEN"]),
            (&[Activator], &["TIME_OUT", "OVERDUE_TASKS"]),
            (&[Intake, Activator, Worker], &["TASKS_OF_STAGES", "CANCEL"]),
            (&[Intake], &["OF_LIFE", "OF_ORDER", "TIMES"]),
            (&[Intake, Activator], &["AWAITED"]),
        ],
    ),
    of(crate::recovery::restore::STATEMENTS, &[], &[]),
    of(crate::upkeep::retention::STATEMENTS, &[Activator], &[(&[Intake], &["NAMED"])]),
    of(crate::upkeep::clock::STATEMENTS, &[Intake, Dispatcher, Activator], &[]),
    of(crate::upkeep::forecasts::STATEMENTS, &[Activator], &[(&[Intake], &["GIVE", "HELD"])]),
    of(crate::upkeep::revision::STATEMENTS, &[Intake], &[(&[Intake, Dispatcher, Activator], &["REVISION"])]),
    of(crate::upkeep::schedules::STATEMENTS, &[Intake], &[]),
    of(
        crate::upkeep::schedules::runs::STATEMENTS,
        &[Intake, Activator],
        &[(&[Activator], &["DUE", "FREE", "SECONDS_LEFT", "SCHEDULE_LEVELS"]), (&[Intake], &["RUN", "RUNS"])],
    ),
    of(
        crate::outside::scenarios::STATEMENTS,
        &[Intake],
        &[(&[Intake, Activator, Worker], &["LAST", "SINCE", "ONE", "NAMED"])],
    ),
    of(
        crate::outside::scenarios::operations::STATEMENTS,
        &[Intake],
        &[(&[Intake, Activator, Worker], &["USES"])],
    ),
    of(crate::lists::scope::STATEMENTS, &[Intake], &[]),
    of(crate::lists::search::STATEMENTS, &[Intake, Activator], &[(&[Intake], &["IDS_OF"])]),
    of(
        crate::lists::search::ATTRIBUTE_STATEMENTS,
        &[Intake, Activator, Worker],
        &[(&[Intake, Activator], &["DROP_VALUES"])],
    ),
    of(crate::lists::search::LINES_STATEMENTS, &[Intake], &[]),
    of(
        crate::lists::search::PATH_STATEMENTS,
        &[Intake, Activator],
        &[(
            &[Intake],
            &[
                "COUNT_ALL",
                "COUNT_IDS",
                "COUNT_TRANSACTION",
                "COUNT_FAILED",
                "COUNT_UNFINISHED",
                "COUNT_QUEUE",
                "COUNT_PREFIX",
                "COUNT_ATTRIBUTE",
                "COUNT_NODE",
                "COUNT_JEOPARDY",
                "COUNT_INCONSISTENT",
            ],
        )],
    ),
    of(crate::lists::searches::STATEMENTS, &[Intake], &[]),
    of(
        crate::upkeep::shift::STATEMENTS,
        &[Intake, Activator],
        &[(&[Activator], &["DUE_UNMOVED"]), (&[Intake], &["COUNT_DUE", "SHIFT", "UNDOING", "UNDONE"])],
    ),
    of(
        crate::hot::stages::STATEMENTS,
        &[Worker],
        &[
            (&[Dispatcher, Worker], &["STILL_READY"]),
            (&[Intake, Activator], &["RUNNING_OF_FLOW"]),
            (&[Intake, Activator], &["CLEAR_QUEUE", "CLEAR_QUEUE_OF_READY"]),
            (&[Dispatcher], &["LAST_ORDER", "READY_PAGE", "RUNNING"]),
        ],
    ),
    of(crate::hot::standing::STATEMENTS, &[Intake, Activator, Worker], &[]),
    of(
        crate::outside::subscriptions::STATEMENTS,
        &[Intake],
        &[(&[Intake, Activator], &["REVISE", "LOCK", "PAUSE"])],
    ),
    of(crate::upkeep::subscriptions::STATEMENTS, &[Activator], &[]),
    of(crate::hot::stages::advance::STATEMENTS, &[Worker], &[]),
    of(crate::hot::stages::finish::STATEMENTS, &[Worker], &[]),
    of(
        crate::lists::stats::STATEMENTS,
        &[Activator],
        &[(EACH, &["ADD"]), (&[Intake], &["TOTALS", "KEYS", "OF_KEYS"]), (&[], &["SERIES"])],
    ),
    of(
        crate::upkeep::stops::STATEMENTS,
        &[Intake],
        &[
            (&[Dispatcher], &["HELD", "OVERRIDES", "CONFIRM"]),
            (&[Intake, Activator], &["STOPS_OF_FLOW", "OVERRIDE_VIEWS", "OVERRIDE_OF_SYSTEM"]),
            (&[Activator], &["SHIFTING_STOPS", "TAKE_STOP_SHIFT"]),
        ],
    ),
    of(
        crate::hot::suspects::STATEMENTS,
        &[Worker],
        &[(&[Intake, Activator, Worker], &["OF_ORDERS", "KEEP"]), (&[Activator], &["FORGET"])],
    ),
    of(crate::recovery::suspensions::STATEMENTS, &[Worker], &[(&[Activator], &["PASSED"])]),
    of(crate::upkeep::deletion::STATEMENTS, &[Activator], &[]),
    of(crate::upkeep::walks::STATEMENTS, &[Activator], &[(&[Intake, Activator], &["OF_NAME"])]),
    of(
        crate::upkeep::windows::STATEMENTS,
        &[Intake],
        &[
            (&[Intake, Dispatcher, Activator], &["HELD_WINDOWS"]),
            (&[Activator], &["TAKE_SHIFT", "NOTE_SHIFT"]),
            (&[Intake, Activator], &["SHIFT_OF_WINDOW"]),
        ],
    ),
];
