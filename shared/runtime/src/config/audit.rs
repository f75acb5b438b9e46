//! Receiver outside that gets the audit log as it happens.

use std::time::Duration;

use super::builder::SettingsBuilder;
use super::{RecordSettings, Settings};
use crate::syslog::SyslogAddress;

/// Shortest time for which the audit log is kept; the database refuses to remove what is younger.
const KEPT_AT_LEAST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Receiver of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditReceiver {
    /// A receiver of syslog.
    Syslog(SyslogAddress),
    /// An exchange of the broker.
    Exchange {
        /// Name of the exchange.
        exchange: String,
        /// Routing key.
        key: String,
    },
}

impl RecordSettings {
    /// The receiver of the audit log; `None` where there is none.
    #[must_use]
    pub fn audit_receiver(&self) -> Option<AuditReceiver> {
        if let Some(url) = &self.audit_syslog {
            return SyslogAddress::read(url).ok().map(AuditReceiver::Syslog);
        }
        let exchange = self.audit_exchange.clone()?;
        Some(AuditReceiver::Exchange { exchange, key: self.audit_key.clone() })
    }
}

impl SettingsBuilder {
    /// Checks what no single key of the audit log can say.
    pub(super) fn check_audit(&mut self, settings: &Settings) {
        let records = &settings.records;
        if records.audit_retention < KEPT_AT_LEAST {
            self.values.fault("audit.retention", "must be 30 days at least: the database keeps it so long");
        }
        if let Some(Err(fault)) = records.audit_syslog.as_deref().map(SyslogAddress::read) {
            self.values.fault("audit.export.syslog", fault);
        }
        let Some(exchange) = &records.audit_exchange else { return };
        if records.audit_syslog.is_some() {
            let message = "must be left out where `audit.export.syslog` is set: there is one receiver";
            self.values.fault("audit.export.exchange", message);
        }
        if exchange.starts_with("amq.") || exchange.starts_with(&format!("{}.", settings.broker.prefix)) {
            let message = format!("`{exchange}` belongs to the engine or the broker; name one of your own");
            self.values.fault("audit.export.exchange", message);
        }
        if exchange.len() > 255 {
            self.values.fault("audit.export.exchange", "must have 255 bytes at most");
        }
    }
}
