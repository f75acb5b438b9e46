//! Login by a directory: a bind with the account of the person proves the password, and the directory names their groups.
//!
//! Nothing is kept of a login, and each has a connection of its own. Every failure gives nobody any right. Neither a name nor an
//! answer changes what is asked: both are escaped by what they stand in.

mod answer;
mod dn;
mod session;
mod start_tls;
mod steps;
mod typed;

use std::sync::Arc;

use ldap3::{Scope, SearchEntry};
use pagurus_runtime::config::{LdapServer, LdapSettings};
use pagurus_tls::ReloadingTls;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::person::{LoginFailure, Person};
pub use dn::{canonical_dn, is_same_dn};
use session::{LdapSession, SearchPlace};
pub use steps::LdapExplanation;
use steps::StepsTaken;

/// Logins that ask the directory at a time: one that hangs costs no more memory and connections than these.
const PLACES: usize = 8;
/// Attribute that stands for none (RFC 4511, 4.5.1.8).
const NO_ATTRIBUTE: &str = "1.1";
/// Filter that every entry matches.
const ANY: &str = "(objectClass=*)";

/// A directory that knows people. Its clones share the bound of logins at a time.
#[derive(Clone, Debug)]
pub struct LdapDirectory(Arc<DirectoryState>);

#[derive(Debug)]
struct DirectoryState {
    settings: LdapSettings,
    server: Option<LdapServer>,
    tls: Option<ReloadingTls>,
    places: Arc<Semaphore>,
}

impl LdapDirectory {
    /// The directory of these settings. Nothing is connected or read yet.
    #[must_use]
    pub fn new(settings: &LdapSettings) -> Self {
        let (server, tls) = (settings.server(), settings.tls().map(ReloadingTls::new));
        let places = Arc::new(Semaphore::new(PLACES));
        Self(Arc::new(DirectoryState { settings: settings.clone(), server, tls, places }))
    }

    /// Proves the password by a bind with the person's own account, and returns the person with their groups.
    ///
    /// # Errors
    /// Name or password is wrong, or the directory gives no answer that could be used. Neither text holds the password.
    pub async fn login(&self, name: &str, password: &str) -> Result<Person, LoginFailure> {
        let name = typed::usable_name(name)?.to_owned();
        typed::require_password(password)?;
        let (state, password) = (Arc::clone(&self.0), password.to_owned());
        let outcome = self.0.in_turn(async move { state.logged_in(&name, &password).await }).await;
        if let Err(LoginFailure::Unavailable(error)) = &outcome {
            tracing::warn!(error, "the directory cannot be asked who logs in");
        }
        outcome
    }

    /// Looks a person up without their password, by the account of the search.
    pub async fn look_up(&self, name: &str) -> LdapExplanation {
        let steps = StepsTaken::default();
        let found = match steps.noted("name", typed::usable_name(name)) {
            Err(failure) => Err(failure),
            Ok(name) => {
                let (state, name, taken) = (Arc::clone(&self.0), name.to_owned(), steps.clone());
                let found = self.0.in_turn(async move { Ok(state.looked_up(&name, &taken).await) }).await;
                steps.noted("look-up", found).and_then(|found| found)
            }
        };
        LdapExplanation { steps: steps.all(), outcome: found }
    }
}

impl DirectoryState {
    /// Does some work with the directory in one of the places, within one limit for the wait and the work.
    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LoginFailure>> + Send + 'static,
    ) -> Result<T, LoginFailure> {
        let limit = self.settings.timeout;
        let deadline = Instant::now() + limit;
        let unavailable = |message: String| Err(LoginFailure::Unavailable(message));
        let Ok(Ok(place)) = timeout_at(deadline, Arc::clone(&self.places).acquire_owned()).await else {
            let limit = limit.as_millis();
            return unavailable(format!(
                "{PLACES} logins wait for the directory, and none finished within {limit} ms"
            ));
        };
        // A task: the library panics at some answers that are none of LDAP.
        let task = tokio::spawn(async move {
            let _place = place;
            timeout_at(deadline, work).await
        });
        match AbortOnDropHandle::new(task).await {
            Ok(Ok(done)) => done,
            Ok(Err(_)) => {
                unavailable(format!("the directory did not answer within {} ms", limit.as_millis()))
            }
            Err(_) => unavailable("the directory sent something that is not an answer".to_owned()),
        }
    }

    async fn logged_in(&self, name: &str, password: &str) -> Result<Person, LoginFailure> {
        let mut session = self.connect().await?;
        let entry = if let Some(template) = &self.settings.bind_template {
            let bind_name = typed::bind_name(template, name);
            answer::of_person(&session.bind(&bind_name, password).await?)?;
            let entry = self.find(&mut session, name, &bind_name).await?;
            // The name of the bind and the filter could lead to two people; the password must be that of the entry.
            if !is_same_dn(&bind_name, &entry.dn) {
                answer::of_person(&session.bind(&entry.dn, password).await?)?;
            }
            entry
        } else {
            self.bind_account(&mut session).await?;
            let entry = self.find(&mut session, name, "").await?;
            answer::of_person(&session.bind(&entry.dn, password).await?)?;
            if self.settings.groups_filter.is_some() {
                self.bind_account(&mut session).await?;
            }
            entry
        };
        let mut groups = self.groups_of_entry(&entry)?;
        groups.extend(self.groups_of_filter(&mut session, name, &entry.dn).await?);
        self.person(name, &entry, groups)
    }

    async fn looked_up(&self, name: &str, steps: &StepsTaken) -> Result<Person, LoginFailure> {
        if self.settings.bind_name.is_none() {
            let message =
                "`access.ldap.bind_name` is not set: people can be looked up only while they log in";
            return steps.noted("account", Err(LoginFailure::Unavailable(message.to_owned())));
        }
        let mut session = steps.noted("connect", self.connect().await)?;
        steps
            .note("connect", if self.tls.is_some() { "connected, by TLS" } else { "connected, without TLS" });
        steps.noted("account", self.bind_account(&mut session).await)?;
        steps.note("account", self.settings.bind_name.clone().unwrap_or_default());
        let entry = steps.noted("entry", self.find(&mut session, name, "").await)?;
        steps.note("entry", entry.dn.clone());
        let mut groups = Vec::new();
        if let Some(attribute) = &self.settings.groups_attribute {
            let step = format!("groups by the attribute `{attribute}`");
            groups = steps.noted(&step, self.groups_of_entry(&entry))?;
            steps.note(&step, listed(&groups));
        }
        if let Some(filter) = &self.settings.groups_filter {
            let step = format!("groups by the filter `{filter}`");
            let found = steps.noted(&step, self.groups_of_filter(&mut session, name, &entry.dn).await)?;
            steps.note(&step, listed(&found));
            groups.extend(found);
        }
        steps.noted("groups", self.person(name, &entry, groups))
    }

    async fn connect(&self) -> Result<LdapSession, LoginFailure> {
        let missing = || LoginFailure::Unavailable("`access.ldap.url` is not set".to_owned());
        let server = self.server.as_ref().ok_or_else(missing)?;
        let tls = self.tls.as_ref().map(ReloadingTls::config).transpose();
        let tls = tls.map_err(|fault| LoginFailure::Unavailable(format!("{server}: {fault}")))?;
        LdapSession::connect(&self.settings, server, tls).await
    }

    async fn bind_account(&self, session: &mut LdapSession) -> Result<(), LoginFailure> {
        let account = (self.settings.bind_name.as_deref(), self.settings.bind_password.as_deref());
        let (Some(name), Some(password)) = account else {
            let message = "neither `access.ldap.bind_template` nor an account that searches is set";
            return Err(LoginFailure::Unavailable(message.to_owned()));
        };
        answer::of_account(&session.bind(name, password).await?)
    }

    /// The entry of a person: the one that the filter finds, or without a filter the one that has bound.
    async fn find(
        &self,
        session: &mut LdapSession,
        name: &str,
        bound: &str,
    ) -> Result<SearchEntry, LoginFailure> {
        let asked = [&self.settings.groups_attribute, &self.settings.name_attribute];
        let mut attributes: Vec<String> = asked.into_iter().flatten().cloned().collect();
        if attributes.is_empty() {
            attributes.push(NO_ATTRIBUTE.to_owned());
        }
        let filter = self.settings.people_filter.as_deref().map(|filter| typed::filter(filter, name, bound));
        let place = match (&self.settings.people_base, &filter) {
            (Some(base), Some(filter)) => SearchPlace { base, scope: Scope::Subtree, filter },
            _ => SearchPlace { base: bound, scope: Scope::Base, filter: ANY },
        };
        answer::only_entry(session.search(place, attributes, 1).await?)
    }

    fn groups_of_entry(&self, entry: &SearchEntry) -> Result<Vec<String>, LoginFailure> {
        let attribute = self.settings.groups_attribute.as_deref();
        attribute.map_or_else(|| Ok(Vec::new()), |attribute| answer::named_groups(entry, attribute))
    }

    async fn groups_of_filter(
        &self,
        session: &mut LdapSession,
        name: &str,
        dn: &str,
    ) -> Result<Vec<String>, LoginFailure> {
        let (Some(base), Some(filter)) = (&self.settings.groups_base, &self.settings.groups_filter) else {
            return Ok(Vec::new());
        };
        let filter = &typed::filter(filter, name, dn);
        let place = SearchPlace { base, scope: Scope::Subtree, filter };
        answer::found_groups(session.search(place, vec![NO_ATTRIBUTE.to_owned()], answer::MAX_GROUPS).await?)
    }

    fn person(&self, name: &str, entry: &SearchEntry, groups: Vec<String>) -> Result<Person, LoginFailure> {
        let shown = self.settings.name_attribute.as_deref();
        let shown = shown.and_then(|attribute| answer::text_of(entry, attribute));
        let groups = answer::all_groups(groups)?;
        Ok(Person { subject: entry.dn.clone(), name: shown.unwrap_or_else(|| name.to_owned()), groups })
    }
}

fn listed(groups: &[String]) -> String {
    if groups.is_empty() { "none".to_owned() } else { groups.join("; ") }
}
