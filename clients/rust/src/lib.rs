//! Sends orders to Pagurus, follows them, acts on them, receives their webhooks, and works for them as an actor.
//!
//! ```no_run
//! # async fn send() -> Result<(), pagurus_client::Error> {
//! use pagurus_client::{Client, Order};
//!
//! let client = Client::new("http://127.0.0.1:8080")?;
//! let order = Order::new("shop-000123", "change-tariff").params(serde_json::json!({"msisdn": "79110000001"}));
//! client.register(&order).await?;
//! let end = client.wait("shop-000123", None).await?;
//! # Ok(()) }
//! ```
//!
//! An order has an id of the client's choice, so that sending it again is harmless: [`Client::register`] repeats by itself
//! what got no answer, and a program that was interrupted calls it again with the same order.
//!
//! [`sender`] is for orders over AMQP, with a receipt for each, and [`actor`] for programs that work for orders.

pub mod actor;
mod client;
mod order;
mod problem;
mod search;
pub mod sender;
mod transport;
mod webhook;

pub use client::Client;
pub use order::{After, Answered, Lifecycle, Notify, NotifyGroup, Options, Order, Registered, Status};
pub use problem::{Detail, Error, Problem};
pub use search::Search;
pub use webhook::{MAX_AGE, NotGenuine, verify_webhook};
