//! `pagurus health`: asks a probe, for containers that have no other HTTP client.
//!
//! Knows two exit codes only, 0 and 1: health checks of containers know no more.

use std::time::Duration;

use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::failure_text;
use crate::screen::Screen;

/// A probe that is slower than this is not healthy.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the probe at `url`, or whether the server is ready.
pub(crate) async fn run(url: Option<&str>, server: &str, screen: &Screen) -> Result<(), CliError> {
    let url = url.map_or_else(|| format!("{}/readyz", server.trim_end_matches('/')), str::to_owned);
    let client = ApiClient::new(&url)?;
    let asked = tokio::time::timeout(TIMEOUT, client.get("", &[])).await;
    let failure = match asked {
        Ok(Ok(reply)) => return screen.foreign(reply.text.trim_end()),
        Ok(Err(failure)) => failure,
        Err(_) => CliError::Away { server: url, why: format!("no answer within {TIMEOUT:?}") },
    };
    failure_text::show(&failure, screen);
    Err(CliError::Reported(FAILED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whatever_is_wrong_is_not_healthy() {
        let outcome = run(Some("http://127.0.0.1:0/healthz"), "", &Screen::plain()).await;
        assert_eq!(outcome.map_err(|failure| failure.code()), Err(FAILED));
    }
}
