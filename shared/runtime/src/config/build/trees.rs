//! Reads the values that are trees: ends, rules, allow lists, constants.

use std::sync::Arc;

use pagurus_domain::document::form::Keys;
use pagurus_domain::document::{DocumentNode, Fault};
use pagurus_domain::order::notification::{AllowList, Pattern, WebhookPattern};
use pagurus_domain::retry::{DurationControl, ErrorPolicy};

use super::super::kind;
use super::{Builder, keys};

impl Builder {
    pub(super) fn target_steps(&mut self) -> Vec<String> {
        let path = "execution.state_classification.target";
        let tree = self.tree(path);
        let mut steps = Vec::new();
        for (item, entries) in self.mappings(path, tree.as_ref(), &keys::STEP) {
            match entries.into_iter().next() {
                Some((_, step)) => steps.push(step),
                None => self.values.push(path, Fault::new(&item, "", "the entry has no `step`")),
            }
        }
        steps
    }

    pub(super) fn errors(&mut self) -> ErrorPolicy {
        let path = "execution.error_handling";
        let total = self.text("retry_duration_control.mode") == "total";
        let Some(tree) = self.tree(path) else {
            return ErrorPolicy::default();
        };
        match ErrorPolicy::read(&tree) {
            // What stands nearer to the policies goes before the general key.
            Ok(errors) if total || tree.get("retry_duration_control").is_some() => errors,
            Ok(errors) => errors.with_duration_control(DurationControl::RunAndSuspending),
            Err(faults) => {
                for fault in faults {
                    self.values.push(path, fault);
                }
                ErrorPolicy::default()
            }
        }
    }

    /// A list of patterns; where it is left out, `usual` alone.
    pub(super) fn allow_list(
        &mut self,
        path: &'static str,
        prefix: &str,
        default_exchange: String,
        usual: Pattern,
    ) -> AllowList {
        let mut list = AllowList { prefix: prefix.to_owned(), default_exchange, patterns: Vec::new() };
        let tree = self.tree(path).filter(|tree| !tree.is_null());
        if tree.is_none() {
            list.patterns.push(usual);
            return list;
        }
        // Only notifications go over HTTP.
        let known = if path == "notify.allow" { &keys::NOTIFY } else { &keys::REPLY };
        for (item, entries) in self.mappings(path, tree.as_ref(), known) {
            if entries.iter().any(|(name, _)| matches!(*name, "url" | "secret")) {
                list.patterns.extend(self.webhook(path, &item, &entries));
                continue;
            }
            let mut pattern = Pattern::default();
            for (name, text) in entries {
                match name {
                    "exchange" => pattern.exchange = Some(text),
                    "key" => pattern.key = Some(text),
                    _ => pattern.queue = Some(text),
                }
            }
            // A queue is written to straight, an exchange with a key: never both.
            if pattern.exchange.is_some() == pattern.queue.is_some()
                || (pattern.queue.is_some() && pattern.key.is_some())
            {
                let message = "an entry has `queue`, or `exchange` with or without `key`";
                self.values.push(path, Fault::new(&item, "", message));
            }
            list.patterns.push(pattern);
        }
        list
    }

    /// An entry for webhooks: a URL, and the name of the secret with which what goes there is signed.
    fn webhook(
        &mut self,
        path: &'static str,
        item: &DocumentNode,
        entries: &[(&'static str, String)],
    ) -> Option<Pattern> {
        let text =
            |wanted: &str| entries.iter().find(|(name, _)| *name == wanted).map(|(_, text)| text.as_str());
        let read = match (text("url"), text("secret")) {
            (Some(url), Some(secret)) if entries.len() == 2 => secret_name(secret)
                .ok_or_else(|| format!("`{secret}` is no name of a secret: letters, digits, `-` and `_`"))
                .and_then(|secret| WebhookPattern::parse(url, secret)),
            _ => Err("an entry for webhooks has `url` and `secret`, and nothing else".to_owned()),
        };
        match read {
            Ok(webhook) => Some(Pattern { webhook: Some(webhook), ..Pattern::default() }),
            Err(message) => {
                self.values.push(path, Fault::new(item, "", message));
                None
            }
        }
    }

    pub(super) fn constants(&mut self) -> Arc<serde_json::Value> {
        let empty = || serde_json::Value::Object(serde_json::Map::new());
        let value = match self.tree("config") {
            Some(tree) if tree.as_map().is_some() => tree.to_json(),
            Some(tree) if !tree.is_null() => {
                self.values.fault("config", format!("expected a mapping, found {}", tree.kind()));
                empty()
            }
            _ => empty(),
        };
        Arc::new(value)
    }

    /// The items of a list of mappings, each with the texts under its known keys.
    pub(super) fn mappings(
        &mut self,
        path: &str,
        tree: Option<&DocumentNode>,
        known: &'static Keys,
    ) -> Vec<(DocumentNode, Vec<(&'static str, String)>)> {
        let Some(tree) = tree else { return Vec::new() };
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

/// The name of a secret, which is that of a file: nothing in it may lead elsewhere.
fn secret_name(text: &str) -> Option<&str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (text.len() <= 64 && text.chars().all(allowed)).then_some(text)
}
