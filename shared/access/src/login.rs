//! Logins of people by name and password.

use std::time::Duration;

use jiff::Timestamp;
use pagurus_domain::access::{AccessRole, Identity, LoginMethod};
use pagurus_domain::audit::AuditKind;
use pagurus_domain::order::principal::Principal;
use pagurus_store::Error;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::access::{self as stored, NewSession};
use pagurus_wire::access::LoginRequest;
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use crate::local::local_subject;
use crate::{Access, LoginFailure, Person, SessionSecret, lock};

/// Shortest time in which a login fails, so that it does not tell whether the name is known.
const LEAST_TIME: Duration = Duration::from_millis(500);
/// Longest name and longest password, in bytes.
const MAX_NAME: usize = 256;
const MAX_PASSWORD: usize = 1024;

/// A session that was opened.
pub struct OpenedSession {
    /// Secret for the cookie.
    pub secret: SessionSecret,
    /// Person of the session.
    pub identity: Identity,
}

/// A person who has proved who they are, and how.
pub(crate) struct Proved {
    pub person: Person,
    pub role: Option<AccessRole>,
    pub method: LoginMethod,
    /// Name that was typed, where one was.
    pub login: Option<String>,
    pub provider_session: Option<String>,
}

impl Access {
    /// Opens a session for a person who knows their password.
    ///
    /// # Errors
    /// The problem to answer with. It is the same for a wrong name and for a wrong password, and takes as long.
    pub async fn log_in(&self, login: LoginRequest, address: &str) -> Result<OpenedSession, Problem> {
        let started = Instant::now();
        self.count_login(&login.name, address)?;
        let (name, counted) = (login.name.clone(), self.counted(address));
        match self.prove(login).await {
            Ok(proved) => {
                // Of somebody without a role the count stays: each try writes into the audit log.
                let opened = self.open(proved, address).await?;
                lock(&self.0.throttle).succeeded(&name, counted);
                Ok(opened)
            }
            Err(failure) => {
                let problem = match failure {
                    LoginFailure::Refused(_) => {
                        self.note_failure(&name, &failure, address).await;
                        Problem::new(Type::Unauthenticated, "the name or the password is wrong")
                    }
                    LoginFailure::Unavailable(reason) => {
                        lock(&self.0.throttle).take_back(&name, counted);
                        tracing::warn!(address, reason, "nobody could be asked who logs in");
                        let detail = "the directory does not answer; try again, or use a token";
                        Problem::new(Type::Unavailable, detail)
                    }
                };
                sleep_until(started + LEAST_TIME).await;
                Err(problem)
            }
        }
    }

    /// Counts a login before it is tried.
    ///
    /// # Errors
    /// Too many have failed: the problem to answer with.
    pub(crate) fn count_login(&self, name: &str, address: &str) -> Result<(), Problem> {
        let (now, counted) = (Timestamp::now(), self.counted(address));
        let mut throttle = lock(&self.0.throttle);
        if let Some(wait) = throttle.wait(name, counted, now) {
            let detail = format!("too many logins have failed; try again in {} s", wait.as_secs() + 1);
            return Err(Problem::new(Type::Busy, detail));
        }
        throttle.count(name, counted, now);
        Ok(())
    }

    /// Address that failures are counted for; none where one client may have all places, because all come through one gateway.
    pub(crate) fn counted<'a>(&self, address: &'a str) -> Option<&'a str> {
        let share = self.0.host.settings().intake.client_share_percentage;
        Some(address).filter(|_| share < 100)
    }

    async fn prove(&self, login: LoginRequest) -> Result<Proved, LoginFailure> {
        let LoginRequest { name, password } = login;
        if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(LoginFailure::Refused(
                "the name is empty, too long, or has control characters".into(),
            ));
        }
        if password.trim().is_empty() || password.len() > MAX_PASSWORD {
            return Err(LoginFailure::Refused("the password is blank or too long".into()));
        }
        let settings = self.0.host.settings();
        let access = &settings.access;
        if let (Some(local), Some(hash)) = (&access.local_name, &access.local_password)
            && let Some(subject) = local_subject(access)
            && *local == name
        {
            if !self.0.local.knows(hash.clone(), password).await {
                return Err(LoginFailure::Refused("the password of the local administrator is wrong".into()));
            }
            tracing::warn!(name, "the local administrator logs in");
            let person = Person { subject, name, groups: Vec::new() };
            let role = Some(AccessRole::Admin);
            let method = LoginMethod::Local;
            return Ok(Proved { person, role, method, login: None, provider_session: None });
        }
        let person = self.0.directory.log_in(&name, &password).await?;
        let role = self.role_of(&person.groups);
        Ok(Proved { person, role, method: LoginMethod::Ldap, login: Some(name), provider_session: None })
    }

    /// Opens a session for somebody who is known, if one of their groups gives them a role.
    pub(crate) async fn open(&self, proved: Proved, address: &str) -> Result<OpenedSession, Problem> {
        let Proved { person, role, method, login, provider_session } = proved;
        let Some(role) = role else {
            let failure = LoginFailure::Refused(format!("no group gives a role: {}", listed(&person.groups)));
            self.note_failure(&format!("{method}:{}", person.name), &failure, address).await;
            let detail = format!(
                "{} is known, but no group gives a role (`access.groups`); the groups are: {}",
                person.name,
                listed(&person.groups)
            );
            return Err(Problem::new(Type::Forbidden, detail));
        };
        let secret = SessionSecret::new();
        let scope = self.0.host.settings().access.scope(role, &self.tenants_of(&person.groups));
        let identity = Identity { name: person.name.clone(), role, method, scope };
        let session = NewSession {
            id: &secret.id(),
            digest: secret.digest(),
            method,
            subject: &person.subject,
            name: &person.name,
            login: login.as_deref().unwrap_or(&person.name),
            role,
            groups: &person.groups,
            provider_session: provider_session.as_deref(),
            origin: Some(address),
            longest: self.0.host.settings().access.longest,
        };
        let by = Principal::http(identity.principal(), Some(address.to_owned()));
        let stored = async {
            let mut client = self.0.host.store.api().await?;
            let tx = client.transaction().await?;
            stored::add_session(&tx, &session).await?;
            let entry = AuditEntry::new("login", (AuditKind::Session, session.id), &by, None);
            entry
                .with(&json!({"role": role.as_str(), "subject": person.subject, "groups": person.groups}))
                .record(&tx)
                .await?;
            Ok::<_, Error>(tx.commit().await?)
        };
        stored.await.map_err(|error| self.failed(&error))?;
        Ok(OpenedSession { secret, identity })
    }

    /// Writes a login that failed into the log and the audit log, with the reason, which nobody outside learns.
    pub(crate) async fn note_failure(&self, name: &str, failure: &LoginFailure, address: &str) {
        let (name, reason) = (cut(name, MAX_NAME), failure.to_string());
        tracing::warn!(name, address, reason, "a login failed");
        let by = Principal::http(None, Some(address.to_owned()));
        let written = async {
            let mut client = self.0.host.store.api().await?;
            let tx = client.transaction().await?;
            let name = name.replace(char::is_control, " ");
            let entry = AuditEntry::new("login_failed", (AuditKind::Session, &name), &by, None);
            entry.with(&json!({"why": cut(&reason, 1000)})).record(&tx).await?;
            Ok::<_, Error>(tx.commit().await?)
        };
        if let Err(error) = written.await {
            self.failed(&error);
        }
    }
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Groups of a person, as many as a person reads.
fn listed(groups: &[String]) -> String {
    const SHOWN: usize = 50;
    match groups {
        [] => "none".to_owned(),
        _ if groups.len() > SHOWN => {
            format!("{}, and {} more", groups[..SHOWN].join("; "), groups.len() - SHOWN)
        }
        _ => groups.join("; "),
    }
}
