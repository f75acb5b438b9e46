//! Answers of the API, and the problems that they carry.

use anyhow::Context as _;
use pagurus_runtime::REQUEST_ID;
use pagurus_wire::problem::Problem;
use reqwest::Response;
use reqwest::header::{ETAG, HeaderName, LINK, SET_COOKIE};
use serde::de::DeserializeOwned;

use crate::failure::CliError;
use crate::screen::Screen;

/// Characters that are shown of an answer that is not ours.
const SHOWN_CHARACTERS: usize = 300;

/// The body of an answer: one that said yes, or that of a probe.
#[derive(Clone, Debug)]
pub(crate) struct ApiResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body as it came.
    pub text: String,
    /// Tag of the version that the body is of, where the answer has one.
    pub tag: Option<String>,
    /// Query of the next page, where the answer is a page with a header `Link`.
    pub next: Option<String>,
    /// Cookie that the answer sets.
    cookie: Option<String>,
    /// Id of the request, as the answer has it.
    request_id: Option<String>,
    server: String,
}

impl ApiResponse {
    /// Reads an answer to its end.
    pub(super) async fn read_from(response: Response, server: &str) -> Result<Self, reqwest::Error> {
        let status = response.status().as_u16();
        let header = |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
        let tag = header(ETAG).map(|tag| tag.trim_matches('"').to_owned());
        let next = header(LINK).and_then(next_in);
        let [cookie, request_id] = [SET_COOKIE, REQUEST_ID].map(|name| header(name).map(str::to_owned));
        let text = response.text().await?;
        Ok(Self { status, text, tag, next, cookie, request_id, server: server.to_owned() })
    }

    /// The cookie that the answer sets, without its attributes; empty if it sets none.
    pub(super) fn cookie(&self) -> &str {
        self.cookie.as_deref().and_then(|cookie| cookie.split(';').next()).unwrap_or_default()
    }

    /// The problem that the answer carries. If the engine failed, the id of the request finds its log lines.
    pub(super) fn problem(&self) -> Problem {
        let mut problem = problem_of(self.status, &self.text);
        if let Some(id) = self.request_id.as_ref().filter(|_| self.status >= 500) {
            problem.detail.push_str(&format!(" (request {id})"));
        }
        problem
    }

    /// The body as what it should be.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, CliError> {
        let read = serde_json::from_str(&self.text);
        Ok(read
            .with_context(|| format!("{} answered something else than this program expects", self.server))?)
    }

    /// Shows the answer: to programs as it came, to people in these words.
    pub fn show<T: DeserializeOwned>(
        &self,
        screen: &Screen,
        words: impl FnOnce(&T) -> String,
    ) -> Result<(), CliError> {
        if screen.json { screen.document(&self.text) } else { screen.line(&words(&self.read()?)) }
    }
}

/// The query of the next page in a header `Link`, with its question mark.
fn next_in(link: &str) -> Option<String> {
    let (address, terms) = link.strip_prefix('<')?.split_once('>')?;
    (terms.contains("rel=\"next\"") && address.starts_with('?')).then(|| address.to_owned())
}

/// Returns the problem that an answer carries; one of our making if the answer is not from the engine.
fn problem_of(status: u16, text: &str) -> Problem {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let shown: String = text.trim().chars().take(SHOWN_CHARACTERS).collect();
        Problem {
            type_: "about:blank".to_owned(),
            title: format!("HTTP status {status}"),
            status,
            detail: format!("the server answered with status {status}: {shown}"),
            pointer: None,
            errors: Vec::new(),
            order_status: None,
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use pagurus_wire::problem::Type;

    use super::*;
    use crate::failure::{AWAY, NOT_FOUND};

    #[test]
    fn rec_15_the_next_page_of_a_part_is_named_by_its_link() {
        assert_eq!(next_in("<?limit=2&cursor=4>; rel=\"next\"").as_deref(), Some("?limit=2&cursor=4"));
        assert_eq!(next_in("<?cursor=4>; rel=\"prev\""), None);
        assert_eq!(next_in("<http://elsewhere/?cursor=4>; rel=\"next\""), None, "only of this server");
        assert_eq!(next_in("odd"), None);
    }

    #[test]
    fn answers_that_are_not_ours_are_problems_too() {
        let ours = serde_json::to_string(&Problem::new(Type::NotFound, "there is no order `a`")).unwrap();
        assert_eq!(CliError::from(problem_of(404, &ours)).code(), NOT_FOUND);
        let proxy = problem_of(502, "<html>bad gateway</html>");
        assert!(proxy.detail.contains("bad gateway"));
        assert_eq!(CliError::from(proxy).code(), AWAY);
    }
}
