//! Why somebody may what they may: what the directory finds, and the role that follows.

use pagurus_domain::access::scope::AccessScope;
use pagurus_wire::access::{AccessExplanation, AccessStep};

use crate::Access;

impl Access {
    /// Explains the role of a person who would log in under this name now.
    pub async fn explain(&self, name: &str) -> AccessExplanation {
        let settings = self.0.host.settings();
        let step = |step: &str, result: String| AccessStep { step: step.to_owned(), result };
        let mut steps = vec![step("access.mode", settings.access.mode.to_string())];
        if settings.access.local_name.as_deref() == Some(name) {
            steps.push(step("local administrator", "the name is that of `access.local.name`".to_owned()));
            let role = Some(pagurus_domain::access::AccessRole::Admin.to_string());
            return AccessExplanation {
                name: name.to_owned(),
                steps,
                groups: Vec::new(),
                role,
                tenants: None,
            };
        }
        let (found, person) = self.0.directory.look_up(name).await;
        steps.extend(found);
        let groups = person.map(|person| person.groups).unwrap_or_default();
        let role = self.role_of(&groups);
        let scope = role.map(|role| settings.access.scope(role, &self.tenants_of(&groups)));
        let role = role.map(|role| role.to_string());
        let given = role.as_deref().map_or("no group gives a role", |_| "a group gives a role");
        steps.push(step("access.groups", given.to_owned()));
        let tenants = scope.as_ref().and_then(AccessScope::tenants).map(<[String]>::to_vec);
        if let Some(scope) = scope {
            let seen = match &tenants {
                None => "everything is seen".to_owned(),
                Some(tenants) if tenants.is_empty() => "no group leads to a tenant".to_owned(),
                Some(tenants) => format!("groups lead to {}", tenants.join(", ")),
            };
            steps.push(step("access.tenants", seen));
            let hidden = if scope.hides_payloads() { "are hidden from the role" } else { "are seen" };
            steps.push(step("access.payloads", format!("payloads {hidden}")));
        }
        AccessExplanation { name: name.to_owned(), steps, groups, role, tenants }
    }
}
