//! Reads tenants: who owns which flows, queues and scenarios.

use pagurus_domain::access::scope::{OwnedKind, Tenant, Tenants};
use pagurus_domain::document::{DocumentNode, Fault};

use super::super::kind;
use super::keys;
use crate::config::builder::SettingsBuilder;

const PATH: &str = "access.tenants";
/// Longest name of a tenant, in bytes.
const MAX_NAME: usize = 64;

impl SettingsBuilder {
    pub(in super::super) fn tenants(&mut self) -> Result<Tenants, Fault> {
        let tree: DocumentNode = self.value(PATH)?;
        let Some(items) = tree.as_list() else {
            self.values.fault(PATH, format!("expected a list, found {}", tree.kind()));
            return Ok(Tenants::default());
        };
        let mut tenants: Vec<Tenant> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("/{index}");
            let Some(tenant) = self.tenant(item, &pointer) else { continue };
            if tenants.iter().any(|one| one.name == tenant.name) {
                let message = format!("there is a tenant `{}` already", tenant.name);
                self.values.push(PATH, Fault::new(item, format!("{pointer}/name"), message));
            }
            tenants.push(tenant);
        }
        Ok(Tenants::of(tenants))
    }

    fn tenant(&mut self, item: &DocumentNode, pointer: &str) -> Option<Tenant> {
        let Some(entries) = item.as_map() else {
            let message = format!("expected a mapping, found {}", item.kind());
            self.values.push(PATH, Fault::new(item, pointer, message));
            return None;
        };
        let (mut name, mut groups, mut owned) = (None, Vec::new(), Vec::new());
        for (key, value) in entries {
            let place = format!("{pointer}/{}", key.name);
            match keys::TENANT.find(&key.name) {
                None => {
                    let fault = Fault::unknown_key(key, pointer, keys::TENANT.names());
                    self.values.push(PATH, fault);
                }
                Some("name") => name = self.tenant_name(value, &place),
                Some("groups") => groups = self.names(value, &place),
                Some(key) => {
                    let kind = match key {
                        "flows" => OwnedKind::Flow,
                        "queues" => OwnedKind::Queue,
                        _ => OwnedKind::Scenario,
                    };
                    owned.extend(self.names(value, &place).into_iter().map(|pattern| (kind, pattern)));
                }
            }
        }
        let Some(name) = name else {
            if !entries.iter().any(|(key, _)| key.name == "name") {
                self.values.push(PATH, Fault::new(item, pointer, "the tenant has no `name`"));
            }
            return None;
        };
        let mut tenant = Tenant::named(name, groups);
        for (kind, pattern) in owned {
            tenant.own(kind, &pattern);
        }
        if tenant.is_empty() {
            let message = "the tenant owns nothing: add `flows`, `queues` or `scenarios`";
            self.values.push(PATH, Fault::new(item, pointer, message));
        }
        Some(tenant)
    }

    /// A word by which tokens name a tenant; `*` stands for all tenants there.
    fn tenant_name(&mut self, value: &DocumentNode, place: &str) -> Option<String> {
        let name = kind::text(value).and_then(|name| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            let is_name = name.len() <= MAX_NAME && name.chars().all(fits);
            let message = || {
                format!("`{name}` is not a name: use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}")
            };
            if is_name { Ok(name) } else { Err(message()) }
        });
        name.map_err(|message| self.values.push(PATH, Fault::new(value, place, message))).ok()
    }

    fn names(&mut self, list: &DocumentNode, place: &str) -> Vec<String> {
        let Some(items) = list.as_list() else {
            let message = format!("expected a list of texts, found {}", list.kind());
            self.values.push(PATH, Fault::new(list, place, message));
            return Vec::new();
        };
        let mut names = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match kind::text(item) {
                Ok(name) => names.push(name),
                Err(message) => {
                    self.values.push(PATH, Fault::new(item, format!("{place}/{index}"), message));
                }
            }
        }
        names
    }
}
