//! Orders that fulfil some conditions, page by page.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use crate::Error;
use crate::transport::{Request, Transport, encoded};

/// A search for orders, which fetches each page when it is needed.
#[derive(Debug)]
pub struct Search {
    transport: Transport,
    query: String,
    cursor: Option<String>,
    is_last: bool,
    found: VecDeque<Value>,
}

/// A page of orders.
#[derive(Deserialize)]
struct Page {
    items: VecDeque<Value>,
    next: Option<String>,
}

impl Search {
    pub(crate) fn new(transport: Transport, conditions: &[(&str, &str)]) -> Self {
        let query: Vec<String> =
            conditions.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        Self { transport, query: query.join("&"), cursor: None, is_last: false, found: VecDeque::new() }
    }

    /// Returns the next order; none after the last.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn next(&mut self) -> Result<Option<Value>, Error> {
        // A page may be empty and have a next one.
        while self.found.is_empty() && !self.is_last {
            let cursor = self.cursor.as_deref().map(|cursor| format!("&cursor={}", encoded(cursor)));
            let place = format!("/v1/orders?{}{}", self.query, cursor.unwrap_or_default());
            let page: Page = self.transport.ask(&Request::get(&place)).await?;
            self.is_last = page.next.is_none();
            (self.found, self.cursor) = (page.items, page.next);
        }
        Ok(self.found.pop_front())
    }
}
