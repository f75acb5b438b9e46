//! `pagurus audit verify`: every hash of the chain is computed here, from the entries. The server only hands them over, so that it
//! cannot claim that they hold.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use pagurus_domain::audit::chain::{ChainFault, ChainHash, ChainHead};
use pagurus_wire::audit::chain::AuditChainView;
use serde::Serialize;

use crate::client::ApiClient;
use crate::failure::{CliError, FAILED};
use crate::screen::{Paint, Screen, harmless};

/// Links of one page.
const PAGE: &str = "1000";
/// Tries, where retention removes what is being verified.
const TRIES: usize = 5;

/// Head that the chain is compared with.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Head of the chain recorded elsewhere, such as in the log of an activator, to compare with: this finds a chain whose
    /// end was cut off, and one that was made again
    #[arg(long, value_name = "[POSITION:]HASH")]
    head: Option<NotedHead>,
}

/// A head that somebody has noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NotedHead {
    position: Option<i64>,
    hash: ChainHash,
}

impl FromStr for NotedHead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write the hash with its 64 digits, or POSITION:HASH as the log has it".to_owned();
        let (position, hash) = match text.split_once(':') {
            Some((position, hash)) => (Some(position.parse().map_err(|_| form())?), hash),
            None => (None, text),
        };
        Ok(Self { position, hash: hash.parse().map_err(|_| form())? })
    }
}

/// Result of a verification.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    /// True if everything holds.
    holds: bool,
    /// Entries that hold.
    entries: u64,
    /// Time of the first of them.
    from: Option<String>,
    /// Time of the last.
    until: Option<String>,
    /// The last link that holds, as `POSITION:HASH`.
    head: String,
    /// Entries that retention has removed.
    forgotten: i64,
    /// Entries that are to get their links.
    unsealed: i64,
    /// The first fault.
    fault: Option<String>,
}

/// The state of a verification.
struct Verification {
    head: ChainHead,
    noted: Option<NotedHead>,
    /// True if the noted head was met.
    is_met: bool,
    found: Verified,
}

/// A reason to stop.
enum VerificationEnd {
    /// Something does not hold.
    Fault(ChainFault),
    /// Retention has removed the next links.
    Removed,
    /// The server answers something else than a chain.
    Strange(String),
}

impl From<ChainFault> for VerificationEnd {
    fn from(fault: ChainFault) -> Self {
        Self::Fault(fault)
    }
}

/// Runs the command.
pub(super) async fn run(arguments: &Arguments, client: &ApiClient, screen: &Screen) -> Result<(), CliError> {
    for _ in 0..TRIES {
        let mut verification = None;
        let mut after = None;
        loop {
            let page = page(client, after).await?;
            let state = match &mut verification {
                Some(state) => state,
                empty => empty.insert(Verification::begin(&page, arguments.head)?),
            };
            match state.take(&page) {
                Ok(Some(next)) => after = Some(next),
                Ok(None) => return state.report(None, screen),
                Err(VerificationEnd::Fault(fault)) => return state.report(Some(&fault), screen),
                Err(VerificationEnd::Strange(what)) => return Err(CliError::Input(what)),
                Err(VerificationEnd::Removed) => break,
            }
        }
    }
    Err(CliError::Input("retention removes entries faster than they are verified: try again".to_owned()))
}

async fn page(client: &ApiClient, after: Option<i64>) -> Result<AuditChainView, CliError> {
    let mut query = vec![("limit", PAGE.to_owned())];
    query.extend(after.map(|after| ("after", after.to_string())));
    client.patiently(None, || async { client.get("/v1/audit/verify", &query).await }).await?.read()
}

impl Verification {
    fn begin(page: &AuditChainView, noted: Option<NotedHead>) -> Result<Self, CliError> {
        let head = page.anchor.head().map_err(|error| CliError::Input(format!("the anchor: {error}")))?;
        let found = Verified { forgotten: page.forgotten, ..Verified::default() };
        Ok(Self { head, noted, is_met: false, found })
    }

    /// Follows the links of a page; the position behind which the next one begins.
    fn take(&mut self, page: &AuditChainView) -> Result<Option<i64>, VerificationEnd> {
        let strange = |what: &dyn fmt::Display| VerificationEnd::Strange(what.to_string());
        if page.anchor.position > self.head.position {
            return Err(VerificationEnd::Removed);
        }
        if page.forgotten < page.anchor.position {
            return Err(ChainFault::MissingBefore { missing: page.anchor.position - page.forgotten }.into());
        }
        self.meet()?;
        for view in &page.links {
            let link = view.link().map_err(|error| strange(&error))?;
            self.head.follow(&link, view.chained().as_ref())?;
            self.found.entries += 1;
            self.meet()?;
            self.found.until = view.entry.as_ref().map(|entry| entry.at.clone());
            if self.found.from.is_none() {
                self.found.from.clone_from(&self.found.until);
            }
        }
        if let Some(no) = page.put_in.first() {
            return Err(ChainFault::PutIn { no: *no }.into());
        }
        if let Some(next) = page.next {
            let goes_on = next == self.head.position;
            return if goes_on {
                Ok(Some(next))
            } else {
                Err(strange(&"the pages do not follow each other"))
            };
        }
        self.end(page)?;
        Ok(None)
    }

    /// Compares the present link with the noted one.
    fn meet(&mut self) -> Result<(), ChainFault> {
        let Some(noted) = self.noted else { return Ok(()) };
        match noted.position {
            None => self.is_met |= self.head.hash == noted.hash,
            Some(position) if position == self.head.position => {
                if self.head.hash != noted.hash {
                    return Err(ChainFault::HeadChanged { position });
                }
                self.is_met = true;
            }
            Some(position) if self.found.entries == 0 && position < self.head.position => {
                return Err(ChainFault::HeadForgotten { position });
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Checks what only the end of the chain says.
    fn end(&mut self, page: &AuditChainView) -> Result<(), VerificationEnd> {
        self.found.unsealed = page.unsealed;
        if page.head.position > self.head.position {
            let (from, until) = (self.head.position + 1, page.head.position);
            return Err(ChainFault::LinksMissing { from, until }.into());
        }
        if self.noted.is_some() && !self.is_met {
            return Err(ChainFault::HeadMissing.into());
        }
        Ok(())
    }

    fn report(&mut self, fault: Option<&ChainFault>, screen: &Screen) -> Result<(), CliError> {
        let found = &mut self.found;
        found.head = format!("{}:{}", self.head.position, self.head.hash);
        found.fault = fault.map(ToString::to_string);
        found.holds = fault.is_none();
        screen.show(found, |found| words(found, screen))?;
        if found.holds { Ok(()) } else { Err(CliError::Reported(FAILED)) }
    }
}

fn words(found: &Verified, screen: &Screen) -> String {
    let mut lines = Vec::new();
    let verdict = match &found.fault {
        None => screen.paint(Paint::Good, "ok"),
        Some(fault) => screen.paint(Paint::Bad, &format!("fault: {}", harmless(fault))),
    };
    lines.push(verdict);
    let range = match (&found.from, &found.until) {
        (Some(from), Some(until)) => format!(", from {} to {}", harmless(from), harmless(until)),
        _ => String::new(),
    };
    lines.push(format!("{} entries hold{range}", found.entries));
    lines.push(format!("head: {}", found.head));
    if found.forgotten > 0 {
        lines.push(format!("removed by retention before: {}", found.forgotten));
    }
    if found.unsealed > 0 {
        lines.push(format!("not in the chain yet: {}", found.unsealed));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
