//! Lists as data: the place of a list in the API, its columns, and the words where it is empty; and the one renderer of them all.
//!
//! A new list is a constant of this kind. Its arguments are its query: they go to the server under their own names.

use pagurus_domain::classes::UNCLASSIFIED;
use pagurus_wire::order::Page;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::ApiClient;
use crate::failure::CliError;
use crate::screen::Screen;

/// A column of a table: its heading, and how the cell of a thing is made.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// Things in a table, one a line.
pub(crate) fn table<'a, T: 'a>(
    columns: &[Column<T>],
    things: impl IntoIterator<Item = &'a T>,
    screen: &Screen,
) -> String {
    let head: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    let row = |thing| columns.iter().map(|(_, cell)| cell(thing)).collect();
    let rows: Vec<Vec<String>> = things.into_iter().map(row).collect();
    screen.table(&head, &rows)
}

/// A list of the API.
///
/// `List { path: "/v1/flows", none: "no flow was seen", hint: None, columns: &[("FLOW", |flow| flow.name.clone())] }`
pub(crate) struct List<T: 'static> {
    /// Path of the list.
    pub path: &'static str,
    /// Note that stands for an empty table.
    pub none: &'static str,
    /// Note below the table, on what can be done about the things in it.
    pub hint: Option<&'static str>,
    /// Columns of the table.
    pub columns: &'static [Column<T>],
}

impl<T: DeserializeOwned + Serialize> List<T> {
    /// Shows one page as the server cut it, and the mark of the next one.
    pub async fn page(
        &self,
        options: &impl Serialize,
        client: &ApiClient,
        screen: &Screen,
    ) -> Result<(), CliError> {
        let reply = client.find(self.path, options).await?;
        if screen.json {
            return screen.document(&reply.text);
        }
        let page: Page<T> = reply.read()?;
        self.people(&page.items, screen)?;
        if let Some(cursor) = page.next {
            screen.note(&format!("there are more: --cursor {cursor}"));
        }
        if let Some(hint) = self.hint.filter(|_| !page.items.is_empty()) {
            screen.note(hint);
        }
        Ok(())
    }

    /// Shows the things of all pages.
    pub async fn all(
        &self,
        options: &impl Serialize,
        client: &ApiClient,
        screen: &Screen,
    ) -> Result<(), CliError> {
        self.show(&client.pages(self.path, options, None).await?, screen)
    }

    /// Shows as many things as were wanted. Programs get no mark of the rest: no option takes it.
    pub async fn most(
        &self,
        options: &impl Serialize,
        most: usize,
        client: &ApiClient,
        screen: &Screen,
    ) -> Result<(), CliError> {
        let mut page = client.pages(self.path, options, Some(most)).await?;
        page.next = page.next.filter(|_| !screen.json);
        self.show(&page, screen)
    }

    /// Shows the things of these pages.
    pub fn show(&self, page: &Page<T>, screen: &Screen) -> Result<(), CliError> {
        if screen.json {
            return screen.value(page);
        }
        self.people(&page.items, screen)?;
        if page.next.is_some() {
            screen.note("there are more: --limit shows them");
        }
        Ok(())
    }

    fn people(&self, things: &[T], screen: &Screen) -> Result<(), CliError> {
        if things.is_empty() {
            screen.note(self.none);
            return Ok(());
        }
        screen.line(&table(self.columns, things, screen))
    }
}

/// Name of the one who did something, or else the address; nothing where neither is known.
pub(crate) fn who(by: &Value) -> Option<String> {
    by["name"].as_str().or_else(|| by["from"].as_str()).map(str::to_owned)
}

/// Key of a group of orders as tables show it; an empty one stands for the orders without a value. A class is shown by the word
/// that selects it.
pub(crate) fn shown_key<'a>(by: &str, key: &'a str) -> &'a str {
    match (key, by) {
        ("", "class") => UNCLASSIFIED,
        ("", _) => "(none)",
        _ => key,
    }
}

/// A text that may be missing, as a cell.
pub(crate) fn text(text: &Option<String>) -> String {
    text.clone().unwrap_or_default()
}

/// A time that may be missing, as a cell.
pub(crate) fn moment(at: Option<jiff::Timestamp>) -> String {
    at.map(crate::screen::time).unwrap_or_default()
}
