//! Durable parts that an installation has at the broker, looked up and deleted one by one as an operator could.
//! Knows them from `rabbitmq/definitions.json` alone, and never declares one.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result};
use lapin::Channel;
use lapin::options::{ExchangeDeleteOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use serde_json::Value;

use crate::client::http;

/// An exchange, a queue or a binding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// An exchange by name.
    Exchange(String),
    /// A queue by name.
    Queue(String),
    /// Way from an exchange into a queue.
    Binding {
        /// Source of the binding.
        exchange: String,
        /// Destination of the binding.
        queue: String,
        /// Key of what goes this way.
        key: String,
    },
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange(name) => write!(formatter, "exchange {name}"),
            Self::Queue(name) => write!(formatter, "queue {name}"),
            Self::Binding { exchange, queue, .. } => write!(formatter, "binding {exchange} to {queue}"),
        }
    }
}

/// All parts of the shipped definitions, under another prefix.
///
/// # Errors
/// The definitions cannot be read.
pub fn parts(definitions: &str, prefix: &str) -> Result<Vec<Part>> {
    let definitions: Value = serde_json::from_str(definitions)?;
    let name = |value: &Value| {
        let name = value.as_str().and_then(|name| name.strip_prefix("pagurus"));
        name.map(|rest| format!("{prefix}{rest}")).context("a name without the prefix")
    };
    let all = |kind: &str| definitions[kind].as_array().into_iter().flatten();
    let mut parts = Vec::new();
    for exchange in all("exchanges") {
        parts.push(Part::Exchange(name(&exchange["name"])?));
    }
    for queue in all("queues") {
        parts.push(Part::Queue(name(&queue["name"])?));
    }
    for binding in all("bindings") {
        let key = binding["routing_key"].as_str().unwrap_or_default().to_owned();
        let (exchange, queue) = (name(&binding["source"])?, name(&binding["destination"])?);
        parts.push(Part::Binding { exchange, queue, key });
    }
    Ok(parts)
}

impl Part {
    /// Deletes it; one that is gone already is none of our business.
    ///
    /// # Errors
    /// The broker refused.
    pub async fn delete(&self, channel: &Channel) -> Result<()> {
        match self {
            Self::Exchange(name) => {
                channel.exchange_delete(name.as_str().into(), ExchangeDeleteOptions::default()).await?;
            }
            Self::Queue(name) => {
                channel.queue_delete(name.as_str().into(), QueueDeleteOptions::default()).await?;
            }
            Self::Binding { exchange, queue, key } => {
                let (queue, exchange) = (queue.as_str().into(), exchange.as_str().into());
                channel.queue_unbind(queue, exchange, key.as_str().into(), FieldTable::default()).await?;
            }
        }
        Ok(())
    }
}

/// The management API of the run's broker.
#[derive(Debug)]
pub struct BrokerApi {
    url: String,
    http: reqwest::Client,
}

impl BrokerApi {
    /// Returns the API of the run.
    ///
    /// # Errors
    /// There is none.
    pub fn of_run() -> Result<Self> {
        let url = std::env::var("PAGURUS_TEST_BROKER_API").context("`./dev test` says where it is")?;
        Ok(Self { url, http: http()? })
    }

    /// All parts whose names begin with a prefix.
    ///
    /// # Errors
    /// The API does not answer.
    pub async fn parts(&self, prefix: &str) -> Result<BTreeSet<Part>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut parts = BTreeSet::new();
        for exchange in self.list("exchanges").await? {
            parts.insert(Part::Exchange(text(&exchange["name"])));
        }
        for queue in self.list("queues").await? {
            parts.insert(Part::Queue(text(&queue["name"])));
        }
        for binding in self.list("bindings").await? {
            let (exchange, queue) = (text(&binding["source"]), text(&binding["destination"]));
            parts.insert(Part::Binding { exchange, queue, key: text(&binding["routing_key"]) });
        }
        parts.retain(|part| match part {
            Part::Exchange(name) | Part::Queue(name) | Part::Binding { exchange: name, .. } => {
                name.starts_with(prefix)
            }
        });
        Ok(parts)
    }

    async fn list(&self, kind: &str) -> Result<Vec<Value>> {
        let answer = self.http.get(format!("{}/{kind}/%2F", self.url)).send().await?;
        Ok(answer.error_for_status()?.json().await?)
    }

    /// Makes something, or changes it.
    ///
    /// # Errors
    /// The broker refused.
    pub async fn put(&self, path: &str, body: &Value) -> Result<()> {
        let answer = self.http.put(format!("{}/{path}", self.url)).json(body).send().await?;
        answer.error_for_status()?;
        Ok(())
    }

    /// Deletes something.
    ///
    /// # Errors
    /// The broker refused.
    pub async fn delete(&self, path: &str) -> Result<()> {
        self.http.delete(format!("{}/{path}", self.url)).send().await?.error_for_status()?;
        Ok(())
    }
}
