//! The local administrator: a name and the hash of a password in the configuration, for the day on which the directory is
//! away.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use pagurus_domain::access::token::{digest, hex};
use pagurus_runtime::config::AccessSettings;
use tokio::sync::Semaphore;

/// Checks of a password at a time: each takes some 20 MiB and some 20 ms of a processor, on purpose.
const AT_A_TIME: usize = 2;

/// Checks passwords of the local administrator.
pub(crate) struct LocalAdministrator(Semaphore);

impl Default for LocalAdministrator {
    fn default() -> Self {
        Self(Semaphore::new(AT_A_TIME))
    }
}

impl LocalAdministrator {
    /// True if the hash is one of this password.
    pub async fn knows(&self, hash: String, password: String) -> bool {
        let Ok(_turn) = self.0.acquire().await else { return false };
        let check = move || {
            let hash = PasswordHash::new(&hash).ok()?;
            Argon2::default().verify_password(password.as_bytes(), &hash).ok()
        };
        tokio::task::spawn_blocking(check).await.is_ok_and(|right| right.is_some())
    }
}

/// Text that identifies the local administrator of these settings in a session. It changes with the password, so that sessions which
/// were opened with the former one count no more.
pub(crate) fn local_subject(access: &AccessSettings) -> Option<String> {
    let (name, hash) = (access.local_name.as_ref()?, access.local_password.as_ref()?);
    Some(format!("{name} {}", hex(&digest(hash)[..8])))
}

/// Hash of a password, for `access.local.password_hash`: Argon2id with the parameters that OWASP recommends.
///
/// # Errors
/// The library refuses the password.
pub fn hash_password(password: &str) -> Result<String, String> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| error.to_string())
}
