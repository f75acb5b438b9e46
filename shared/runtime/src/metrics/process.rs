//! Figures of the operating system about this process, under the names that all programs use for them. Read from `/proc` when
//! the page is asked for; where there is none, it is left out.

use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Name and help of a metric of the process.
pub(super) struct Row {
    /// Without `process_` and `_total`.
    pub name: &'static str,
    pub help: &'static str,
    pub is_counter: bool,
    of: fn(&ProcessFigures) -> Option<f64>,
}

const fn row(
    name: &'static str,
    help: &'static str,
    is_counter: bool,
    of: fn(&ProcessFigures) -> Option<f64>,
) -> Row {
    Row { name, help, is_counter, of }
}

/// All of them.
pub(super) const ROWS: &[Row] = &[
    row("cpu_seconds", "User and system CPU time", true, |figures| figures.cpu_seconds),
    row("resident_memory_bytes", "Resident memory", false, |figures| figures.resident_bytes),
    row("virtual_memory_bytes", "Virtual memory", false, |figures| figures.virtual_bytes),
    row("open_fds", "Open file descriptors", false, |figures| figures.open_files),
    row("max_fds", "Open file descriptors that are allowed", false, |figures| figures.max_files),
    row("threads", "Threads", false, |figures| figures.threads),
    row("start_time_seconds", "Start of the process, in seconds of Unix time", false, |figures| {
        figures.started
    }),
];

/// Ticks of a second in `/proc`: Linux shows this number to programs on every architecture that it runs on today.
const TICKS: f64 = 100.0;

/// Figures that were read; none of those that cannot be.
#[derive(Debug, Default, PartialEq)]
struct ProcessFigures {
    cpu_seconds: Option<f64>,
    resident_bytes: Option<f64>,
    virtual_bytes: Option<f64>,
    open_files: Option<f64>,
    max_files: Option<f64>,
    threads: Option<f64>,
    started: Option<f64>,
}

impl ProcessFigures {
    fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let files = fs::read_dir("/proc/self/fd").map(|entries| entries.count() as f64);
        Self {
            open_files: files.ok(),
            ..Self::parse(
                &text("/proc/self/stat"),
                &text("/proc/self/status"),
                &text("/proc/self/limits"),
                &text("/proc/stat"),
            )
        }
    }

    fn parse(stat: &str, status: &str, limits: &str, system: &str) -> Self {
        // The name of the program stands in brackets, and may hold anything.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or_else(Vec::new, |(_, rest)| rest.split_whitespace().collect());
        // Numbered as in proc(5), from 1; the third is the first here.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        let number = |text: &str| text.split_whitespace().next()?.parse::<f64>().ok();
        let named =
            |of: &str, name: &str| of.lines().find_map(|line| line.strip_prefix(name)).and_then(number);
        let bytes = |name: &str| named(status, name).map(|kilobytes| kilobytes * 1024.0);
        Self {
            cpu_seconds: field(14).zip(field(15)).map(|(user, system)| (user + system) / TICKS),
            resident_bytes: bytes("VmRSS:"),
            virtual_bytes: bytes("VmSize:"),
            open_files: None,
            max_files: named(limits, "Max open files"),
            threads: named(status, "Threads:"),
            started: field(22).zip(named(system, "btime")).map(|(ticks, boot)| boot + ticks / TICKS),
        }
    }
}

/// Writes the figures of this moment.
#[derive(Debug)]
pub(super) struct OwnProcess;

impl Collector for OwnProcess {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let figures = ProcessFigures::read();
        for row in ROWS {
            let Some(value) = (row.of)(&figures) else { continue };
            let name = format!("process_{}", row.name);
            let none: Option<&Unit> = None;
            if row.is_counter {
                let metric = ConstCounter::new(value);
                metric.encode(encoder.encode_descriptor(&name, row.help, none, metric.metric_type())?)?;
            } else {
                let metric = ConstGauge::new(value);
                metric.encode(encoder.encode_descriptor(&name, row.help, none, metric.metric_type())?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telemetry_figures_of_a_process_are_read_whatever_its_name_is() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 6000 1000000 500 184467 1 1";
        let status = "Name:\ta\nVmSize:\t  2048 kB\nVmRSS:\t  1024 kB\nThreads:\t9\n";
        let limits =
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024      4096     files\n";
        let figures = ProcessFigures::parse(stat, status, limits, "cpu 1 2\nbtime 1700000000\n");
        let expected = ProcessFigures {
            cpu_seconds: Some(3.0),
            resident_bytes: Some(1_048_576.0),
            virtual_bytes: Some(2_097_152.0),
            open_files: None,
            max_files: Some(1024.0),
            threads: Some(9.0),
            started: Some(1_700_000_060.0),
        };
        assert_eq!(figures, expected);
        assert_eq!(ProcessFigures::parse("", "x", "Max open files unlimited", ""), ProcessFigures::default());
    }

    #[test]
    fn telemetry_this_process_is_seen() {
        let figures = ProcessFigures::read();
        assert!(figures.resident_bytes.is_some_and(|bytes| bytes > 1e6), "{figures:?}");
        assert!(figures.started.is_some_and(|started| started > 1.7e9), "{figures:?}");
    }
}
