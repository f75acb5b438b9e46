//! The limit: one order's way written by hand, with the least row writes and messages that the same durability takes.
//!
//! Orders come from a quorum queue and are acknowledged after the commit of one statement for the whole batch (order,
//! payload, what is to be done); each is called for over HTTP; one statement for the whole batch writes the ends
//! (order, work done, history, notification to be sent) and commits; notifications are published persistent, with
//! confirms, and then removed. Everything is batched by what is there, and nothing waits to make a batch larger.
//!
//! What it leaves out, and an engine cannot: scenarios, several processes and their news of each other, claims and
//! takeover of lost work, retries, sleeping, queues, priorities, validation of input and answers to it, an API, metrics.
//! A crash loses no order, but one whose call was under way is called again by hand. With `--claim` it has what would let
//! another process take over: a call is made only for a committed row that says whose it is, and until when.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use futures_util::StreamExt;
use futures_util::future::join_all;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions, ConfirmSelectOptions};
use lapin::options::{QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_postgres::{Client, NoTls};

use super::http::Caller;
use super::load::publish_confirmed;

/// The queue of orders.
pub const ORDERS: &str = "limit.orders";
/// The queue of notifications.
pub const NOTIFICATIONS: &str = "limit.notifications";
/// Rows of one statement at most; nine tenths of the gain of batching are there at a hundred.
const BATCH: usize = 500;
/// Orders between two steps; the load never has more in flight.
const BETWEEN: usize = 20_000;
const CONNECTIONS: usize = 64;

const SCHEMA: &str = "
    CREATE TABLE orders (no bigint PRIMARY KEY, id text NOT NULL UNIQUE, correlation_id text NOT NULL,
                         status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
                         finished_at timestamptz) WITH (fillfactor = 70);
    CREATE TABLE payloads (order_no bigint PRIMARY KEY, body text NOT NULL);
    CREATE TABLE ready (order_no bigint PRIMARY KEY);
    CREATE TABLE running (order_no bigint PRIMARY KEY, worker integer NOT NULL, until timestamptz NOT NULL);
    CREATE TABLE history (order_no bigint NOT NULL, number integer NOT NULL, at timestamptz NOT NULL DEFAULT now(),
                          detail text NOT NULL, PRIMARY KEY (order_no, number));
    CREATE TABLE outbox (order_no bigint PRIMARY KEY, body text NOT NULL);";
const REGISTER: &str = "
    WITH batch AS (
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS t (no, id, correlation_id, body)),
    new AS (INSERT INTO orders (no, id, correlation_id, status) SELECT no, id, correlation_id, 'new' FROM batch
            ON CONFLICT (id) DO NOTHING RETURNING no),
    payload AS (INSERT INTO payloads SELECT no, body FROM batch JOIN new USING (no)),
    work AS (INSERT INTO ready SELECT no FROM new)
    SELECT no FROM new";
const CLAIM: &str = "
    WITH taken AS (DELETE FROM ready WHERE order_no = ANY($1::bigint[]) RETURNING order_no)
    INSERT INTO running SELECT order_no, 1, now() + interval '5 minutes' FROM taken RETURNING order_no";
const COMPLETE: &str = "
    WITH done AS (DELETE FROM ready WHERE order_no = ANY($1::bigint[]) RETURNING order_no),
    ended AS (UPDATE orders o SET status = 'success', finished_at = now()
                FROM done WHERE o.no = done.order_no RETURNING o.no),
    kept AS (INSERT INTO history (order_no, number, detail)
             SELECT no, 2, '{\"transitions\": [{\"from\": \"call\", \"event\": \"success\", \"to\": \"done\"}]}' FROM ended)
    INSERT INTO outbox SELECT * FROM unnest($1::bigint[], $2::text[])";
const SENT: &str = "DELETE FROM outbox WHERE order_no = ANY($1::bigint[])";
/// The tables are empty when the statements are planned: plans by key stay right when they are full.
const PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off";

/// Options of the process of the limit.
#[derive(Clone, Debug, Args)]
pub struct Options {
    #[arg(long)]
    database_url: String,
    #[arg(long)]
    amqp_url: String,
    /// The called system, `host:port`
    #[arg(long)]
    call: String,
    /// Claim each order before it is called for
    #[arg(long)]
    claim: bool,
}

impl Options {
    /// The words that a command line gives them in.
    pub fn words(database_url: &str, amqp_url: &str, call: &str, claim: bool) -> Vec<String> {
        let mut words = vec!["--database-url", database_url, "--amqp-url", amqp_url, "--call", call];
        words.extend(claim.then_some("--claim"));
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Makes empty tables and an empty queue.
pub async fn prepare(database_url: &str, amqp_url: &str) -> Result<()> {
    connect(database_url).await?.batch_execute(SCHEMA).await?;
    let connection = Connection::connect(amqp_url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.queue_delete(ORDERS.into(), QueueDeleteOptions::default()).await?;
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
    let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(ORDERS.into(), options, arguments).await?;
    connection.close(200, "done".into()).await?;
    Ok(())
}

/// Runs the pipeline until it is ended.
pub async fn serve(options: Options) -> Result<()> {
    let connection = Connection::connect(&options.amqp_url, ConnectionProperties::default()).await?;
    let consuming = connection.create_channel().await?;
    consuming.basic_qos(2000, BasicQosOptions::default()).await?;
    let publishing = connection.create_channel().await?;
    publishing.confirm_select(ConfirmSelectOptions::default()).await?;
    let (orders, mut registered) = mpsc::channel(BETWEEN);
    let (ends, called) = mpsc::channel(BETWEEN);
    let (notices, ended) = mpsc::channel(BETWEEN);
    let url = &options.database_url;
    let mut steps = vec![tokio::spawn(register(connect(url).await?, consuming, orders))];
    if options.claim {
        let (claims, claimed) = mpsc::channel(BETWEEN);
        let unclaimed = std::mem::replace(&mut registered, claimed);
        steps.push(tokio::spawn(claim(connect(url).await?, unclaimed, claims)));
    }
    let place = if options.claim { "running" } else { "ready" };
    steps.extend([
        tokio::spawn(call(Arc::new(Caller::new(&options.call, CONNECTIONS)), registered, ends)),
        tokio::spawn(complete(connect(url).await?, place, called, notices)),
        tokio::spawn(notify(connect(url).await?, publishing, ended)),
    ]);
    let (first, _, _) = futures_util::future::select_all(steps).await;
    first??;
    bail!("a step has ended")
}

async fn connect(url: &str) -> Result<Client> {
    let mut config: tokio_postgres::Config = url.parse()?;
    let (client, connection) = config.options(PLANS).connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Data of an order that are needed on its way.
#[derive(Debug)]
struct Order {
    no: i64,
    id: String,
    correlation: String,
    body: String,
}

#[derive(Deserialize)]
struct Read {
    id: String,
    notify: Notify,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notify {
    correlation_id: String,
}

fn read(no: i64, delivery: &Delivery) -> Result<Order> {
    let read: Read = serde_json::from_slice(&delivery.data)?;
    let body = std::str::from_utf8(&delivery.data)?.to_owned();
    Ok(Order { no, id: read.id, correlation: read.notify.correlation_id, body })
}

async fn register(client: Client, channel: Channel, calls: mpsc::Sender<Order>) -> Result<()> {
    let statement = client.prepare(REGISTER).await?;
    let options = BasicConsumeOptions::default();
    let consumer = channel.basic_consume(ORDERS.into(), "".into(), options, FieldTable::default()).await?;
    let mut batches = consumer.ready_chunks(BATCH);
    let mut next = 1;
    while let Some(batch) = batches.next().await {
        let deliveries = batch.into_iter().collect::<lapin::Result<Vec<_>>>()?;
        let orders =
            (next..).zip(&deliveries).map(|(no, delivery)| read(no, delivery)).collect::<Result<Vec<_>>>()?;
        next += i64::try_from(orders.len())?;
        let no: Vec<i64> = orders.iter().map(|order| order.no).collect();
        let id: Vec<&str> = orders.iter().map(|order| order.id.as_str()).collect();
        let correlation: Vec<&str> = orders.iter().map(|order| order.correlation.as_str()).collect();
        let body: Vec<&str> = orders.iter().map(|order| order.body.as_str()).collect();
        let rows = client.query(&statement, &[&no, &id, &correlation, &body]).await?;
        if let Some(last) = deliveries.last() {
            last.acker.ack(BasicAckOptions { multiple: true }).await?;
        }
        // An order that came before, and was committed before it was acknowledged, is none of this batch.
        let new: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        for order in orders.into_iter().filter(|order| new.contains(&order.no)) {
            calls.send(order).await?;
        }
    }
    bail!("the consumer has ended")
}

async fn claim(
    client: Client,
    mut registered: mpsc::Receiver<Order>,
    claimed: mpsc::Sender<Order>,
) -> Result<()> {
    let statement = client.prepare(CLAIM).await?;
    let mut orders = Vec::with_capacity(BATCH);
    while registered.recv_many(&mut orders, BATCH).await > 0 {
        let no: Vec<i64> = orders.iter().map(|order| order.no).collect();
        let rows = client.query(&statement, &[&no]).await?;
        let ours: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
        for order in orders.drain(..).filter(|order| ours.contains(&order.no)) {
            claimed.send(order).await?;
        }
    }
    bail!("no more orders")
}

async fn call(
    caller: Arc<Caller>,
    mut orders: mpsc::Receiver<Order>,
    ends: mpsc::Sender<Order>,
) -> Result<()> {
    while let Some(order) = orders.recv().await {
        let (caller, ends) = (Arc::clone(&caller), ends.clone());
        tokio::spawn(async move {
            let answer = caller.post("/do", "application/json", order.body.as_bytes()).await;
            match answer.map(|answer| answer.status()) {
                Ok(Some(200)) => {
                    // Its receiver ends with the whole process.
                    let _ = ends.send(order).await;
                }
                other => eprintln!("the call for {} failed: {other:?}", order.id),
            }
        });
    }
    bail!("no more orders")
}

async fn complete(
    client: Client,
    place: &'static str,
    mut called: mpsc::Receiver<Order>,
    notices: mpsc::Sender<Notice>,
) -> Result<()> {
    let statement = client.prepare(&COMPLETE.replace("FROM ready", &format!("FROM {place}"))).await?;
    let mut orders = Vec::with_capacity(BATCH);
    while called.recv_many(&mut orders, BATCH).await > 0 {
        let batch: Vec<Notice> = orders.drain(..).map(Notice::of).collect();
        let no: Vec<i64> = batch.iter().map(|notice| notice.no).collect();
        let body: Vec<&str> = batch.iter().map(|notice| notice.body.as_str()).collect();
        client.execute(&statement, &[&no, &body]).await?;
        for notice in batch {
            notices.send(notice).await?;
        }
    }
    bail!("no more calls")
}

#[derive(Debug)]
struct Notice {
    no: i64,
    correlation: String,
    body: String,
}

impl Notice {
    fn of(order: Order) -> Self {
        let body = format!(
            r#"{{"id":"{}","scenario":"bench-one-action","status":"success","correlationId":"{}"}}"#,
            order.id, order.correlation
        );
        Self { no: order.no, correlation: order.correlation, body }
    }
}

async fn notify(client: Client, channel: Channel, mut ended: mpsc::Receiver<Notice>) -> Result<()> {
    let statement = client.prepare(SENT).await?;
    let mut notices = Vec::with_capacity(BATCH);
    while ended.recv_many(&mut notices, BATCH).await > 0 {
        let sent = notices.iter().map(|notice| {
            let properties =
                BasicProperties::default().with_correlation_id(notice.correlation.as_str().into());
            publish_confirmed(&channel, "", NOTIFICATIONS, notice.body.as_bytes(), properties)
        });
        join_all(sent).await.into_iter().collect::<Result<Vec<()>>>().context("notifications")?;
        let no: Vec<i64> = notices.drain(..).map(|notice| notice.no).collect();
        client.execute(&statement, &[&no]).await?;
    }
    bail!("no more ends")
}
