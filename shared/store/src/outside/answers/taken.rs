//! Answers as they are read: by the stages that follow, and by people.

use std::collections::HashMap;

use jiff::Timestamp;
use pagurus_domain::folded::Folded;
use pagurus_domain::id::OrderNo;
use pagurus_domain::number::saturated;
use pagurus_domain::time;
use pagurus_scenario::stage::Callback;
use pagurus_scenario::{value, xml};
use pagurus_wire::parts::CallbackView;
use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::hot::stages::LONG_BYTES;
use crate::row::read;
use crate::sql::statements;
use crate::{Client, Result};

statements! {
    // The last answer to the last request of each name: an answer to an earlier one would look
    // like one to the present. What a stage registered that died before its end is not counted, or
    // its repeat would judge the wait that it begins with by requests that came after it.
    // OFFSET 0 keeps the steps apart: order, its requests, their answers, each by its key. Joined
    // freely, the plan made for empty tables reads every callback there is.
    RESULTS = "
        SELECT t.no AS order_no, r.name, CASE WHEN octet_length(c.body) <= $2 THEN c.body END AS body, c.headers, c.step_status,
               c.received_at, c.no, octet_length(c.body) AS bytes
          FROM unnest($1::bigint[]) AS t (no)
         CROSS JOIN LATERAL (SELECT life, visited FROM orders WHERE no = t.no OFFSET 0) AS o
         CROSS JOIN LATERAL (
               SELECT id, name,
                      rank() OVER (PARTITION BY name ORDER BY visit DESC, action DESC) AS age
                 FROM requests WHERE order_no = t.no AND life = o.life AND visit <= o.visited AND hand_out >= 0 OFFSET 0) AS r
         CROSS JOIN LATERAL (
               SELECT no, body, headers, step_status, received_at FROM callbacks
                WHERE request_id = r.id AND verdict = 'accepted' OFFSET 0) AS c
         WHERE r.age = 1
         ORDER BY c.no";
    BODY = "SELECT body FROM callbacks WHERE no = $1";
    CALLBACKS_OF_ORDER = "
        SELECT c.no, c.verdict, c.step_status, c.headers, c.body, c.received_at, r.name, r.life
          FROM requests r
         CROSS JOIN LATERAL (SELECT * FROM callbacks WHERE request_id = r.id AND no > $2 OFFSET 0) AS c
         WHERE r.order_no = $1 ORDER BY c.no LIMIT $3";
}

/// An accepted callback, for a stage.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Number under which it is stored.
    pub no: i64,
    /// Length of its body.
    pub bytes: usize,
    /// Name of the request that it answers.
    pub name: String,
    headers: Value,
    step_status: Option<String>,
    received_at: Timestamp,
    /// Body; `None` where it is longer than [`LONG_BYTES`]: then [`body`] reads it.
    body: Option<Vec<u8>>,
}

impl Accepted {
    /// A header that it came with.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?.1.as_str()
    }

    /// True if its body is still to be read.
    #[must_use]
    pub const fn is_unread(&self) -> bool {
        self.body.is_none()
    }

    /// The callback as the stage gets it, without a tree: the stage may begin later.
    #[must_use]
    pub fn callback(self, read: Option<Vec<u8>>) -> Callback {
        let body = self.body.or(read).unwrap_or_default();
        let body = body_text(body, &self.headers);
        let shown = value::body_value(&body, self.headers["content-type"].as_str());
        let mut value = json!({
            "headers": self.headers,
            "stepStatus": self.step_status,
            "receivedAt": time::shown(self.received_at),
        });
        // Moved, not copied: the tree of a long answer is large.
        if let Value::Object(map) = &mut value {
            map.insert("body".into(), shown);
        }
        Callback {
            name: self.name,
            value: Folded::from(value).folded(),
            received_at: Some(self.received_at),
            body,
            step_status: self.step_status,
        }
    }
}

/// The accepted callbacks of these orders in their present life, the last of each name.
pub async fn results(client: &Client, orders: &[i64]) -> Result<HashMap<OrderNo, Vec<Accepted>>> {
    let statement = client.prepare_cached(RESULTS).await?;
    let rows = client.query(&statement, &[&orders, &LONG_BYTES]).await?;
    let mut results: HashMap<OrderNo, Vec<Accepted>> = HashMap::new();
    for row in &rows {
        let of_order = results.entry(OrderNo(row.get("order_no"))).or_default();
        let name: String = row.get("name");
        of_order.retain(|earlier| earlier.name != name);
        of_order.push(Accepted {
            no: row.get("no"),
            bytes: saturated::<usize>(row.get::<_, i32>("bytes")),
            name,
            headers: headers_value(row.get("headers")),
            step_status: row.get("step_status"),
            received_at: row.get("received_at"),
            body: row.get("body"),
        });
    }
    Ok(results)
}

/// The body of a callback.
pub async fn body(client: &Client, no: i64) -> Result<Vec<u8>> {
    let statement = client.prepare_cached(BODY).await?;
    Ok(client.query_one(&statement, &[&no]).await?.get("body"))
}

/// Callbacks of an order behind the one of this number, `limit` at most, with their numbers; nothing is masked yet.
pub async fn callbacks_of_order(
    client: &Client,
    no: OrderNo,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, CallbackView)>> {
    let statement = client.prepare_cached(CALLBACKS_OF_ORDER).await?;
    let rows = client.query(&statement, &[&no.0, &after, &limit]).await?;
    let read = |row: &Row| {
        let headers = headers_value(row.get("headers"));
        let callback = read!(row => CallbackView {
            life, verdict, step_status, received_at;
            request: row.get("name"),
            body: value::body_value(&body_text(row.get("body"), &headers), headers["content-type"].as_str()),
            headers: headers
        });
        (row.get("no"), callback)
    };
    Ok(rows.iter().map(read).collect())
}

fn body_text(body: Vec<u8>, headers: &Value) -> String {
    xml::decode(body, headers["content-type"].as_str())
}

fn headers_value(headers: Option<&str>) -> Value {
    headers.and_then(|headers| serde_json::from_str(headers).ok()).unwrap_or_else(|| json!({}))
}
