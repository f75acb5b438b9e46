//! Callbacks in a list, as they came, for somebody or for nobody (SCN-7).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jiff::{SignedDuration, Timestamp};
use pagurus_domain::MASKED;
use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::id::ScenarioNo;
use pagurus_store::lists::scope;
use pagurus_store::outside::answers::CallbackVerdict;
use pagurus_store::outside::callbacks::{self, CallbackPosition, Stored};
use pagurus_store::{Client, Error};
use pagurus_wire::callbacks::CallbackLine;
use pagurus_wire::order::Page;
use pagurus_wire::problem::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Views;
use crate::hidden::HiddenParts;
use crate::query::{cursor, invalid, limit, moment};

/// Callbacks on a page, where nothing else is asked for, and at most.
const USUAL_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Rows that one page looks at, at most. Where few of them are wanted, a page is short.
const MOST_ROWS: usize = 20_000;
/// Rows of one statement.
const ROWS: i64 = 1000;
/// Bytes of a body that are read. What is longer is no JSON any more, and a mask of bodies hides it as a whole.
const MOST_BYTES: i32 = 16 * 1024;
/// Bytes of a body that are shown.
const SHOWN_BYTES: usize = 500;
/// Longest time by which a callback with a smaller number may be younger: its time is that at which its transaction began.
const OUT_OF_ORDER: SignedDuration = SignedDuration::from_mins(10);

/// Query of a list of callbacks.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CallbacksQuery {
    /// Only callbacks of this verdict: `accepted`, `duplicate`, `late` or `orphan`.
    verdict: Option<String>,
    /// Only callbacks then or later: a time, or a duration back from now.
    since: Option<String>,
    /// Callbacks of the page; default: 50.
    #[schemars(with = "Option<u32>", range(min = 1, max = 500))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Returns a page of the callbacks, the newest first.
    pub async fn callbacks(&self, query: &CallbacksQuery) -> Result<Page<CallbackLine>, Problem> {
        let asked = ParsedCallbacksQuery::read(query, Timestamp::now())?;
        let found = async {
            let client = self.host.store.api().await?;
            let (nos, next) = choose(&client, &self.scope, &asked).await?;
            let stored = callbacks::show(&client, &nos, MOST_BYTES).await?;
            Ok(Page { items: self.callback_lines(&client, stored).await?, next })
        };
        found.await.map_err(self.failed("callbacks"))
    }

    async fn callback_lines(&self, client: &Client, stored: Vec<Stored>) -> Result<Vec<CallbackLine>, Error> {
        let mut hidden: HashMap<Option<ScenarioNo>, Option<HiddenParts>> = HashMap::new();
        let mut lines = Vec::with_capacity(stored.len());
        for callback in stored {
            let hidden = match hidden.entry(callback.scenario) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.hidden_by(client, callback.scenario).await?),
            };
            let body = shown(&callback.body, hidden.as_ref());
            lines.push(line(callback, body));
        }
        Ok(lines)
    }
}

/// A query that was understood.
#[derive(Debug)]
struct ParsedCallbacksQuery {
    verdict: Option<CallbackVerdict>,
    since: Option<Timestamp>,
    limit: usize,
    /// The number that the callbacks are below.
    below: i64,
}

impl ParsedCallbacksQuery {
    fn read(query: &CallbacksQuery, now: Timestamp) -> Result<Self, Problem> {
        let verdict = query.verdict.as_deref().map(|word| {
            callbacks::verdict(word)
                .ok_or_else(|| invalid("/verdict", "verdict must be accepted, duplicate, late or orphan"))
        });
        let since = query.since.as_deref().map(|text| {
            moment(text, now).ok_or_else(|| {
                invalid("/since", "since must be a time, or a duration back from now such as `6h`")
            })
        });
        Ok(Self {
            verdict: verdict.transpose()?,
            since: since.transpose()?,
            limit: limit(query.limit.as_deref(), USUAL_LIMIT, MAX_LIMIT)?,
            below: cursor(query.cursor.as_deref(), i64::MAX)?,
        })
    }

    fn takes(&self, place: &CallbackPosition) -> bool {
        self.verdict.is_none_or(|verdict| place.verdict == verdict)
            && self.since.is_none_or(|since| place.received_at >= since)
    }

    /// True if no callback from here on is young enough.
    fn is_over(&self, place: &CallbackPosition) -> bool {
        let oldest = self.since.and_then(|since| since.checked_sub(OUT_OF_ORDER).ok());
        oldest.is_some_and(|oldest| place.received_at < oldest)
    }
}

/// The numbers of the callbacks of a page, and the cursor of the next.
async fn choose(
    client: &Client,
    scope: &AccessScope,
    asked: &ParsedCallbacksQuery,
) -> Result<(Vec<i64>, Option<String>), Error> {
    let mut nos = Vec::new();
    let mut below = asked.below;
    let mut rows = 0;
    while rows < MOST_ROWS {
        let found = callbacks::places(client, asked.verdict, below, ROWS).await?;
        let is_last = i64::try_from(found.len()).is_ok_and(|found| found < ROWS);
        rows += found.len();
        let seen = scope::within(client, scope, found.iter().filter_map(|place| place.order)).await?;
        // One that is for no order is seen by those who see everything.
        let is_seen =
            |place: &CallbackPosition| place.order.map_or(scope.has_every_name(), |order| seen.has(&order));
        for place in found {
            if asked.is_over(&place) {
                return Ok((nos, None));
            }
            if nos.len() == asked.limit {
                return Ok((nos, Some(below.to_string())));
            }
            below = place.no;
            if asked.takes(&place) && is_seen(&place) {
                nos.push(place.no);
            }
        }
        if is_last {
            return Ok((nos, None));
        }
    }
    Ok((nos, Some(below.to_string())))
}

/// The body as text. Of a scenario that this node cannot read nobody knows what is to be hidden:
/// then it is all.
fn shown(body: &[u8], hidden: Option<&HiddenParts>) -> String {
    let Some(HiddenParts { mask, secrets }) = hidden else { return MASKED.to_owned() };
    let mut text = mask.body_text(&String::from_utf8_lossy(body));
    if !secrets.is_empty() {
        // Values are compared where they can be read, because JSON has many spellings of a text.
        text = match serde_json::from_str(&text) {
            Ok(value) => secrets.value(&value).to_string(),
            Err(_) => secrets.text(&text),
        };
    }
    if text.len() > SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES));
        text.push('…');
    }
    text
}

fn line(callback: Stored, body: String) -> CallbackLine {
    CallbackLine {
        no: callback.place.no,
        received_at: callback.place.received_at,
        verdict: callback.place.verdict.as_str().to_owned(),
        request: callback.request.map(|request| request.0.to_string()),
        named: callback.named,
        order: callback.order,
        step_status: callback.step_status,
        body,
        body_bytes: callback.body_bytes,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn scn_7_bodies_are_masked_before_they_are_cut() {
        let mut hidden = HiddenParts::default();
        assert!(hidden.mask.add("body.pin"));
        assert_eq!(shown(br#"{"pin": 1}"#, Some(&hidden)), r#"{"pin":"***"}"#);
        assert_eq!(shown(br#"{"pin": 1, "a"#, Some(&hidden)), "***", "a part of a body is no JSON");
        assert_eq!(shown(b"plain", None), "***");
        let mut hidden = HiddenParts::default();
        assert_eq!(shown(b"plain", Some(&hidden)), "plain");
        let long = shown("é".repeat(SHOWN_BYTES).as_bytes(), Some(&hidden));
        assert_eq!(long.chars().count(), SHOWN_BYTES / 2 + 1);
        hidden.secrets.add("s3cr3t");
        assert_eq!(shown(br#"{"token": "\u00733cr3t"}"#, Some(&hidden)), r#"{"token":"***"}"#);
        let across = format!("{}s3cr3t", "x".repeat(SHOWN_BYTES - 2));
        assert!(!shown(across.as_bytes(), Some(&hidden)).contains("s3"));
    }

    #[test]
    fn scn_7_a_query_of_callbacks_is_understood_or_its_field_is_named() {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().unwrap();
        let query = |verdict: &str, since: &str, limit: &str, cursor: &str| {
            let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let query = CallbacksQuery {
                verdict: given(verdict),
                since: given(since),
                limit: given(limit),
                cursor: given(cursor),
            };
            ParsedCallbacksQuery::read(&query, now).map_err(|problem| problem.pointer.unwrap())
        };
        let asked = query("late", "2h", "7", "12").unwrap();
        assert_eq!((asked.verdict, asked.limit, asked.below), (Some(CallbackVerdict::Late), 7, 12));
        assert_eq!(asked.since.unwrap().to_string(), "2026-01-02T10:00:00Z");
        assert_eq!(query("", "", "", "").unwrap().below, i64::MAX);
        assert_eq!(query("odd", "", "", "").unwrap_err(), "/verdict");
        assert_eq!(query("", "soon", "", "").unwrap_err(), "/since");
        assert_eq!(query("", "", "501", "").unwrap_err(), "/limit");
        assert_eq!(query("", "", "", "x").unwrap_err(), "/cursor");
    }
}
