//! Maintenance windows, and which of them holds something now.

use jiff::Timestamp;
use pagurus_domain::maintenance::WindowTarget;
use pagurus_store::upkeep::windows::{self, StoredWindow};
use pagurus_wire::flows::OpenWindowView;
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::windows::WindowView;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::Views;
use crate::query::{cursor, limit, page};

/// Rows of a page, as usual and at most.
const PAGE: (usize, usize) = (100, 1000);

/// Query of the list of maintenance windows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct WindowsQuery {
    /// True to include those that are over or removed.
    #[serde(default)]
    ended: bool,
    /// Windows of the page; default: 100.
    #[schemars(with = "Option<u32>", range(min = 1, max = 1000))]
    limit: Option<String>,
    /// Word `next` of the page before.
    cursor: Option<String>,
}

impl Views {
    /// Maintenance windows, the newest first.
    pub async fn windows(&self, query: &WindowsQuery) -> Result<Page<WindowView>, Problem> {
        let limit = limit(query.limit.as_deref(), PAGE.0, PAGE.1)?;
        let below = cursor(query.cursor.as_deref(), i64::MAX)?;
        let read = async {
            windows::page(&self.host.store.reports().await?, query.ended, below, limit as i64).await
        };
        let windows = read.await.map_err(self.failed("windows"))?;
        let now = Timestamp::now();
        let mut page = page(
            windows,
            limit,
            |window| window.rule.no.to_string(),
            |window| {
                let is_held = window.is_held(now);
                (window_view(window, now), is_held)
            },
        );
        page.items.retain(|(_, is_held)| query.ended || *is_held);
        Ok(Page { items: page.items.into_iter().map(|(view, _)| view).collect(), next: page.next })
    }

    /// A maintenance window by its number.
    pub async fn window(&self, no: i64) -> Result<WindowView, Problem> {
        let read = async { windows::one(&self.host.store.reports().await?, no).await };
        let found = read.await.map_err(self.failed("windows"))?;
        found
            .map(|window| window_view(window, Timestamp::now()))
            .ok_or_else(|| Problem::new(Type::NotFound, format!("there is no maintenance window {no}")))
    }
}

/// The open window that ends last.
pub(crate) fn open_window<'a>(windows: impl IntoIterator<Item = &'a StoredWindow>) -> Option<OpenWindowView> {
    let now = Timestamp::now();
    let open = windows.into_iter().filter_map(|window| Some((window, window.rule.open_at(now)?)));
    let (window, one) = open.max_by_key(|(_, one)| one.end)?;
    Some(OpenWindowView {
        window: window.rule.no,
        from: one.begin,
        until: one.end,
        reason: window.reason.clone(),
    })
}

fn window_view(window: StoredWindow, now: Timestamp) -> WindowView {
    let is_there = window.removed.is_none();
    let (removed_at, removed_by, remove_reason) = match window.removed {
        Some((at, by, reason)) => (Some(at), Some(parsed(&by)), Some(reason)),
        None => (None, None, None),
    };
    let (flow, system) = match &window.rule.target {
        WindowTarget::Flows(keyword) => (Some(keyword.clone()), None),
        WindowTarget::System(name) => (None, Some(name.clone())),
    };
    WindowView {
        window: window.rule.no,
        flow,
        system,
        calendar: window.rule.calendar.rule().clone(),
        shift: window.shifts,
        open: window.rule.open_at(now).filter(|_| is_there).map(Into::into),
        next: window.rule.next_after(now).filter(|_| is_there).map(Into::into),
        void_until: window.rule.void_until,
        reason: window.reason,
        by: parsed(&window.made_by),
        made_at: window.made_at,
        removed_at,
        removed_by,
        remove_reason,
    }
}

/// Parses a stored principal.
pub(crate) fn parsed(by: &str) -> Value {
    serde_json::from_str(by).unwrap_or_default()
}
