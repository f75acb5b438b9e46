//! The rights that the server checks before it runs a statement, as it says them itself: the tree that it makes of a statement names
//! each table with the rights and columns (`debug_print_parse`). Of a trigger the same holds for the statements of its function.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::poll_fn;
use futures_util::{StreamExt as _, future};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, NoTls};

/// Columns that a right is needed on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Columns {
    /// At least one, no matter which: of `count(*)`, and of a lock of rows.
    Any,
    /// This one.
    One(String),
    /// The table as a whole.
    Whole,
}

/// A right that is needed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// Name of the table, of the sequence, or of the function with its arguments.
    pub on: String,
    /// The word of it in `GRANT`.
    pub right: &'static str,
    pub columns: Columns,
}

/// Bits of the rights in a tree. A lock of rows has the bit of `UPDATE`, and names no column.
const RIGHTS: [(u32, &str, &str); 4] = [
    (1, "INSERT", "insertedCols"),
    (2, "SELECT", "selectedCols"),
    (4, "UPDATE", "updatedCols"),
    (8, "DELETE", ""),
];
/// Number in a tree of the column 0, which is the whole row; those below are columns of the system.
const WHOLE_ROW: u32 = 7;
/// Objects below are those of the server itself, which everybody may use.
const FIRST_OWN: u32 = 16_384;

/// A table, or a sequence.
#[derive(Debug)]
pub struct Relation {
    pub name: String,
    pub is_sequence: bool,
    /// Names of the columns by their numbers, in order.
    pub columns: BTreeMap<u32, String>,
}

/// A session of the superuser that reads trees.
pub struct Reader {
    pub client: Client,
    trees: UnboundedReceiver<String>,
    pub relations: BTreeMap<u32, Relation>,
    /// Functions of the schema, with their arguments.
    pub functions: BTreeMap<u32, String>,
}

const RELATIONS: &str = "
    SELECT c.oid, c.relname::text AS name, c.relkind = 'S' AS is_sequence, a.attnum, a.attname::text AS column
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'S') AND a.attnum > 0 AND NOT a.attisdropped";
const FUNCTIONS: &str = "
    SELECT oid, oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace";

impl Reader {
    /// Connects to a migrated database.
    pub async fn connect(url: &str) -> Self {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let (send, trees) = unbounded_channel();
        let messages = poll_fn(move |context| connection.poll_message(context));
        tokio::spawn(messages.for_each(move |message| {
            if let Ok(AsyncMessage::Notice(notice)) = message
                && let Some(tree) = notice.detail()
            {
                // The server breaks its lines anywhere. Nobody listens any more at the end of a test.
                let _ = send.send(tree.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            future::ready(())
        }));
        let mut reader = Self { client, trees, relations: BTreeMap::new(), functions: BTreeMap::new() };
        for row in reader.client.query(RELATIONS, &[]).await.unwrap() {
            let relation = reader.relations.entry(row.get("oid")).or_insert_with(|| Relation {
                name: row.get("name"),
                is_sequence: row.get("is_sequence"),
                columns: BTreeMap::new(),
            });
            let number = u32::try_from(row.get::<_, i16>("attnum")).unwrap();
            relation.columns.insert(number, row.get("column"));
        }
        for row in reader.client.query(FUNCTIONS, &[]).await.unwrap() {
            reader.functions.insert(row.get("oid"), row.get("name"));
        }
        // Trees go to this session alone, and not to the log of the server.
        let settings =
            "SET log_min_messages = panic; SET client_min_messages = log; SET debug_pretty_print = off;
                        SET debug_print_parse = on";
        reader.client.batch_execute(settings).await.unwrap();
        reader
    }

    /// Needs of a statement.
    pub async fn of(&mut self, sql: &str) -> BTreeSet<Need> {
        self.read().await;
        self.client.prepare(sql).await.unwrap();
        let mut needs = self.read().await;
        // The sequence is a constant in the tree.
        for part in sql.split("nextval('").skip(1) {
            let name = part.split('\'').next().unwrap_or_default();
            needs.insert(Need { on: name.to_owned(), right: "USAGE", columns: Columns::Whole });
        }
        needs
    }

    /// Needs of all statements since the last look, those within functions among them.
    pub async fn read(&mut self) -> BTreeSet<Need> {
        // What was sent before the answer to this has come before it.
        self.client.batch_execute("").await.unwrap();
        let mut needs = BTreeSet::new();
        while let Ok(tree) = self.trees.try_recv() {
            self.read_tree(&tree, &mut needs);
        }
        needs
    }

    fn read_tree(&self, tree: &str, needs: &mut BTreeSet<Need>) {
        for (at, _) in tree.match_indices(":requiredPerms ") {
            let (before, rest) = tree.split_at(at);
            let rights: u32 = number(rest, ":requiredPerms ").unwrap();
            let relid = before.rfind(":relid ").and_then(|at| number(&before[at..], ":relid "));
            let Some(relation) = relid.filter(|_| rights > 0).and_then(|id| self.relations.get(&id)) else {
                continue;
            };
            for (bit, right, columns) in RIGHTS {
                if rights & bit == 0 {
                    continue;
                }
                let named = if columns.is_empty() { None } else { Some(members(rest, columns)) };
                let mut need = |columns| needs.insert(Need { on: relation.name.clone(), right, columns });
                match named {
                    _ if relation.is_sequence => need(Columns::Whole),
                    None => need(Columns::Whole),
                    Some(named) if named.is_empty() => need(Columns::Any),
                    Some(named) => named.into_iter().fold(true, |_, number| {
                        let column = number.checked_sub(WHOLE_ROW).and_then(|no| relation.columns.get(&no));
                        need(column.map_or(Columns::Whole, |name| Columns::One(name.clone())))
                    }),
                };
            }
        }
        for (at, key) in tree.match_indices(":funcid ") {
            let id: u32 = number(&tree[at..], key).unwrap();
            if let Some(name) = self.functions.get(&id).filter(|_| id >= FIRST_OWN) {
                needs.insert(Need { on: name.clone(), right: "EXECUTE", columns: Columns::Whole });
            }
        }
    }
}

/// The number behind a key at the beginning of a text.
fn number(text: &str, key: &str) -> Option<u32> {
    let digits = text.strip_prefix(key)?;
    digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
}

/// Members of the first set of this name, as in `:selectedCols (b 8 9)`.
fn members(text: &str, name: &str) -> Vec<u32> {
    let inside = text.split_once(&format!(":{name} (b")).and_then(|(_, rest)| rest.split_once(')'));
    inside.map_or("", |(inside, _)| inside).split_whitespace().map(|no| no.parse().unwrap()).collect()
}
