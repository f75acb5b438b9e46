//! Other virtual hosts of the same broker, and the queues of actors.
//!
//! Nothing of the engine lives in another virtual host: messages go there, and that is all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lapin::uri::AMQPUri;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::connection::{Link, Purpose, Settings};
use crate::publisher::{Published, Publisher};
use crate::{Error, Message};

/// Most other virtual hosts that a process keeps connections to: each scenario may name one.
const MAX_VHOSTS: usize = 16;

/// The connections of a process to other virtual hosts, opened when they are first needed.
pub(crate) struct Foreign {
    settings: Arc<Settings>,
    confirm_timeout: Duration,
    stop: CancellationToken,
    hosts: Mutex<HashMap<String, Host>>,
}

#[derive(Clone)]
struct Host {
    link: Link,
    publisher: Arc<Publisher>,
    _supervisor: Arc<JoinHandle<()>>,
}

impl Foreign {
    pub(crate) fn new(settings: Arc<Settings>, confirm_timeout: Duration, stop: CancellationToken) -> Self {
        Self { settings, confirm_timeout, stop, hosts: Mutex::default() }
    }

    /// Publishes into another virtual host and awaits all confirms.
    pub(crate) async fn publish(&self, vhost: &str, messages: Vec<Message>) -> Vec<Published> {
        let count = messages.len();
        match self.host(vhost).await {
            Ok(host) => match host.link.usable_within(self.settings.connect_timeout).await {
                Ok(_) => host.publisher.foreign(messages).await,
                Err(error) => repeat(&error, count),
            },
            Err(error) => repeat(&error, count),
        }
    }

    async fn host(&self, vhost: &str) -> Result<Host, Error> {
        let mut hosts = self.hosts.lock().await;
        if let Some(host) = hosts.get(vhost) {
            return Ok(host.clone());
        }
        if hosts.len() >= MAX_VHOSTS {
            let text = format!("more than {MAX_VHOSTS} virtual hosts are published to");
            return Err(Error::InvalidSetting(text));
        }
        let settings = Settings {
            uri: AMQPUri { vhost: vhost.to_owned(), ..self.settings.uri.clone() },
            names: self.settings.names.clone(),
            service: self.settings.service,
            connection_name: self.settings.connection_name.clone(),
            connect_timeout: self.settings.connect_timeout,
        };
        let (link, supervisor) = Link::start(Arc::new(settings), Purpose::Foreign, self.stop.child_token());
        let publisher = Arc::new(Publisher::new(link.clone(), self.confirm_timeout));
        let host = Host { link, publisher, _supervisor: Arc::new(supervisor) };
        hosts.insert(vhost.to_owned(), host.clone());
        Ok(host)
    }
}

fn repeat(error: &Error, count: usize) -> Vec<Published> {
    (0..count).map(|_| Published::Failed(Error::Down(error.to_string()))).collect()
}
