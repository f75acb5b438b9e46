//! Tokens of programs: made, listed, revoked.

use jiff::Timestamp;
use pagurus_domain::access::AccessRole;
use pagurus_domain::access::scope::TenantMembership;
use pagurus_domain::audit::AuditKind;
use pagurus_domain::id::UnknownWord;
use pagurus_domain::number::saturated;
use pagurus_domain::order::principal::Principal;
use pagurus_store::Error;
use pagurus_store::lists::audit::AuditEntry;
use pagurus_store::outside::access::{self as stored, NewToken};
use pagurus_wire::access::{IssuedTokenView, TokenRequest, TokenView};
use pagurus_wire::order::Page;
use pagurus_wire::problem::{Problem, Type};
use serde_json::json;

use crate::sessions::page_of;
use crate::{Access, lock, secret};

/// Longest name of a program, and longest reason, in bytes.
const MAX_NAME: usize = 64;
const MAX_REASON: usize = 1000;
/// Ids that are tried before it is given up: with 10 000 tokens one in 1 700 is taken.
const TRIES: usize = 5;

impl Access {
    /// Makes a token. Its text is returned this once, and stored nowhere.
    ///
    /// # Errors
    /// The problem to answer with: a field is wrong, or the database does not answer.
    pub async fn make_token(
        &self,
        request: &TokenRequest,
        by: &Principal,
    ) -> Result<IssuedTokenView, Problem> {
        let role: AccessRole = request
            .role
            .parse()
            .map_err(|error: UnknownWord| Problem::of_field("/role", error.to_string()))?;
        self.check_tenants(&request.tenants)?;
        checked("/name", &request.name, 1, MAX_NAME)?;
        checked("/reason", &request.reason, 0, MAX_REASON)?;
        if request.ends_at.is_some_and(|end| end <= Timestamp::now()) {
            return Err(Problem::of_field("/endsAt", "is over already"));
        }
        for _ in 0..TRIES {
            let made = self.try_token(request, role, by).await.map_err(|error| self.failed(&error))?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
        Err(Problem::new(Type::Busy, "no free id was found for the token; try again"))
    }

    /// Refuses names that no tenant of the configuration has: the token would see less than was meant.
    fn check_tenants(&self, named: &[String]) -> Result<(), Problem> {
        let settings = self.0.host.settings();
        let known: Vec<&str> = settings.access.tenants.names().collect();
        for (index, name) in named.iter().enumerate() {
            if name != TenantMembership::ALL && !known.contains(&name.as_str()) {
                let shown: String = name.chars().take(64).collect();
                let message = match known.as_slice() {
                    [] => format!("there is no tenant `{shown}`: `access.tenants` names none"),
                    known => format!("there is no tenant `{shown}`; there are: {}", known.join(", ")),
                };
                return Err(Problem::of_field(&format!("/tenants/{index}"), message));
            }
        }
        Ok(())
    }

    async fn try_token(
        &self,
        request: &TokenRequest,
        role: AccessRole,
        by: &Principal,
    ) -> Result<Option<IssuedTokenView>, Error> {
        let token = secret::new_token();
        let made_by = by.to_value().to_string();
        let new = NewToken {
            id: token.id(),
            digest: token.digest(),
            name: &request.name,
            role,
            made_by: &made_by,
            ends_at: request.ends_at,
            tenants: &request.tenants,
        };
        let mut client = self.0.host.store.api().await?;
        let tx = client.transaction().await?;
        let Some(kept) = stored::add_token(&tx, &new).await? else { return Ok(None) };
        let reason = Some(request.reason.as_str()).filter(|reason| !reason.is_empty());
        let entry = AuditEntry::new("make", (AuditKind::Token, token.id()), by, reason);
        let detail = json!({
            "name": request.name, "role": role.as_str(), "endsAt": request.ends_at, "tenants": request.tenants,
        });
        entry.with(&detail).record(&tx).await?;
        tx.commit().await?;
        Ok(Some(IssuedTokenView { token: token.reveal().to_owned(), kept }))
    }

    /// Revokes a token. Other nodes refuse it within a second.
    ///
    /// # Errors
    /// The problem to answer with: no valid token has the id, or the database does not answer.
    pub async fn revoke_token(&self, id: &str, by: &Principal) -> Result<(), Problem> {
        let revoked = async {
            let mut client = self.0.host.store.api().await?;
            let tx = client.transaction().await?;
            let revoked = stored::revoke_token(&tx, id).await?;
            if let Some((name, role)) = &revoked {
                let entry = AuditEntry::new("revoke", (AuditKind::Token, id), by, None);
                entry.with(&json!({"name": name, "role": role})).record(&tx).await?;
            }
            tx.commit().await?;
            Ok::<_, Error>(revoked.is_some())
        };
        let revoked = revoked.await.map_err(|error| self.failed(&error))?;
        lock(&self.0.owners).clear();
        if revoked {
            return Ok(());
        }
        let shown = &id[..id.floor_char_boundary(16)];
        Err(Problem::new(Type::NotFound, format!("there is no token `{shown}` that has not been revoked")))
    }

    /// Returns a page of all tokens, those that were revoked among them, by id.
    ///
    /// # Errors
    /// The problem to answer with: the database does not answer.
    pub async fn tokens(&self, limit: usize, after: Option<&str>) -> Result<Page<TokenView>, Problem> {
        let found = async {
            let client = self.0.host.store.api().await?;
            stored::list_tokens(&client, after.unwrap_or_default(), saturated(limit)).await
        };
        let items = found.await.map_err(|error| self.failed(&error))?;
        Ok(page_of(items, limit, |token| &token.id))
    }
}

fn checked(pointer: &str, text: &str, least: usize, most: usize) -> Result<(), Problem> {
    if text.len() < least || text.len() > most {
        return Err(Problem::of_field(pointer, format!("has {least} to {most} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(Problem::of_field(pointer, "holds control characters"));
    }
    Ok(())
}
