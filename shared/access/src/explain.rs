//! Why somebody may what they may: what the directory finds, and the role that follows.

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
            return AccessExplanation { name: name.to_owned(), steps, groups: Vec::new(), role };
        }
        let (found, person) = self.0.directory.look_up(name).await;
        steps.extend(found);
        let groups = person.map(|person| person.groups).unwrap_or_default();
        let role = self.role_of(&groups).map(|role| role.to_string());
        let given = role.as_deref().map_or("no group gives a role", |_| "a group gives a role");
        steps.push(step("access.groups", given.to_owned()));
        AccessExplanation { name: name.to_owned(), steps, groups, role }
    }
}
