//! Makes the settings out of the values of the keys: the only place where a path meets a field.
//! Checks what no single key can tell, such as one limit that must stay below another.

mod flows;
pub(super) mod keys;
mod servers;
mod take;
mod trees;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use pagurus_domain::activation::AgeGroups;
use pagurus_domain::dispatch::DistributionMode;
use pagurus_domain::document::Fault;
use pagurus_domain::order::notification::Pattern;
use pagurus_domain::scenario::{Bounds, Concealed, script};

use super::calls::CallRules;
use super::load::Values;
use super::{
    ActivationSettings, BrokerSettings, CallbackSettings, CheckSettings, DatabaseSettings,
    DispatcherSettings, FailoverSettings, IntakeSettings, LogFormat, LogSettings, NodeSettings,
    NotifySettings, RecoverySettings, ResourceControlSettings, RetentionSettings, Settings, ShutdownSettings,
    StartControlSettings, TelemetrySettings, WebhookSettings, WhenLost, WorkerSettings,
};

/// The settings, or all faults in the order of the file.
pub(super) fn settings(values: Values) -> Result<Settings, Vec<Fault>> {
    let mut builder = Builder { values };
    let settings = builder.settings();
    builder.check_relations(&settings);
    let mut faults = builder.values.faults;
    if faults.is_empty() {
        return Ok(settings);
    }
    faults.sort_by_key(|fault| (fault.at.is_none(), fault.at));
    Err(faults)
}

struct Builder {
    values: Values,
}

impl Builder {
    fn settings(&mut self) -> Settings {
        let broker = self.broker();
        let constants = self.constants();
        let reply_queues =
            Pattern { queue: Some(format!("{}.reply.*", broker.prefix)), ..Pattern::default() };
        Settings {
            node: self.node(),
            database: self.database(),
            log: self.log(),
            telemetry: self.telemetry(),
            intake: self.intake(),
            callbacks: CallbackSettings {
                max_orphans: self.number("callbacks.orphans.max"),
                orphan_retention: self.duration("callbacks.orphans.retention"),
            },
            operations_retention: self.duration("operations.retention"),
            audit_retention: self.duration("audit.retention"),
            refused_retention: self.duration("refused.retention"),
            refused_max_bytes: self.size("refused.max_bytes"),
            stats_retention: self.duration("stats.retention"),
            distribution: self.distribution(),
            systems: self.systems(),
            dispatcher: DispatcherSettings {
                lease_ttl: self.duration("dispatcher.lease.ttl"),
                reread: self.duration("dispatcher.reread"),
            },
            worker: self.worker(),
            activation: self.activation(),
            start_control: self.start_control(),
            recovery: self.recovery(),
            retention: self.retention(),
            failover: FailoverSettings {
                interval: Some(self.duration("failover.interval")).filter(|age| !age.is_zero()),
                batch: self.size("failover.batch"),
                running: match self.text("failover.running").as_str() {
                    "cancel" => WhenLost::Cancel,
                    _ => WhenLost::Resume,
                },
            },
            shutdown: ShutdownSettings {
                grace: self.duration("shutdown.grace"),
                release: self.flag("shutdown.release"),
            },
            scenario: self.scenario(),
            max_cached_scenarios: self.size("scenario.max_cached_bytes"),
            errors: self.errors(),
            resource_control: self.resource_control(),
            notify: self.notify(&broker.prefix),
            reply: self.allow_list("reply.allow", &broker.prefix, String::new(), reply_queues),
            secrets_folder: self.optional_text("secrets.folder").map(Into::into),
            secret_constants: Concealed::of_constants(&constants).into(),
            constants,
            broker,
        }
    }

    fn node(&mut self) -> NodeSettings {
        NodeSettings {
            name: self.optional_text("node.name"),
            listen: self.address("node.listen"),
            max_connections: self.size("node.max_connections"),
            advertise: self.optional_text("node.advertise"),
            heartbeat: self.duration("node.heartbeat"),
            lost_after: self.duration("node.lost_after"),
        }
    }

    fn database(&mut self) -> DatabaseSettings {
        DatabaseSettings {
            url: self.text("database.url"),
            work_connections: self.size("database.work_connections"),
            api_connections: self.size("database.api_connections"),
            report_connections: self.size("database.report_connections"),
            operation_connections: self.size("database.operation_connections"),
            connect_timeout: self.duration("database.connect_timeout"),
            statement_timeout: self.duration("database.statement_timeout"),
            report_timeout: self.duration("database.report_timeout"),
            migrate: self.flag("database.migrate"),
        }
    }

    fn broker(&mut self) -> BrokerSettings {
        BrokerSettings {
            url: self.text("broker.url"),
            prefix: self.text("broker.prefix"),
            confirm_timeout: self.duration("broker.confirm_timeout"),
            prefetch: u16::try_from(self.count("broker.prefetch")).unwrap_or(u16::MAX),
        }
    }

    fn log(&mut self) -> LogSettings {
        let format = match self.text("log.format").as_str() {
            "json" => LogFormat::Json,
            _ => LogFormat::Text,
        };
        LogSettings { format, level: self.text("log.level") }
    }

    fn telemetry(&mut self) -> TelemetrySettings {
        TelemetrySettings {
            endpoint: self.optional_text("telemetry.otlp.endpoint"),
            timeout: self.duration("telemetry.otlp.timeout"),
            queue_size: self.size("telemetry.otlp.queue_size"),
            sample_ratio: f64::from(self.number("telemetry.traces.sample_percentage")) / 100.0,
        }
    }

    fn intake(&mut self) -> IntakeSettings {
        let public_url = self.optional_text("intake.public_url");
        IntakeSettings {
            batch: self.size("intake.batch"),
            max_body_bytes: self.size("intake.max_body_bytes"),
            max_batch_body_bytes: self.size("intake.max_batch_body_bytes"),
            max_batch_orders: self.size("intake.max_batch_orders"),
            max_bodies_bytes: self.size("intake.max_bodies_bytes"),
            max_streams: self.size("intake.max_streams"),
            client_share_percentage: self.size("intake.client_share_percentage"),
            hosts: self.texts("intake.hosts"),
            public_confirmed: self.flag("intake.public_confirmed"),
            public_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
            straight_to_queue: self.flag("intake.straight_to_queue"),
        }
    }

    fn worker(&mut self) -> WorkerSettings {
        WorkerSettings {
            concurrency: self.size("worker.concurrency"),
            connect_timeout: self.duration("worker.http.connect_timeout"),
            timeout: self.duration("worker.http.timeout"),
            max_response_bytes: self.size("worker.http.max_response_bytes"),
            max_held_bytes: self.size("worker.max_held_bytes"),
            calls: CallRules { allow: self.calls("worker.http.allow"), deny: self.calls("worker.http.deny") },
        }
    }

    fn activation(&mut self) -> ActivationSettings {
        let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
        let mode = self.text("activation.mode");
        ActivationSettings {
            precision: self.duration("activation.precision"),
            batch: self.size("activation.batch"),
            // The words of the table are those of the type; a test reads each of them.
            mode: mode.parse().unwrap_or(super::ActivationMode::AtLeastOnce),
            min_shift: self.duration("activation.min_shift"),
            groups: AgeGroups {
                youngest: days(self.count("activation.groups.sleep.youngest.age_in_days")),
                middle: days(self.count("activation.groups.sleep.middle.age_in_days")),
            },
        }
    }

    fn start_control(&mut self) -> StartControlSettings {
        let mode = self.text("execution.start_control.conditional.mode");
        StartControlSettings {
            // The words of the table are those of the type; a test reads each of them.
            conditional: mode.parse().unwrap_or(super::StartMode::Reactive),
            interval: self.duration("execution.start_control.conditional.interval"),
        }
    }

    fn recovery(&mut self) -> RecoverySettings {
        RecoverySettings {
            interval: self.duration("recovery.interval"),
            batch: self.size("recovery.batch"),
            max_restarts: self.number("recovery.max_restarts"),
            work_timeout: self.duration("recovery.timeouts.work"),
            idle_timeout: self.duration("recovery.timeouts.idle"),
            process_timeout: self.optional_duration("recovery.timeouts.process"),
            check: self.check(),
        }
    }

    fn check(&mut self) -> CheckSettings {
        let first = self.optional_text("recovery.check.first").unwrap_or_default();
        CheckSettings {
            rate: Some(self.number("recovery.check.rate")).filter(|rate| *rate > 0),
            confirm_after: self.duration("recovery.check.confirm_after"),
            first: first.split_whitespace().map(str::to_owned).collect(),
        }
    }

    fn retention(&mut self) -> RetentionSettings {
        let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
        RetentionSettings {
            ended: days(self.count("db.orders.storage_period_in_days.final")),
            in_progress: days(self.count("db.orders.storage_period_in_days.in_progress")),
            rate: Some(self.number("db.orders.removal_rate")).filter(|rate| *rate > 0),
        }
    }

    fn resource_control(&mut self) -> ResourceControlSettings {
        ResourceControlSettings {
            max_acquisition_duration: self.duration("resource_control.max_acquisition_duration"),
            max_sync_duration: self.duration("resource_control.max_sync_duration"),
            max_wait_sequential: self.duration("resource_control.max_wait_sequential"),
            max_wait_parallel: self.duration("resource_control.max_wait_parallel"),
        }
    }

    fn scenario(&mut self) -> Bounds {
        Bounds {
            max_states: self.size("scenario.max_states"),
            max_vars_bytes: self.size("scenario.max_vars_bytes"),
            max_children: self.number("scenario.max_children"),
            max_each: self.size("scenario.max_each"),
            min_sleep: self.duration("scenario.min_sleep"),
            max_transitions_per_stage: self.number("scenario.max_transitions_per_stage"),
            script: script::Limits {
                max_operations: self.count("scenario.script.max_operations"),
                max_string_bytes: self.size("scenario.script.max_string_bytes"),
                max_elements: self.size("scenario.script.max_elements"),
                max_call_depth: self.size("scenario.script.max_call_depth"),
                max_duration: self.duration("scenario.script.max_duration"),
                clock: script::Clock(since_start),
            },
            target_steps: self.target_steps(),
        }
    }

    fn notify(&mut self, prefix: &str) -> NotifySettings {
        let own = format!("{prefix}.notifications");
        let exchange = self.optional_text("notify.exchange").unwrap_or_else(|| own.clone());
        let any_key = Pattern { exchange: Some(own), key: Some("*".into()), ..Pattern::default() };
        NotifySettings {
            allow: self.allow_list("notify.allow", prefix, exchange, any_key),
            retry_initial: self.duration("notify.retry.initial"),
            retry_max: self.duration("notify.retry.max"),
            source: self.optional_text("notify.source").unwrap_or_else(|| format!("/pagurus/{prefix}")),
            parked_after: self.duration("notify.parked_after"),
            webhook: WebhookSettings {
                timeout: self.duration("notify.webhook.timeout"),
                concurrency: self.size("notify.webhook.concurrency"),
                max_held_bytes: self.size("notify.webhook.max_held_bytes"),
                give_up_after: self.duration("notify.webhook.give_up_after"),
            },
        }
    }

    /// Checks what no single key can tell.
    fn check_relations(&mut self, settings: &Settings) {
        // Three signs of life must fit, or one lost packet would look like a lost node.
        if settings.node.lost_after < 3 * settings.node.heartbeat {
            let message = "must be at least three times `node.heartbeat`";
            self.values.fault("node.lost_after", message);
        }
        // The registry, and the names of sessions at both servers, have to take it.
        if settings
            .node
            .name
            .as_deref()
            .is_some_and(|name| name.len() > 255 || name.contains(char::is_control))
        {
            self.values.fault("node.name", "must have 255 bytes at most, and no control character");
        }
        if settings.node.advertise.as_deref().is_some_and(|told| !crate::address::is_one(told)) {
            let message = "must be `HOST:PORT`, or begin with `http://` or `https://`";
            self.values.fault("node.advertise", message);
        }
        if settings.intake.max_batch_body_bytes < settings.intake.max_body_bytes {
            let message = "must not be less than `intake.max_body_bytes`";
            self.values.fault("intake.max_batch_body_bytes", message);
        }
        if settings.intake.max_bodies_bytes < settings.intake.max_batch_body_bytes {
            let message = "must not be less than `intake.max_batch_body_bytes`";
            self.values.fault("intake.max_bodies_bytes", message);
        }
        if settings.activation.groups.middle < settings.activation.groups.youngest {
            let message = "must not be less than `activation.groups.sleep.youngest.age_in_days`";
            self.values.fault("activation.groups.sleep.middle.age_in_days", message);
        }
        // A limit holds orders back that were woken already: nobody would wake those whose command is lost meanwhile.
        if settings.activation.mode == super::ActivationMode::AtMostOnce
            && settings.distribution.flows.mode != DistributionMode::Simple
        {
            let message = "`at_most_once` goes with `distribution.mode: simple` only: flows that are held back need \
                           `at_least_once` or `at_least_once_inprogress`";
            self.values.fault("activation.mode", message);
        }
        if settings.notify.retry_max < settings.notify.retry_initial {
            self.values.fault("notify.retry.max", "must not be less than `notify.retry.initial`");
        }
        let url = settings.intake.public_url.as_deref();
        if url.is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
            self.values.fault("intake.public_url", "must begin with `http://` or `https://`");
        }
        self.check_servers(settings);
    }
}

/// The clock by which runs of scripts are watched.
fn since_start() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}
