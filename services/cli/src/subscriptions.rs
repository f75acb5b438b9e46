//! `pagurus subscriptions …`: standing receivers of notifications.

use std::collections::BTreeMap;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use pagurus_scenario::value::percent_encode;
use pagurus_wire::subscriptions::{
    PauseBody, ReplayRequest, ReplayView, ResumeBody, SubscriptionBody, SubscriptionOutcome, SubscriptionView,
};

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::input;
use crate::list::{List, moment, who};
use crate::screen::{Screen, time};

/// Commands about subscriptions.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List all subscriptions
    List,
    /// Show one subscription
    Get {
        /// Name of the subscription
        name: String,
    },
    /// Make a subscription, or replace the one of this name
    Add(Box<NewSubscription>),
    /// Pause a subscription: no new notifications are stored for it; those already stored are still sent
    Pause {
        /// Name of the subscription
        name: String,
        /// Reason
        #[arg(long, value_parser = Text::new())]
        reason: String,
    },
    /// Resume a subscription, and send its parked notifications again
    Resume {
        /// Name of the subscription
        name: String,
        /// Also notify of the orders that ended while it was paused
        #[arg(long)]
        replay: bool,
        /// Reason
        #[arg(long, value_parser = Text::new())]
        reason: String,
    },
    /// Send a subscription the notifications of a time range again
    Replay {
        /// Name of the subscription
        name: String,
        /// Orders that ended from this time on
        #[arg(long, value_name = "TIME", value_parser = input::parse_time)]
        from: Timestamp,
        /// Orders that ended before this time [default: now]
        #[arg(long, value_name = "TIME", value_parser = input::parse_time)]
        until: Option<Timestamp>,
        /// Reason
        #[arg(long, value_parser = Text::new())]
        reason: String,
    },
    /// List the latest replays of a subscription, with their progress
    Replays {
        /// Name of the subscription
        name: String,
    },
    /// Stop a replay
    StopReplay {
        /// Name of the subscription
        name: String,
        /// Number of the replay
        replay: i64,
    },
    /// Remove a subscription, and the notifications that wait for its receiver
    Remove {
        /// Name of the subscription
        name: String,
    },
}

/// A subscription that is to be.
#[derive(Debug, Args)]
pub(crate) struct NewSubscription {
    /// Name of the subscription
    name: String,
    /// Address of the receiver, such as `amqp://?key=audit` or `https://hooks.example/orders`
    #[arg(long)]
    url: String,
    /// Format: `pagurus`, `cloudevents` or `cloudevents-binary`
    #[arg(long, value_name = "WORD")]
    format: Option<String>,
    /// Name of the secret that signs webhooks [default: the one in `notify.allow`]
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Occasions, separated by commas: `final`, `parked`, `jeopardy` [default: final]
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    on: Vec<String>,
    /// Mask for names of scenarios, such as `shop-*`; may be given several times
    #[arg(long, value_name = "MASK")]
    scenario: Vec<String>,
    /// Label that an order must have: KEY=VALUE; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    label: Vec<(String, String)>,
    /// Final statuses, separated by commas: `success`, `fail`, `canceled`, `interrupted`
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    outcome: Vec<String>,
    /// Only check
    #[arg(long)]
    dry_run: bool,
}

fn parse_label(argument: &str) -> Result<(String, String), String> {
    let pair = argument.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "write it like `region=north`".to_owned())
}

impl NewSubscription {
    fn body(&self) -> SubscriptionBody {
        SubscriptionBody {
            url: self.url.clone(),
            format: self.format.clone(),
            secret: self.secret.clone(),
            on: self.on.clone(),
            scenarios: self.scenario.clone(),
            labels: self.label.iter().cloned().collect::<BTreeMap<_, _>>(),
            outcomes: self.outcome.clone(),
            dry_run: self.dry_run,
        }
    }
}

fn path(name: &str, part: &str) -> String {
    format!("/v1/subscriptions/{}{part}", percent_encode(name))
}

/// Runs a command.
pub(crate) async fn run(command: Command, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    match command {
        Command::List => SUBSCRIPTIONS.show(&client.get(SUBSCRIPTIONS.path, &[]).await?.read()?, screen),
        Command::Get { name } => {
            let reply = client.get(&path(&name, ""), &[]).await?;
            reply.show(screen, |subscription| shown(subscription, screen))
        }
        Command::Add(add) => {
            let reply = client.put_json(&path(&add.name, ""), &add.body(), None).await?;
            if add.dry_run {
                return screen.line(&format!("subscription {} would be stored", add.name));
            }
            reply.show(screen, |subscription| shown(subscription, screen))
        }
        Command::Pause { name, reason } => {
            act(&path(&name, "/pause"), &PauseBody { reason }, client, screen).await
        }
        Command::Resume { name, replay, reason } => {
            act(&path(&name, "/resume"), &ResumeBody { replay, reason }, client, screen).await
        }
        Command::Replay { name, from, until, reason } => {
            act(&path(&name, "/replays"), &ReplayRequest { from, until, reason }, client, screen).await
        }
        Command::Replays { name } => {
            let reply = client.get(&path(&name, "/replays"), &[]).await?;
            REPLAYS.show(&reply.read()?, screen)
        }
        Command::StopReplay { name, replay } => {
            client.delete(&path(&name, &format!("/replays/{replay}"))).await?;
            screen.line(&format!("replay {replay} is stopped"))
        }
        Command::Remove { name } => {
            client.delete(&path(&name, "")).await?;
            screen.line(&format!("subscription {name} is removed"))
        }
    }
}

async fn act(
    path: &str,
    body: &impl serde::Serialize,
    client: &ApiClient,
    screen: &Screen,
) -> Result<(), CliError> {
    let reply = client.post(path, body).await?;
    reply.show(screen, sentence)
}

fn sentence(outcome: &SubscriptionOutcome) -> String {
    let one = &outcome.subscription;
    let replay = outcome.replay.map_or_else(String::new, |no| {
        format!("\nreplay {no} goes on in the background: `pagurus subscriptions replays {}`", one.name)
    });
    format!("subscription {} is {}{replay}", one.name, one.state)
}

fn labels(one: &SubscriptionView) -> String {
    let pairs: Vec<String> = one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(", ")
}

fn state(one: &SubscriptionView) -> String {
    match one.paused_because.as_deref() {
        Some(because) => format!("paused ({because})"),
        None => one.state.clone(),
    }
}

/// Subscriptions.
const SUBSCRIPTIONS: List<SubscriptionView> = List {
    path: "/v1/subscriptions",
    none: "there are no subscriptions",
    hint: None,
    columns: &[
        ("NAME", |one| one.name.clone()),
        ("STATE", state),
        ("URL", |one| one.url.clone()),
        ("ON", |one| one.on.join(", ")),
        ("SCENARIOS", |one| one.scenarios.join(", ")),
        ("LABELS", labels),
        ("OUTCOMES", |one| one.outcomes.join(", ")),
        ("WAITING", |one| one.waiting.to_string()),
        ("PARKED", |one| one.parked.to_string()),
    ],
};

/// Replays of a subscription.
const REPLAYS: List<ReplayView> = List {
    path: "",
    none: "nothing was replayed",
    hint: None,
    columns: &[
        ("REPLAY", |one| one.replay.to_string()),
        ("STATE", |one| one.state.clone()),
        ("FROM", |one| time(one.from)),
        ("UNTIL", |one| time(one.until)),
        ("PROGRESS", |one| format!("{:.0} %", one.progress * 100.0)),
        ("LOOKED AT", |one| one.looked_at.to_string()),
        ("STORED", |one| one.stored.to_string()),
        ("DONE", |one| moment(one.done_at)),
    ],
};

fn shown(one: &SubscriptionView, screen: &Screen) -> String {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    screen.pairs(&[
        ("name", Some(one.name.clone())),
        ("state", Some(state(one))),
        ("url", Some(one.url.clone())),
        ("format", Some(one.format.clone())),
        ("secret", one.secret.clone()),
        ("on", Some(one.on.join(", "))),
        ("scenarios", some(one.scenarios.join(", "))),
        ("labels", some(labels(one))),
        ("outcomes", some(one.outcomes.join(", "))),
        ("waiting", Some(one.waiting.to_string())),
        ("parked", Some(one.parked.to_string())),
        ("paused", one.paused_at.map(time)),
        ("paused by", one.paused_by.as_ref().and_then(who)),
        ("by", who(&one.by)),
        ("made", Some(time(one.made_at))),
        ("tag", Some(one.tag.clone())),
    ])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use clap::Parser as _;
    use pagurus_domain::subscription::SubscriptionRule;

    use super::*;

    #[test]
    fn ord_38_options_are_a_subscription_that_the_engine_reads() {
        let line = "pagurus subscriptions add audit --url https://h/a --format cloudevents --secret s --on final,parked \
                    --scenario shop-* --scenario tariff --label region=north --outcome fail,canceled";
        let parsed = crate::CommandLine::try_parse_from(line.split_whitespace()).unwrap();
        let crate::Command::Subscriptions(Command::Add(add)) = parsed.command else { panic!("{parsed:?}") };
        let rule = SubscriptionRule::read(&serde_json::to_value(add.body()).unwrap(), None).unwrap();
        assert_eq!((rule.on.len(), rule.selection.scenarios.len(), rule.selection.outcomes.len()), (2, 2, 2));
        assert_eq!(rule.selection.labels.to_value(), serde_json::json!({"region": "north"}));
        assert_eq!(rule.secret.as_deref(), Some("s"));
        assert!(parse_label("region").is_err());
    }
}
