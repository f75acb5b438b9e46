//! Connections: separate lanes, so that leases and heartbeats never wait behind work, nor recovery behind
//! operators. Never more sessions than the options of each lane say.

mod tls;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts,
};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::config::SslMode;

use pagurus_tls::{ReloadingTls, TlsFiles as _};

use self::tls::ExplainedTls;
use crate::hot::standing::StandingCache;
use crate::{Error, Patience, Result};

/// A pooled connection.
pub type Client = Object;
/// A transaction: dropped without a commit, it rolls back.
pub type Tx<'a> = deadpool_postgres::Transaction<'a>;
/// Anything that statements run on: a connection, or a transaction on one.
pub use deadpool_postgres::GenericClient as Connection;

/// Options for reaching the database.
#[derive(Clone, Debug)]
pub struct Options {
    /// `postgres://…`
    pub url: String,
    /// Shown by the server as the name of the session.
    pub application_name: String,
    /// Connections for batches of work.
    pub work_connections: usize,
    /// Connections for reads of people and programs.
    pub api_connections: usize,
    /// Connections for reports, which only read.
    pub report_connections: usize,
    /// Connections for what is done to many orders at once.
    pub operation_connections: usize,
    /// Longest time to connect, and to wait for a free connection.
    pub connect_timeout: Duration,
    /// Longest statement, but for reports.
    pub statement_timeout: Duration,
    /// Longest statement of a report.
    pub report_timeout: Duration,
}

impl Options {
    /// Options of a tool or a test: two connections a lane, and time to wait.
    #[must_use]
    pub fn of(url: &str, application_name: &str) -> Self {
        Self {
            url: url.to_owned(),
            application_name: application_name.to_owned(),
            work_connections: 2,
            api_connections: 2,
            report_connections: 2,
            operation_connections: 2,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            report_timeout: Duration::from_secs(30),
        }
    }
}

/// The database, as services hold it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    work: Pool,
    api: Pool,
    lease: Pool,
    recovery: Pool,
    reports: Pool,
    operations: Pool,
    patience: Patience,
    standing: StandingCache,
}

/// Session settings of the hot path. Its tables are empty when they are analyzed and full a moment
/// later: a plan made for the empty table (sequential scans) would be kept and cost ten times as
/// much. All its statements reach rows by a key, so the other shapes of plan are switched off, and
/// one generic plan for each statement is then always the right one.
///
/// That is not enough for joins: for a table without rows, walking all of an index costs as little
/// as a look-up in it, and a walk in the order of the key is always offered for a join by `=`. So
/// joins to growing tables are written `= ANY(ARRAY[…])`, which only a look-up by key can serve.
const WORK_PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_indexonlyscan=off \
     -c enable_hashjoin=off -c enable_mergejoin=off -c enable_material=off -c enable_memoize=off -c jit=off";

/// Session settings of heartbeats: nothing but the usual.
const LEASE_PLANS: &str = "-c jit=off";

/// Session settings of reports. They look through many rows and are asked for seldom: each is planned again,
/// for the values that were asked for. But the planner does not know what the tables hold now: a burst fills `running`
/// and `ready` faster than they are analyzed, and a plan that walks through all of them for each of many orders takes seconds. So
/// orders are looked up there by key, as in the hot path. A report that would write is a mistake.
const REPORT_PLANS: &str = "-c plan_cache_mode=force_custom_plan -c enable_seqscan=off -c enable_indexonlyscan=off \
     -c enable_material=off -c enable_memoize=off -c jit=off -c default_transaction_read_only=on";

/// A process that freezes inside a transaction keeps its locks: the rows of its orders, and the
/// epoch, which a take-over waits for. Ours are never idle there for longer than a computation.
const IDLE_IN_TRANSACTION_MS: u32 = 5000;

/// Longest wait of the batches of the hot path for a lock. Rows are locked for the length of a
/// transaction of ours, some milliseconds: who waits longer waits behind a stranger, and gives up
/// what it has locked itself.
const WORK_LOCK_MS: u32 = 1000;
/// Longest wait of everything else for a lock.
const LOCK_MS: u32 = 5000;

/// Connection of leases, heartbeats and probes.
const LEASE_CONNECTIONS: usize = 1;
/// Connections of activation, recovery, and actions on one order.
const RECOVERY_CONNECTIONS: usize = 2;

impl Store {
    /// Makes the pools; connects when the first connection is asked for.
    ///
    /// # Errors
    /// The URL cannot be read.
    pub fn new(options: &Options) -> Result<Self> {
        let Options { work_connections, api_connections, report_connections, operation_connections, .. } =
            *options;
        let (usual, of_reports) = (options.statement_timeout, options.report_timeout);
        let lane = |name, size, plans, lock_ms, timeout| {
            pool(options, PoolLane { name, size, plans, lock_ms, timeout })
        };
        Ok(Self {
            work: lane("work", work_connections, WORK_PLANS, WORK_LOCK_MS, usual)?,
            api: lane("api", api_connections, WORK_PLANS, LOCK_MS, usual)?,
            lease: lane("lease", LEASE_CONNECTIONS, LEASE_PLANS, LOCK_MS, usual)?,
            recovery: lane("recovery", RECOVERY_CONNECTIONS, WORK_PLANS, LOCK_MS, usual)?,
            reports: lane("reports", report_connections, REPORT_PLANS, LOCK_MS, of_reports)?,
            operations: lane("operations", operation_connections, WORK_PLANS, LOCK_MS, usual)?,
            patience: Patience::default(),
            standing: StandingCache::default(),
        })
    }

    /// Patience of the batches of this process with locks.
    #[must_use]
    pub const fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The subscriptions, as this process read them last.
    #[must_use]
    pub const fn standing(&self) -> &StandingCache {
        &self.standing
    }

    /// A connection for batches of work.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn work(&self) -> Result<Client> {
        Ok(self.work.get().await?)
    }

    /// A connection for reads of people and programs.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn api(&self) -> Result<Client> {
        Ok(self.api.get().await?)
    }

    /// The connection for leases, heartbeats and probes.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn lease(&self) -> Result<Client> {
        Ok(self.lease.get().await?)
    }

    /// A connection for activation, recovery, and actions on one order.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn recovery(&self) -> Result<Client> {
        Ok(self.recovery.get().await?)
    }

    /// A connection for reports: it only reads, its statements end after a time of their own, and are
    /// planned for their values. Not for pages by key, which want the plans of the hot path.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn reports(&self) -> Result<Client> {
        Ok(self.reports.get().await?)
    }

    /// A connection for what is done to many orders at once, and for what may wait: it never takes one
    /// from recovery.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn operations(&self) -> Result<Client> {
        Ok(self.operations.get().await?)
    }

    /// Asks the server whether it takes writes, on the connection of leases and heartbeats: neither
    /// the reads of people nor work may make a process that is well look ill.
    ///
    /// # Errors
    /// No connection could be had in time, or the server failed.
    pub async fn ping(&self) -> Result<()> {
        let row = self.lease().await?.query_one("SHOW transaction_read_only", &[]).await?;
        if row.get::<_, &str>("transaction_read_only") == "off" { Ok(()) } else { Err(Error::ReadOnly) }
    }
}

/// Host and port of the server that a URL names first; none where it is reached by a socket of this
/// host, or the URL cannot be read.
#[must_use]
pub fn server_of(url: &str) -> Option<(String, u16)> {
    let (config, _) = tls::read(url).ok()?;
    match config.get_hosts().first()? {
        tokio_postgres::config::Host::Tcp(host) => {
            Some((host.clone(), config.get_ports().first().copied().unwrap_or(5432)))
        }
        tokio_postgres::config::Host::Unix(_) => None,
    }
}

/// The reason why no session can ever be opened by a URL; none where that depends on the server. Does not repeat the URL.
#[must_use]
pub fn unusable(url: &str) -> Option<String> {
    let (config, _) = match tls::read(url) {
        Ok(read) => read,
        Err(why) => return Some(why),
    };
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Some("names no host, such as `postgres://USER:PASSWORD@HOST:5432/NAME`".to_owned());
    }
    None
}

/// The fault of a file that a URL names for TLS; none where all of them can be used on this host now.
#[must_use]
pub fn tls_fault(url: &str) -> Option<String> {
    let (config, tls) = tls::read(url).ok()?;
    let fault = if config.get_ssl_mode() == SslMode::Disable { None } else { tls.config().err() };
    fault.map(|fault| fault.to_string())
}

/// A lane: a pool with settings of its own.
struct PoolLane {
    name: &'static str,
    size: usize,
    plans: &'static str,
    lock_ms: u32,
    timeout: Duration,
}

fn pool(options: &Options, lane: PoolLane) -> Result<Pool> {
    let (mut config, tls) = tls::read(&options.url).map_err(Error::Schema)?;
    let PoolLane { name, size, plans, lock_ms, timeout } = lane;
    let statement_timeout = timeout.as_millis();
    config
        .application_name(format!("{} {name}", options.application_name))
        .connect_timeout(options.connect_timeout)
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(3))
        .keepalives_retries(3)
        .tcp_user_timeout(Duration::from_secs(15))
        .options(format!(
            "{plans} -c {LANE}={name} -c statement_timeout={statement_timeout} -c lock_timeout={lock_ms} \
             -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS} -c timezone=UTC"
        ));
    let manager = Manager::from_config(
        config,
        ExplainedTls(Arc::new(ReloadingTls::new(tls))),
        ManagerConfig { recycling_method: RecyclingMethod::Fast },
    );
    let timeouts = Timeouts {
        wait: Some(options.connect_timeout),
        create: Some(options.connect_timeout),
        recycle: Some(options.connect_timeout),
    };
    Pool::builder(manager)
        .max_size(size)
        .timeouts(timeouts)
        .runtime(Runtime::Tokio1)
        .post_create(Hook::async_fn(|client, _| Box::pin(open(client))))
        .build()
        .map_err(|error| Error::Schema(error.to_string()))
}

/// Setting by which a session tells that it has those of its lane.
const LANE: &str = "engine.lane";

/// Reason why a session cannot be used that has no settings of its lane.
pub(crate) const POOLED: &str = "a connection pooler in front of the database does not keep the settings of sessions: connect to \
     PostgreSQL directly";

/// Opens a session. No connection is used that would lose orders that were accepted, which a crash of the server does with
/// `synchronous_commit` off; nor one whose settings did not arrive.
/// Long values are compressed with LZ4 where the server was built with it: its default, PGLZ, takes a millisecond for 100 KB,
/// and longest where a text hardly gets shorter.
async fn open(client: &deadpool_postgres::ClientWrapper) -> std::result::Result<(), HookError> {
    let settings = format!(
        "SELECT current_setting('synchronous_commit') AS synchronous_commit, current_setting('{LANE}', true) AS lane,
                (SELECT set_config(name, 'lz4', false)
                   FROM pg_settings
                  WHERE name = 'default_toast_compression' AND 'lz4' = ANY(enumvals)) AS compression"
    );
    // As text: what stands between may not know a statement that was prepared.
    let messages = client.simple_query(&settings).await.map_err(HookError::Backend)?;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let setting = |name: &str| row.and_then(|row| row.get(name)).unwrap_or_default();
    if setting("lane").is_empty() {
        return Err(HookError::message(POOLED));
    }
    if setting("synchronous_commit") == "off" {
        return Err(HookError::message(
            "synchronous_commit is off: accepted orders could be lost; switch it on for this role or database",
        ));
    }
    Ok(())
}
