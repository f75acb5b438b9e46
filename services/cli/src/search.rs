//! Conditions of searches on the command line, and searches that have a name.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, Subcommand, value_parser};
use pagurus_domain::search::{CONDITIONS, ConditionKind, SearchCondition};
use pagurus_wire::search::{OrderCounts, SavedSearch};
use serde_json::{Map, Value, json};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::{parse_pair, text_of};
use crate::list::{List, shown_key};
use crate::screen::{Screen, time};

/// Id of the flag for a file of ids.
const IDS_FILE: &str = "ids_file";

/// Conditions that orders must all fulfil. The flags follow from the table of conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchArguments {
    given: Map<String, Value>,
    ids_file: Option<PathBuf>,
}

impl Args for SearchArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        let ids_file = Arg::new(IDS_FILE)
            .long("ids-file")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Only orders whose ids are in this file, one per line");
        let (ids, others) = CONDITIONS.split_at(1);
        let flags = ids.iter().map(flag).chain([ids_file]).chain(others.iter().map(flag));
        command.args(flags)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SearchArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = CONDITIONS.iter().filter_map(|one| Some((one.name.to_owned(), given(one, matches)?)));
        Ok(Self { given: given.collect(), ids_file: matches.get_one(IDS_FILE).cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag of a condition.
fn flag(condition: &'static SearchCondition) -> Arg {
    let long = match condition.name {
        "ids" => "id".to_owned(),
        "attributes" => "attribute".to_owned(),
        "labels" => "label".to_owned(),
        "params" => "where".to_owned(),
        "vars" => "where-var".to_owned(),
        name => name.chars().fold(String::new(), |flag, letter| match letter.is_ascii_uppercase() {
            true => format!("{flag}-{}", letter.to_ascii_lowercase()),
            false => flag + letter.encode_utf8(&mut [0; 4]),
        }),
    };
    let value_name = match (condition.name, condition.kind) {
        ("ids" | "transactionId", _) => "ID".to_owned(),
        ("idPrefix", _) => "TEXT".to_owned(),
        ("attributes", _) => "NAME=VALUE".to_owned(),
        ("labels", _) => "KEY=VALUE".to_owned(),
        (_, ConditionKind::Values) => "PATH=VALUE".to_owned(),
        (_, ConditionKind::Time) => "DURATION|TIME".to_owned(),
        (_, ConditionKind::Number) => "NUMBER".to_owned(),
        _ => long.to_uppercase().replace('-', "_"),
    };
    let arg = Arg::new(condition.name).long(long).help(help(condition));
    if condition.kind == ConditionKind::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(value_name);
    let arg = match condition.name {
        "scenarioVersion" => arg.requires("scenario"),
        _ => arg,
    };
    match condition.kind {
        ConditionKind::List if !condition.words.is_empty() => {
            arg.action(ArgAction::Append).value_delimiter(',').value_parser(|text: &str| condition.word(text))
        }
        ConditionKind::List => arg.action(ArgAction::Append),
        ConditionKind::Values => arg.action(ArgAction::Append).value_parser(parse_pair),
        ConditionKind::Number => arg.value_parser(value_parser!(i32)),
        _ => arg.value_parser(|text: &str| condition.word(text)),
    }
}

/// Help of the flag of a condition.
fn help(condition: &SearchCondition) -> String {
    let form = match condition.kind {
        ConditionKind::Time => ": a time, or a duration back from now",
        ConditionKind::List | ConditionKind::Values if condition.words.is_empty() => {
            "; may be given more than once"
        }
        _ => "",
    };
    format!("{}{form}", condition.described("").replace('`', ""))
}

/// The given value of a condition, in the form of the API.
fn given(condition: &SearchCondition, matches: &ArgMatches) -> Option<Value> {
    let name = condition.name;
    match condition.kind {
        ConditionKind::Text | ConditionKind::Time => Some(matches.get_one::<String>(name)?.as_str().into()),
        ConditionKind::List => Some(matches.get_many::<String>(name)?.map(String::as_str).collect()),
        ConditionKind::Flag => matches.get_flag(name).then_some(Value::Bool(true)),
        ConditionKind::Number => Some((*matches.get_one::<i32>(name)?).into()),
        ConditionKind::Values => Some(matches.get_many::<(String, Value)>(name)?.cloned().collect()),
    }
}

impl SearchArguments {
    /// The conditions as an object of the API.
    pub fn body(&self) -> Result<Map<String, Value>, CliError> {
        let mut body = self.given.clone();
        if let Some(file) = &self.ids_file {
            let text = text_of(file)?;
            let of_file = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Value::from);
            let ids = body.entry("ids").or_insert_with(|| json!([]));
            if let Some(ids) = ids.as_array_mut() {
                ids.extend(of_file);
            }
        }
        // An empty file names no order, and is no condition.
        body.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        Ok(body)
    }

    /// The conditions as the pairs of a query.
    pub fn query(&self) -> Result<Vec<(String, String)>, CliError> {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let mut pairs = Vec::new();
        for (name, value) in self.body()? {
            match value {
                Value::Array(items) => {
                    let items: Vec<String> = items.into_iter().map(text).collect();
                    pairs.push((name, items.join(",")));
                }
                Value::Object(values) => {
                    pairs.extend(
                        values.into_iter().map(|(path, value)| (format!("{name}.{path}"), text(value))),
                    );
                }
                other => pairs.push((name, text(other))),
            }
        }
        Ok(pairs)
    }
}

/// Conditions, or a search that has a name.
#[derive(Debug, Args)]
pub(crate) struct SearchOrSaved {
    #[command(flatten)]
    pub search: SearchArguments,
    /// Use the saved search of this name instead of conditions
    #[arg(long, value_name = "NAME")]
    pub saved: Option<String>,
}

impl SearchOrSaved {
    /// The pairs of a query.
    pub fn query(&self) -> Result<Vec<(String, String)>, CliError> {
        let mut pairs = self.search.query()?;
        pairs.extend(self.saved.clone().map(|name| ("saved".to_owned(), name)));
        Ok(pairs)
    }
}

/// Orders to count, and the fields to count them by.
#[derive(Debug, Args)]
pub(crate) struct CountArguments {
    #[command(flatten)]
    orders: SearchOrSaved,
    /// Fields to count by, one or two of: status, scenario, state, class, system, flow, queue, priority, scenarioStatus, mode
    #[arg(long, default_value = "status", value_name = "KEYS")]
    by: String,
    /// Most orders to examine [default: 200000]
    #[arg(long, value_name = "NUMBER")]
    examine: Option<u32>,
}

/// Counts orders.
pub(crate) async fn count(
    arguments: &CountArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut query = arguments.orders.query()?;
    query.push(("by".to_owned(), arguments.by.clone()));
    query.extend(arguments.examine.map(|examine| ("examine".to_owned(), examine.to_string())));
    let query: Vec<(&str, String)> =
        query.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let reply = client.get("/v1/counts", &query).await?;
    if screen.json {
        return screen.document(&reply.text);
    }
    let counts: OrderCounts = reply.read()?;
    screen.line(&counted(&counts, screen))?;
    if !counts.complete {
        screen.note("there are more orders than were looked at: the counts are lower bounds");
    }
    Ok(())
}

fn counted(counts: &OrderCounts, screen: &Screen) -> String {
    let mut header: Vec<String> = counts.by.iter().map(|key| key.to_uppercase()).collect();
    header.extend(["ORDERS".to_owned(), "NEWEST".to_owned()]);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut rows: Vec<Vec<String>> = counts
        .items
        .iter()
        .map(|count| {
            let keys = counts.by.iter().zip(&count.key).map(|(by, key)| shown_key(by, key).to_owned());
            keys.chain([count.orders.to_string(), count.newest.clone().unwrap_or_default()]).collect()
        })
        .collect();
    let mut sum = vec!["all".to_owned()];
    sum.resize(counts.by.len(), String::new());
    sum.extend([counts.orders.to_string(), String::new()]);
    rows.push(sum);
    screen.table(&header, &rows)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List saved searches
    List,
    /// Save conditions under a name
    Save {
        /// The name
        name: String,
        #[command(flatten)]
        search: Box<SearchArguments>,
    },
    /// Remove a saved search
    Remove {
        /// The name
        name: String,
    },
}

/// Saved searches.
const SEARCHES: List<SavedSearch> = List {
    path: "/v1/searches",
    none: "no search has a name",
    hint: None,
    columns: &[
        ("NAME", |saved| saved.name.clone()),
        ("SAVED", |saved| time(saved.made_at)),
        ("CONDITIONS", |saved| saved.search.to_string()),
    ],
};

/// Runs a command on saved searches.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => SEARCHES.all(&(), client, screen).await,
        Command::Save { name, search } => {
            let reply = client.put_json(&path_of(&name), &Value::Object(search.body()?), None).await?;
            if screen.json { screen.document(&reply.text) } else { screen.line("saved") }
        }
        Command::Remove { name } => {
            client.delete(&path_of(&name)).await?;
            if screen.json { Ok(()) } else { screen.line("removed") }
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/v1/searches/{}", pagurus_scenario::value::percent_encode(name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_wire::search::OrderCount;

    use super::*;

    #[test]
    fn rec_13_conditions_are_the_same_in_a_body_and_in_a_query() {
        let search = read(&[
            "--status=fail,retry",
            "--class=",
            "--where=customer.id=7",
            "--where=n:=5",
            "--created-since=2h",
        ]);
        assert_eq!(
            Value::Object(search.body().unwrap()),
            json!({"status": ["fail", "retry"], "class": [""], "createdSince": "2h", "params": {"customer.id": "7", "n": 5}})
        );
        let query = search.query().unwrap();
        let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            query,
            [
                ("class", ""),
                ("createdSince", "2h"),
                ("params.customer.id", "7"),
                ("params.n", "5"),
                ("status", "fail,retry")
            ]
        );
    }

    fn read(flags: &[&str]) -> SearchArguments {
        let command = SearchArguments::augment_args(clap::Command::new("list").no_binary_name(true));
        SearchArguments::from_arg_matches(&command.get_matches_from(flags)).unwrap()
    }

    #[test]
    fn rec_13_every_condition_has_its_flag() {
        let search = read(&[
            "--id=a",
            "--scenario=s",
            "--scenario-version=2",
            "--scenario-status=target",
            "--priority=high",
            "--jeopardy",
            "--attribute=customer=7",
            "--where-var=n=1",
        ]);
        assert_eq!(
            Value::Object(search.body().unwrap()),
            json!({
                "ids": ["a"], "scenario": "s", "scenarioVersion": 2, "scenarioStatus": ["target"],
                "priority": "high", "jeopardy": true, "attributes": {"customer": "7"}, "vars": {"n": "1"},
            })
        );
        let command = SearchArguments::augment_args(clap::Command::new("list").no_binary_name(true));
        for wrong in [["--priority=soon"], ["--status=ended"], ["--scenario-version=2"]] {
            assert!(command.clone().try_get_matches_from(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rec_13_counts_are_a_table_with_their_sum() {
        let item = |key: &[&str], orders| OrderCount {
            key: key.iter().map(|key| (*key).to_owned()).collect(),
            orders,
            newest: Some("o-9".to_owned()),
        };
        let counts = OrderCounts {
            by: vec!["class".into(), "state".into()],
            orders: 12,
            complete: true,
            items: vec![item(&["http.5xx", "pay"], 10), item(&["", "pay"], 2)],
        };
        let table = counted(&counts, &Screen::plain());
        let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "CLASS         STATE  ORDERS  NEWEST",
                "http.5xx      pay    10      o-9",
                "unclassified  pay    2       o-9",
                "all                  12"
            ]
        );
    }
}
