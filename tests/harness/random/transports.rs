//! The two transports by which callbacks come in, as a careful partner uses them.
//! Never takes a callback for sent before it is stored.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use serde_json::{Value, json};

use super::model::Made;
use super::plan::Callback;
use crate::client::amqp::Amqp;
use crate::client::{Answer, Api, items};
use crate::env::Env;

/// Address at which a request wants its callback.
#[derive(Clone, Debug, Default)]
pub struct Address {
    /// Order of the request.
    pub order: String,
    /// Id of the request.
    pub id: String,
    /// URL of the callback.
    pub url: String,
}

/// A callback that waits for its moment, with what it answers.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The request.
    pub made: Made,
    /// Address that it goes to.
    pub address: Address,
    /// The callback.
    pub callback: Callback,
}

/// Both transports.
#[derive(Debug)]
pub struct Transports {
    api: Api,
    amqp: Amqp,
    http: reqwest::Client,
    exchange: String,
    patience: Duration,
}

impl Transports {
    /// The transports of an engine, at which callbacks are stored within `patience`.
    ///
    /// # Errors
    /// The broker cannot be reached.
    pub async fn open(env: &Env, api: Api, patience: Duration) -> Result<Self> {
        let exchange = format!("{}.callbacks", env.prefix());
        Ok(Self { api, amqp: env.amqp().await?, http: env.http().clone(), exchange, patience })
    }

    /// Sends a callback, and waits until it is stored; returns the verdicts received, which are none over AMQP.
    ///
    /// # Errors
    /// The callback was not stored in time.
    pub async fn send(&self, one: &Pending) -> Result<Vec<String>> {
        match (one.callback.amqp, one.callback.twin) {
            (true, _) => self.publish(one).await.map(|()| Vec::new()),
            (false, false) => self.post(one).await.map(|verdict| vec![verdict]),
            (false, true) => {
                let (first, second) = tokio::try_join!(self.post(one), self.post(one))?;
                Ok(vec![first, second])
            }
        }
    }

    /// Sends a callback that answers no request; the HTTP status, or 0 over AMQP.
    ///
    /// # Errors
    /// Nobody took it.
    pub async fn orphan(&self, id: &str, amqp: bool) -> Result<u16> {
        if amqp {
            let properties = BasicProperties::default().with_correlation_id(id.into());
            self.amqp.publish(&self.exchange, "answer", b"{}", &properties).await?;
            return Ok(0);
        }
        Ok(self.api.post(&format!("/v1/callbacks/{id}"), &json!({})).await?.status)
    }

    /// Posts until there is an answer, as a careful system does whose partner is away for a moment.
    async fn post(&self, one: &Pending) -> Result<String> {
        let deadline = Instant::now() + self.patience;
        loop {
            let mut request = self.http.post(&one.address.url).json(&body(&one.callback));
            if let Some(word) = one.callback.word.as_str() {
                request = request.header("step-status", word);
            }
            let last = match request.timeout(self.patience).send().await {
                Ok(answer) if answer.status().is_success() => {
                    let answer: Value = answer.json().await?;
                    let verdict = answer["status"].as_str().unwrap_or_default().to_owned();
                    return Ok(verdict);
                }
                Ok(answer) => format!("answered {}", answer.status()),
                Err(error) => error.to_string(),
            };
            if Instant::now() > deadline {
                bail!("{last}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Publishes, and waits until the order shows the result.
    async fn publish(&self, one: &Pending) -> Result<()> {
        let times = if one.callback.twin { 2 } else { 1 };
        let mut properties = BasicProperties::default().with_correlation_id(one.address.id.as_str().into());
        if let Some(word) = one.callback.word.as_str() {
            let mut headers = FieldTable::default();
            headers.insert("step-status".into(), AMQPValue::LongString(word.into()));
            properties = properties.with_headers(headers);
        }
        let bytes = body(&one.callback).to_string().into_bytes();
        for _ in 0..times {
            self.amqp.publish(&self.exchange, "answer", &bytes, &properties).await?;
        }
        let deadline = Instant::now() + self.patience;
        let path = format!("/v1/orders/{}/callbacks", one.address.order);
        loop {
            let kept = self.api.get(&path).await.and_then(Answer::success);
            let ours = |kept: Value| {
                items(kept).iter().filter(|item| item["body"]["n"] == one.callback.number).count()
            };
            if kept.map(ours).unwrap_or_default() >= times {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("published, and not kept in {:?}", self.patience);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn body(callback: &Callback) -> Value {
    json!({"n": callback.number})
}
