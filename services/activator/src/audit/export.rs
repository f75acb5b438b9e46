//! The way of the audit log to a receiver outside: entries in the order of the chain, each at least once. What the receiver does
//! not have waits in its table, and holds up nothing else.

use std::time::{Duration, Instant};

use pagurus_broker::{Message, Published};
use pagurus_domain::audit::syslog;
use pagurus_domain::json::json_text;
use pagurus_runtime::Host;
use pagurus_runtime::config::AuditReceiver;
use pagurus_runtime::lasting::Lasting;
use pagurus_runtime::metrics::Level;
use pagurus_runtime::syslog::SyslogAddress;
use pagurus_runtime::task::{BackgroundTask, NextTurn, TurnPause};
use pagurus_runtime::waits::Waits;
use pagurus_store::Error;
use pagurus_store::lists::audit::{chain, export};
use pagurus_wire::audit::chain::AuditLinkView;

use crate::recover::note;

/// Pause between two turns where there is nothing to send.
const EVERY: Duration = Duration::from_secs(1);
/// Entries of one batch.
const BATCH: i64 = 100;
/// Time for which this node alone sends, beyond that of a batch.
const HOLD: Duration = Duration::from_secs(30);
/// Waits of a receiver that is away.
const WAITS: Waits = Waits::between(Duration::from_secs(1), Duration::from_secs(60));

/// Sends the audit log to its receiver.
pub(crate) struct AuditExporter {
    waits: Waits,
    away: Lasting,
}

impl Default for AuditExporter {
    fn default() -> Self {
        Self { waits: WAITS, away: Lasting::noted_after(Duration::ZERO) }
    }
}

/// Result of a batch.
struct ExportedBatch {
    /// Entries that the receiver took.
    taken: usize,
    /// Entries of the batch.
    all: usize,
    /// Why it did not take the next one.
    fault: Option<String>,
}

impl BackgroundTask for AuditExporter {
    const PAUSE: TurnPause = |_| EVERY;

    async fn turn(&mut self, host: &Host) -> NextTurn {
        let Some(receiver) = host.settings().records.audit_receiver() else {
            host.metrics.level(Level::AuditExportLag, "", f64::NAN);
            return NextTurn::AfterPause;
        };
        match send_batch(host, &receiver).await {
            Ok(batch) => self.next(batch),
            Err(error) => {
                note(host, "audit export", Err(error));
                NextTurn::AfterPause
            }
        }
    }
}

impl AuditExporter {
    fn next(&mut self, batch: Option<ExportedBatch>) -> NextTurn {
        let Some(ExportedBatch { taken, all, fault }) = batch else { return NextTurn::AfterPause };
        if taken > 0 {
            self.waits.begin_again();
        }
        let was_away = self.away.is_there();
        if self.away.look(fault.is_some(), Instant::now()) {
            tracing::warn!(error = fault, "the receiver of the audit log is away; its entries wait");
        }
        if fault.is_some() {
            return NextTurn::After(self.waits.take());
        }
        if was_away && taken > 0 {
            tracing::info!("the receiver takes the audit log again");
        }
        if i64::try_from(all).is_ok_and(|all| all == BATCH) { NextTurn::AtOnce } else { NextTurn::AfterPause }
    }
}

/// Sends the next entries; `None` while another node sends.
async fn send_batch(host: &Host, receiver: &AuditReceiver) -> Result<Option<ExportedBatch>, Error> {
    let hold = HOLD + host.settings().broker.confirm_timeout;
    let client = host.store.operations().await?;
    let Some(position) = export::hold(&client, host.node, hold).await? else {
        host.metrics.level(Level::AuditExportLag, "", f64::NAN);
        return Ok(None);
    };
    let links = chain::links(&client, position, BATCH).await?;
    let head = chain::head(&client).await?;
    drop(client);
    let (taken, fault) = match receiver {
        _ if links.is_empty() => (0, None),
        AuditReceiver::Syslog(address) => to_syslog(host, address, &links).await,
        AuditReceiver::Exchange { exchange, key } => to_exchange(host, (exchange, key), &links).await,
    };
    let last = links[..taken].last().map_or(position, |link| link.position);
    if taken > 0 {
        export::come_to(&host.store.operations().await?, host.node, last, hold).await?;
    }
    host.metrics.level(Level::AuditExportLag, "", (head.position - last).max(0) as f64);
    Ok(Some(ExportedBatch { taken, all: links.len(), fault }))
}

async fn to_syslog(host: &Host, address: &SyslogAddress, links: &[AuditLinkView]) -> (usize, Option<String>) {
    let message = |view: &AuditLinkView| {
        let link = view.link().ok()?;
        Some(syslog::message(&link, view.chained().as_ref(), &host.name))
    };
    let messages: Vec<Vec<u8>> = links.iter().filter_map(message).collect();
    match address.send(&messages).await {
        Ok(()) => (links.len(), None),
        Err(error) => (0, Some(error.to_string())),
    }
}

async fn to_exchange(
    host: &Host,
    (exchange, key): (&str, &str),
    links: &[AuditLinkView],
) -> (usize, Option<String>) {
    let message = |link: &AuditLinkView| {
        let mut message = Message::json(exchange.to_owned(), key.to_owned(), json_text(link).into_bytes());
        message.properties.message_id = Some(link.position.to_string());
        message.properties.type_ = Some("audit".to_owned());
        message
    };
    let sent = host.broker.publish_many_foreign(links.iter().map(message).collect()).await;
    let taken = sent.iter().take_while(|published| **published == Published::Confirmed).count();
    let fault = match sent.get(taken) {
        None | Some(Published::Confirmed) => None,
        Some(Published::Unroutable { text, .. }) => {
            Some(format!("no queue takes it from the exchange: {text}"))
        }
        Some(Published::Failed(error)) => Some(error.to_string()),
    };
    (taken, fault)
}
