//! The file of the roles, made from the needs of the statements of each service.

use std::collections::{BTreeMap, BTreeSet};

use pagurus_domain::id::Role;
use pagurus_store::statements;
use pagurus_store::upkeep::deletion::WORK_LISTS;
use pagurus_store::upkeep::roles::GRANTS;

use super::needs::{Columns, Need, Reader};

/// Triggers that the needs below know. A new one has to be exercised there.
const TRIGGERS: [&str; 8] = [
    // These refuse, and read nothing.
    "audit_keep",
    "audit_keep",
    "audit_keep_all",
    "audit_keep_all",
    "note_status",
    "orders_failures",
    "orders_promised",
    "orders_promises",
];
/// Columns of statistics that the server shows only to those who may read the column itself.
const SHOWN_TO_READERS: [(&str, &str, &str); 3] = [
    ("measures::ESTIMATE_DUE", "due", "stream"),
    ("measures::ESTIMATE_WORDS", "orders", "status"),
    ("measures::ESTIMATE_WORDS", "requests", "status"),
];
/// The service that vacuums the work lists.
const VACUUMS: Role = Role::Activator;

/// Services, in the order of the file.
pub const SERVICES: [Role; 5] =
    [Role::Intake, Role::Dispatcher, Role::Activator, Role::Worker, Role::Notifier];

/// Needs of each statement by its name, and of all statements of each service with those of the triggers that they fire.
pub struct Needs {
    pub of_statements: BTreeMap<&'static str, BTreeSet<Need>>,
    pub of_services: BTreeMap<&'static str, BTreeSet<Need>>,
    /// Services that look at the sessions of others.
    watching: BTreeSet<&'static str>,
}

impl Needs {
    /// Reads the needs of all statements.
    pub async fn read(reader: &mut Reader) -> Self {
        let mut needs =
            Self { of_statements: BTreeMap::new(), of_services: BTreeMap::new(), watching: BTreeSet::new() };
        for (statement, services) in statements::with_services() {
            let own = reader.of(statement.sql).await;
            let shown = SHOWN_TO_READERS.iter().filter(|(name, _, _)| statement.name.ends_with(name));
            let seen = shown.map(|(_, table, column)| Need {
                on: (*table).to_owned(),
                right: "SELECT",
                columns: Columns::One((*column).to_owned()),
            });
            let all: BTreeSet<Need> = own.iter().cloned().chain(seen).collect();
            for service in services {
                needs.of_services.entry(service.as_str()).or_default().extend(all.iter().cloned());
                if statement.sql.contains("pg_stat_activity") {
                    needs.watching.insert(service.as_str());
                }
            }
            needs.of_statements.insert(statement.name, own);
        }
        let [inserting, updating] = of_triggers(reader).await;
        for own in needs.of_services.values_mut() {
            let does = |right: &str, columns: &[&str]| {
                own.iter().any(|need| {
                    let is_column = |name: &String| columns.is_empty() || columns.contains(&name.as_str());
                    need.on == "orders"
                        && need.right == right
                        && matches!(&need.columns, Columns::One(name) if is_column(name))
                })
            };
            let (inserts, ends) = (does("INSERT", &[]), does("UPDATE", &["status", "finished_at"]));
            own.extend(inserting.iter().filter(|_| inserts).cloned());
            own.extend(updating.iter().filter(|_| ends).cloned());
        }
        needs
    }
}

/// Needs of the triggers of `orders`, whose functions run with the rights of those who fire them: when one is inserted, and when one
/// ends and lives again.
async fn of_triggers(reader: &mut Reader) -> [BTreeSet<Need>; 2] {
    let names = "SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname";
    let found: Vec<String> =
        reader.client.query(names, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert_eq!(found, TRIGGERS, "another trigger: exercise it here");
    let insert = "
        BEGIN;
        INSERT INTO orders (id, digest, scenario, mode, priority, flow, created_at, status, promise_at)
        VALUES ('a', '', 1, 'parallel', 'normal', 's', now(), 'new', now())";
    let end = "
        UPDATE orders SET status = 'fail', finished_at = now() WHERE id = 'a';
        UPDATE orders SET status = 'reopen', finished_at = NULL WHERE id = 'a'";
    let mut needs = [BTreeSet::new(), BTreeSet::new()];
    reader.read().await;
    for (statements, needs) in [insert, end].iter().zip(&mut needs) {
        reader.client.batch_execute(statements).await.unwrap();
        *needs = reader.read().await;
        needs.retain(|need| need.on != "orders");
        assert!(!needs.is_empty(), "the trigger did not fire");
    }
    reader.client.batch_execute("ROLLBACK").await.unwrap();
    needs
}

/// True if who has all of `own` has this too.
pub fn covers(own: &BTreeSet<Need>, need: &Need) -> bool {
    let of_table = || own.iter().filter(|one| one.on == need.on && one.right == need.right);
    of_table().any(|one| match (&need.columns, &one.columns) {
        (_, Columns::Whole) | (Columns::Any, _) => true,
        (wanted, own) => wanted == own,
    })
}

/// The file.
pub fn file(needs: &Needs, reader: &Reader) -> String {
    let list =
        |names: Vec<String>| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let relations = |is_sequence: bool| {
        let of_kind = reader.relations.values().filter(move |relation| relation.is_sequence == is_sequence);
        let mut names: Vec<String> = of_kind.map(|relation| relation.name.clone()).collect();
        names.sort();
        names
    };
    let mut functions: Vec<String> = reader.functions.values().cloned().collect();
    functions.sort();
    let watching: Vec<String> = needs.watching.iter().map(|service| format!("pagurus_{service}")).collect();
    let head = include_str!("head.sql")
        .replace("{TABLES}", &list(relations(false)))
        .replace("{SEQUENCES}", &list(relations(true)))
        .replace("{FUNCTIONS}", &list(functions))
        .replace("{WATCHING}", &list(watching))
        .replace("{GRANTS}", GRANTS)
        .replace("{VACUUMS}", VACUUMS.as_str())
        .replace("{WORK_LISTS}", &WORK_LISTS.join(", "));
    let blocks = SERVICES.map(|service| block(service, &needs.of_services[service.as_str()], reader));
    head + &blocks.concat()
}

/// Grants of a service.
fn block(service: Role, needs: &BTreeSet<Need>, reader: &Reader) -> String {
    let mut text = format!("\n-- {service}\n");
    let mut on: Vec<&str> = needs.iter().map(|need| need.on.as_str()).collect();
    on.dedup();
    for name in on {
        let relation = reader.relations.values().find(|relation| relation.name == name);
        let kind = match relation {
            None => "FUNCTION ",
            Some(relation) if relation.is_sequence => "SEQUENCE ",
            Some(_) => "",
        };
        let columns: Vec<&String> = relation.iter().flat_map(|relation| relation.columns.values()).collect();
        let rights = ["SELECT", "INSERT", "UPDATE", "DELETE", "USAGE", "EXECUTE"];
        let granted = rights.iter().filter_map(|right| spelled(needs, name, right, &columns));
        let granted = granted.collect::<Vec<_>>().join(", ");
        text += &format!("GRANT {granted} ON {kind}{name} TO pagurus_{service};\n");
    }
    text
}

/// A right with its columns, in the order of the table; `None` where it is not needed.
fn spelled(needs: &BTreeSet<Need>, on: &str, right: &str, columns: &[&String]) -> Option<String> {
    let own = || needs.iter().filter(|need| need.on == on && need.right == right);
    own().next()?;
    if own().any(|need| need.columns == Columns::Whole) {
        return Some(right.to_owned());
    }
    let is_needed = |name: &String| own().any(|need| need.columns == Columns::One(name.clone()));
    let mut named: Vec<&str> =
        columns.iter().filter(|name| is_needed(name)).map(|name| name.as_str()).collect();
    if named.is_empty() {
        // Whichever: that of the key, by which locks and counts are as good as by another.
        named.extend(columns.first().map(|name| name.as_str()));
    }
    let is_all = named.len() == columns.len();
    Some(if is_all { right.to_owned() } else { format!("{right} ({})", named.join(", ")) })
}
