//! Reads the values that are trees: ends, rules, allow lists, constants.

use std::sync::Arc;

use pagurus_domain::document::form::Keys;
use pagurus_domain::document::{DocumentNode, Fault, pointer_to};
use pagurus_domain::order::notification::{AllowList, Pattern, WebhookPattern, matches};
use pagurus_domain::retry::{DurationControl, ErrorPolicy};
use pagurus_scenario::is_certificate_name;

use super::super::kind;
use super::keys;
use crate::config::builder::SettingsBuilder;
use crate::config::secret_targets::{SecretTarget, SecretTargets};

impl SettingsBuilder {
    pub(super) fn target_steps(&mut self) -> Result<Vec<String>, Fault> {
        let path = "execution.state_classification.target";
        let tree: DocumentNode = self.value(path)?;
        let mut steps = Vec::new();
        for (item, entries) in self.mappings(path, &tree, &keys::STEP) {
            match entries.into_iter().next() {
                Some((_, step)) => steps.push(step),
                None => self.values.push(path, Fault::new(&item, "", "the entry has no `step`")),
            }
        }
        Ok(steps)
    }

    pub(super) fn errors(&mut self) -> Result<ErrorPolicy, Fault> {
        let path = "execution.error_handling";
        let total = self.value::<String>("retry_duration_control.mode")? == "total";
        let tree: DocumentNode = self.value(path)?;
        Ok(match ErrorPolicy::read(&tree) {
            // What stands nearer to the policies goes before the general key.
            Ok(errors) if total || tree.get("retry_duration_control").is_some() => errors,
            Ok(errors) => errors.with_duration_control(DurationControl::RunAndSuspending),
            Err(faults) => {
                for fault in faults {
                    self.values.push(path, fault);
                }
                ErrorPolicy::default()
            }
        })
    }

    pub(in super::super) fn notify_allow(&mut self) -> Result<AllowList, Fault> {
        let prefix: String = self.value("broker.prefix")?;
        let own = format!("{prefix}.notifications");
        let exchange = self.value::<Option<String>>("notify.exchange")?.unwrap_or_else(|| own.clone());
        let any_key = Pattern { exchange: Some(own), key: Some("*".into()), ..Pattern::default() };
        self.allow_list("notify.allow", prefix, exchange, any_key)
    }

    pub(super) fn reply_allow(&mut self) -> Result<AllowList, Fault> {
        let prefix: String = self.value("broker.prefix")?;
        let queues = Pattern { queue: Some(format!("{prefix}.reply.*")), ..Pattern::default() };
        self.allow_list("reply.allow", prefix, String::new(), queues)
    }

    pub(in super::super) fn source(&mut self) -> Result<String, Fault> {
        let prefix: String = self.value("broker.prefix")?;
        let source: Option<String> = self.value("notify.source")?;
        Ok(source.unwrap_or_else(|| format!("/pagurus/{prefix}")))
    }

    /// A list of patterns; where it is left out, `usual` alone.
    fn allow_list(
        &mut self,
        path: &'static str,
        prefix: String,
        default_exchange: String,
        usual: Pattern,
    ) -> Result<AllowList, Fault> {
        let mut list = AllowList { prefix, default_exchange, patterns: Vec::new() };
        let tree: DocumentNode = self.value(path)?;
        if tree.is_null() {
            list.patterns.push(usual);
            return Ok(list);
        }
        let vhost = pagurus_broker::vhost_of(&self.value::<String>("broker.url")?);
        // Only notifications go over HTTP.
        let known = if path == "notify.allow" { &keys::NOTIFY } else { &keys::REPLY };
        for (item, entries) in self.mappings(path, &tree, known) {
            if entries.iter().any(|(name, _)| matches!(*name, "url" | "secret" | "certificate")) {
                list.patterns.extend(self.webhook(path, &item, &entries));
                continue;
            }
            let mut pattern = Pattern::default();
            for (name, text) in entries {
                match name {
                    "vhost" => {
                        if let Some(vhost) = vhost.as_deref().filter(|vhost| !matches(&text, vhost)) {
                            let message = format!(
                                "`vhost` does not match `{vhost}`, the virtual host of `broker.url`: no message goes to another"
                            );
                            self.values.push(path, Fault::new(&item, "", message));
                        }
                    }
                    "exchange" => pattern.exchange = Some(text),
                    "key" => pattern.key = Some(text),
                    _ => pattern.queue = Some(text),
                }
            }
            // A queue is written to straight, an exchange with a key: never both.
            if pattern.exchange.is_some() == pattern.queue.is_some()
                || (pattern.queue.is_some() && pattern.key.is_some())
            {
                let message = "an entry needs `queue`, or `exchange` with or without `key`";
                self.values.push(path, Fault::new(&item, "", message));
            }
            list.patterns.push(pattern);
        }
        Ok(list)
    }

    /// An entry for webhooks: a URL, the name of the secret with which what goes there is signed, and the certificate that is shown.
    fn webhook(
        &mut self,
        path: &'static str,
        item: &DocumentNode,
        entries: &[(&'static str, String)],
    ) -> Option<Pattern> {
        let text =
            |wanted: &str| entries.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text.as_str());
        let certificate = text("certificate");
        let read = match (text("url"), text("secret")) {
            (Some(url), Some(secret)) if entries.len() == 2 + usize::from(certificate.is_some()) => {
                webhook_entry(url, secret, certificate)
            }
            _ => Err("an entry for webhooks needs `url` and `secret`, may have `certificate`, and has nothing else"
                .to_owned()),
        };
        match read {
            Ok(webhook) => Some(Pattern { webhook: Some(webhook), ..Pattern::default() }),
            Err(message) => {
                self.values.push(path, Fault::new(item, "", message));
                None
            }
        }
    }

    /// Reads the targets of secrets.
    pub(super) fn secret_targets(&mut self) -> Result<SecretTargets, Fault> {
        let path = "secrets.for";
        let others_nowhere = self.value::<String>("secrets.others")? == "nowhere";
        let mut targets = SecretTargets { others_nowhere, ..SecretTargets::default() };
        let tree: DocumentNode = self.value(path)?;
        let Some(entries) = tree.as_map() else {
            if !tree.is_null() {
                self.values.fault(path, format!("expected a mapping, found {}", tree.kind()));
            }
            return Ok(targets);
        };
        for (key, list) in entries {
            let pointer = pointer_to("", &key.name);
            if secret_name(&key.name).is_none() {
                let message =
                    format!("`{}` is not a name of a secret: use letters, digits, `-` and `_`", key.name);
                self.values.push(path, Fault::new(list, pointer, message));
                continue;
            }
            let Some(items) = list.as_list() else {
                let message = format!("expected a list of targets, found {}", list.kind());
                self.values.push(path, Fault::new(list, pointer, message));
                continue;
            };
            let mut read = Vec::new();
            for (index, item) in items.iter().enumerate() {
                match kind::text(item).and_then(|text| SecretTarget::parse(&text)) {
                    Ok(target) => read.push(target),
                    Err(message) => {
                        self.values.push(path, Fault::new(item, format!("{pointer}/{index}"), message));
                    }
                }
            }
            targets.of.insert(key.name.clone(), read);
        }
        Ok(targets)
    }

    pub(super) fn constants(&mut self) -> Result<Arc<serde_json::Value>, Fault> {
        let tree: DocumentNode = self.value("config")?;
        if tree.as_map().is_some() {
            return Ok(Arc::new(tree.to_json()));
        }
        if !tree.is_null() {
            self.values.fault("config", format!("expected a mapping, found {}", tree.kind()));
        }
        Ok(Arc::new(serde_json::Value::Object(serde_json::Map::new())))
    }

    /// The items of a list of mappings, each with the texts under its known keys.
    pub(super) fn mappings(
        &mut self,
        path: &str,
        tree: &DocumentNode,
        known: &'static Keys,
    ) -> Vec<(DocumentNode, Vec<(&'static str, String)>)> {
        let Some(items) = tree.as_list() else {
            self.values.fault(path, format!("expected a list, found {}", tree.kind()));
            return Vec::new();
        };
        let mut read = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let pointer = format!("/{index}");
            let Some(entries) = item.as_map() else {
                let message = format!("expected a mapping, found {}", item.kind());
                self.values.push(path, Fault::new(item, pointer, message));
                continue;
            };
            let mut texts = Vec::new();
            for (key, value) in entries {
                let Some(name) = known.find(&key.name) else {
                    let fault = Fault::unknown_key(key, &pointer, known.names());
                    self.values.push(path, fault);
                    continue;
                };
                match kind::text(value) {
                    Ok(text) => texts.push((name, text)),
                    Err(message) => {
                        let place = format!("{pointer}/{name}");
                        self.values.push(path, Fault::new(value, place, message));
                    }
                }
            }
            read.push((item.clone(), texts));
        }
        read
    }
}

/// An entry of `notify.allow` for webhooks.
fn webhook_entry(url: &str, secret: &str, certificate: Option<&str>) -> Result<WebhookPattern, String> {
    if secret_name(secret).is_none() {
        return Err(format!("`{secret}` is not a name of a secret: use letters, digits, `-` and `_`"));
    }
    let entry = WebhookPattern::parse(url, secret)?;
    match certificate {
        None => Ok(entry),
        Some(name) if is_certificate_name(name) => entry.showing(name),
        Some(name) => {
            Err(format!("`{name}` is not a name of a certificate: use letters, digits, `-`, `_` and `.`"))
        }
    }
}

/// The name of a secret, which is that of a file: nothing in it may lead elsewhere.
fn secret_name(text: &str) -> Option<&str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (text.len() <= 64 && text.chars().all(allowed)).then_some(text)
}
