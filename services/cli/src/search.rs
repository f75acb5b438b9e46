//! Conditions of searches on the command line, and searches that have a name.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pagurus_domain::order::{Mode, Priority, ScenarioStatus, Status};
use pagurus_wire::order::Page;
use pagurus_wire::search::{OrderCounts, SavedSearch};
use serde_json::{Map, Value, json};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input::{parse_pair, text_of};
use crate::screen::{Screen, time};

/// Conditions that orders must all fulfil. An empty text in --state, --class and --system means the orders that have none.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SearchArguments {
    /// Orders with this id; may be given more than once
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
    /// Orders whose ids stand in a file, one a line
    #[arg(long, value_name = "FILE")]
    ids_file: Option<PathBuf>,
    /// Orders whose id begins like this
    #[arg(long, value_name = "TEXT")]
    id_prefix: Option<String>,
    /// Orders of this business transaction
    #[arg(long, value_name = "ID")]
    transaction_id: Option<String>,
    /// Orders in one of these statuses: new, postponed, running, sleep, wait, polling, retry, reopen, success, fail,
    /// interrupted or canceled
    #[arg(long, value_delimiter = ',')]
    status: Vec<Status>,
    /// Orders with one of these scenario statuses: undefined, on_target, off_target, target or failed
    #[arg(long, value_delimiter = ',')]
    scenario_status: Vec<ScenarioStatus>,
    /// Orders of this scenario
    #[arg(long)]
    scenario: Option<String>,
    /// Orders of this version of it
    #[arg(long, requires = "scenario", value_name = "NUMBER")]
    scenario_version: Option<i32>,
    /// Orders in this state, or that ended in it; may be given more than once
    #[arg(long)]
    state: Vec<String>,
    /// Orders with this class of error; may be given more than once
    #[arg(long)]
    class: Vec<String>,
    /// Orders whose error is about this called system; may be given more than once
    #[arg(long)]
    system: Vec<String>,
    /// Orders of this flow
    #[arg(long)]
    flow: Option<String>,
    /// Orders of this sequential queue
    #[arg(long)]
    queue: Option<String>,
    /// Orders of which a stage runs on this node
    #[arg(long)]
    node: Option<String>,
    /// Orders of this urgency
    #[arg(long)]
    priority: Option<Priority>,
    /// Orders of this mode: parallel or sequential
    #[arg(long)]
    mode: Option<Mode>,
    /// Orders with an event of this source in their history: api, client, operation:NO, or the name of a node
    #[arg(long)]
    source: Option<String>,
    /// Orders that will probably be late for what their clients were promised
    #[arg(long)]
    jeopardy: bool,
    /// Orders that are marked as inconsistent: their rows contradict each other, and need a person
    #[arg(long)]
    inconsistent: bool,
    /// Orders whose message, or error, contains this text
    #[arg(long)]
    text: Option<String>,
    /// Orders registered then or later: a time, or a duration back from now
    #[arg(long, value_name = "DURATION|TIME")]
    created_since: Option<String>,
    /// Orders registered before
    #[arg(long, value_name = "DURATION|TIME")]
    created_until: Option<String>,
    /// Orders that ended then or later
    #[arg(long, value_name = "DURATION|TIME")]
    finished_since: Option<String>,
    /// Orders that ended before
    #[arg(long, value_name = "DURATION|TIME")]
    finished_until: Option<String>,
    /// Orders with this value of an attribute that their scenario declares, like customer=7
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = parse_pair)]
    attributes: Vec<(String, Value)>,
    /// Orders with this value of a parameter, like customer.id=7; may be given more than once
    #[arg(long = "where", value_name = "PATH=VALUE", value_parser = parse_pair)]
    params: Vec<(String, Value)>,
    /// The same of a variable
    #[arg(long = "where-var", value_name = "PATH=VALUE", value_parser = parse_pair)]
    vars: Vec<(String, Value)>,
}

impl SearchArguments {
    /// The conditions as an object of the API.
    pub fn body(&self) -> Result<Map<String, Value>, CliError> {
        let mut ids = self.ids.clone();
        if let Some(file) = &self.ids_file {
            ids.extend(
                text_of(file)?.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned),
            );
        }
        let statuses: Vec<&str> = self.status.iter().map(|status| status.as_str()).collect();
        let scenario_statuses: Vec<&str> =
            self.scenario_status.iter().map(|status| status.as_str()).collect();
        let mut body = Map::new();
        let lists = [
            ("ids", json!(ids)),
            ("status", json!(statuses)),
            ("scenarioStatus", json!(scenario_statuses)),
            ("state", json!(self.state)),
            ("class", json!(self.class)),
            ("system", json!(self.system)),
        ];
        body.extend(
            lists
                .into_iter()
                .filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty()))
                .map(|(name, list)| (name.to_owned(), list)),
        );
        let texts = [
            ("idPrefix", self.id_prefix.clone()),
            ("transactionId", self.transaction_id.clone()),
            ("scenario", self.scenario.clone()),
            ("flow", self.flow.clone()),
            ("queue", self.queue.clone()),
            ("node", self.node.clone()),
            ("priority", self.priority.map(|priority| priority.to_string())),
            ("mode", self.mode.map(|mode| mode.to_string())),
            ("source", self.source.clone()),
            ("text", self.text.clone()),
            ("createdSince", self.created_since.clone()),
            ("createdUntil", self.created_until.clone()),
            ("finishedSince", self.finished_since.clone()),
            ("finishedUntil", self.finished_until.clone()),
        ];
        body.extend(texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))));
        for (name, is_wanted) in [("jeopardy", self.jeopardy), ("inconsistent", self.inconsistent)] {
            if is_wanted {
                body.insert(name.to_owned(), true.into());
            }
        }
        if let Some(version) = self.scenario_version {
            body.insert("scenarioVersion".to_owned(), version.into());
        }
        for (name, values) in
            [("attributes", &self.attributes), ("params", &self.params), ("vars", &self.vars)]
        {
            if !values.is_empty() {
                let values: Map<String, Value> = values.iter().cloned().collect();
                body.insert(name.to_owned(), values.into());
            }
        }
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

/// Orders to count, and the fields to count them by.
#[derive(Debug, Args)]
pub(crate) struct CountArguments {
    #[command(flatten)]
    search: SearchArguments,
    /// The saved search of this name, in place of conditions
    #[arg(long, value_name = "NAME")]
    saved: Option<String>,
    /// By what: one or two of status, scenario, state, class, system, flow, queue, priority, scenarioStatus, mode
    #[arg(long, default_value = "status", value_name = "KEYS")]
    by: String,
}

/// Counts orders.
pub(crate) async fn count(
    arguments: &CountArguments,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let mut query = arguments.search.query()?;
    query.extend(arguments.saved.clone().map(|name| ("saved".to_owned(), name)));
    query.push(("by".to_owned(), arguments.by.clone()));
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
            let keys =
                count.key.iter().map(|key| if key.is_empty() { "(none)".to_owned() } else { key.clone() });
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

/// Runs a command on saved searches.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => {
            let page: Page<SavedSearch> = client.list("/v1/searches", &[], None).await?;
            if screen.json {
                return screen.value(&page);
            }
            if page.items.is_empty() {
                screen.note("no search has a name");
                return Ok(());
            }
            let rows: Vec<[String; 3]> = page
                .items
                .iter()
                .map(|saved| [saved.name.clone(), time(saved.made_at), saved.search.to_string()])
                .collect();
            screen.line(&screen.table(&["NAME", "SAVED", "CONDITIONS"], &rows))
        }
        Command::Save { name, search } => {
            let reply = client.put_json(&path_of(&name), &Value::Object(search.body()?)).await?;
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
        let search = SearchArguments {
            status: vec![Status::Fail, Status::Retry],
            class: vec![String::new()],
            params: vec![("customer.id".to_owned(), json!("7")), ("n".to_owned(), json!(5))],
            created_since: Some("2h".to_owned()),
            ..SearchArguments::default()
        };
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
                "CLASS     STATE  ORDERS  NEWEST",
                "http.5xx  pay    10      o-9",
                "(none)    pay    2       o-9",
                "all              12"
            ]
        );
    }
}
