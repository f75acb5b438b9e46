//! The one table of a run, for the terminal and for `docs/performance.md`.
//! Never rounds a figure into a better one, and never leaves the limit of the same run out.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use pagurus_harness::nodes::Role;
use pagurus_harness::{postgres, rabbit};

use super::chart;
use super::cpu::Part;
use super::memory::Peak;
use super::works::{Memory, Row};

const HEAD: [&str; 15] = [
    "work",
    "orders",
    "orders/s",
    "of the limit",
    "CPU ms",
    "intake",
    "dispatcher",
    "activator",
    "worker",
    "notifier",
    "Postgres",
    "RabbitMQ",
    "load",
    "p50 ms",
    "p99 ms",
];

/// The line of the page that shows the chart.
const PICTURE: &str = "![Processor time of an order, by process](performance.svg)\n\n";
/// Figures are not published where other programs used more of the machine.
const MOST_OTHERS: f64 = 0.05;

/// All that was measured.
#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
    peaks: Vec<Peak>,
}

impl Report {
    /// Takes one more line.
    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Takes what the services took under heavy loads.
    pub fn add_peaks(&mut self, peaks: Vec<Peak>) {
        self.peaks.extend(peaks);
    }

    /// The work that was disturbed most, and by which share of the machine, where that is too much to publish.
    pub fn disturbed(&self) -> Option<(&'static str, f64)> {
        let shares = self.rows.iter().map(|row| (row.work, row.cpu.others));
        shares.max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(_, share)| *share > MOST_OTHERS)
    }

    /// The tables with their notes, in Markdown.
    pub fn text(&self) -> String {
        let mut text = if self.rows.is_empty() { String::new() } else { self.works() };
        if !self.peaks.is_empty() {
            text.push_str(&self.memory());
        }
        text
    }

    /// Resident size of each service under the heaviest legal loads.
    fn memory(&self) -> String {
        let services = Role::ALL.map(|role| role.to_string()).join(" | ");
        let rules = "--:|".repeat(Role::ALL.len());
        let mut text = format!("\n### Memory\n\n| resident MB, most (after) | {services} |\n|---|{rules}\n");
        for peak in &self.peaks {
            let of =
                |memory: &Memory, role| memory.get(&role).map_or_else(String::new, |mb| format!("{mb:.0}"));
            let cells = Role::ALL
                .map(|role| format!("{} ({})", of(&peak.most, role), of(&peak.after, role)))
                .join(" | ");
            let _ = writeln!(text, "| {} | {cells} |", peak.load);
        }
        text
    }

    fn works(&self) -> String {
        let mut lines = vec![HEAD.map(str::to_owned)];
        lines.extend(self.rows.iter().map(|row| self.cells(row)));
        let mut text = table(&lines);
        let _ = writeln!(
            text,
            "\nCPU is in milliseconds an order: of all processes, then of each. {}",
            self.ratios()
        );
        let _ = writeln!(text, "\nOf the machine, idle / used by others: {}", self.machine_shares());
        for row in &self.rows {
            if let Some((idle, loaded)) = &row.memory {
                let _ =
                    writeln!(text, "\n{}: resident MB before → after: {}", row.work, memory(idle, loaded));
            }
            for note in &row.notes {
                let _ = writeln!(text, "\n{}: {note}", row.work);
            }
        }
        text
    }

    fn rate(&self, work: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.work == work)?.rate
    }

    /// Processor time of an order, of all processes.
    fn cpu(&self, work: &str) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.work == work)?;
        Some(row.cpu.used.values().sum::<f64>() / row.orders.max(1) as f64)
    }

    fn ratios(&self) -> String {
        let told = |work: &&str| {
            let ratio = self.rate(work)? / self.rate("one-action")?;
            Some(format!("{work} is {ratio:.2} of one-action. "))
        };
        let works = [
            "straight",
            "one process",
            "sequential",
            "1 000 queues",
            "10 000 queues",
            "100 000 queues",
            "pinned",
            "with history",
        ];
        let times = |work: &&str| {
            let times = self.cpu(work)? / self.cpu("limit")?;
            Some(format!("{work} takes {times:.1} × the CPU of the limit. "))
        };
        let apart = works.iter().filter_map(told);
        apart.chain(["one-action", "straight"].iter().filter_map(times)).collect()
    }

    fn machine_shares(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let told =
            |row: &Row| format!("{} {} / {}", row.work, percent(row.cpu.idle), percent(row.cpu.others));
        self.rows.iter().map(told).collect::<Vec<_>>().join(", ")
    }

    fn cells(&self, row: &Row) -> [String; HEAD.len()] {
        let per_order = |seconds: f64| seconds * 1000.0 / row.orders.max(1) as f64;
        let of = |part: Part| {
            row.cpu.used.get(&part).map_or_else(String::new, |&seconds| format!("{:.3}", per_order(seconds)))
        };
        // One process stands for all five there.
        let worker = match row.cpu.used.get(&Part::OneProcess) {
            Some(_) => of(Part::OneProcess),
            None => of(Part::Service(Role::Worker)),
        };
        // The others do another amount of work, or nothing but wait.
        let comparable = matches!(
            row.work,
            "one-action" | "straight" | "one process" | "sequential" | "with history" | "pinned" | "limit"
        ) || row.work.ends_with("queues");
        let share = self.rate("limit").zip(row.rate).filter(|_| comparable);
        let time = |percentile| {
            row.latencies.percentile(percentile).map_or_else(String::new, |time| format!("{time:.1}"))
        };
        [
            row.work.to_owned(),
            row.orders.to_string(),
            row.rate.map_or_else(String::new, |rate| format!("{rate:.0}")),
            share.map_or_else(String::new, |(limit, rate)| format!("{:.2}", rate / limit)),
            format!("{:.3}", per_order(row.cpu.used.values().sum())),
            of(Part::Service(Role::Intake)),
            of(Part::Service(Role::Dispatcher)),
            of(Part::Service(Role::Activator)),
            worker,
            of(Part::Service(Role::Notifier)),
            of(Part::Postgres),
            of(Part::Rabbit),
            of(Part::Load),
            time(0.5),
            time(0.99),
        ]
    }

    /// Writes the page that is committed.
    pub fn record(&self, root: &Path, words: &str, in_flight: usize) -> Result<()> {
        let chart = chart::draw(&self.rows);
        if let Some(chart) = &chart {
            fs::write(root.join("docs/performance.svg"), chart)?;
        }
        let page = format!(
            "# Performance\n\n\
             <!-- Written by `./dev bench --record`: run it again instead of editing. -->\n\n\
             Measured on {date} by `./dev bench {words}`.\n\n\
             {machine}\n\
             ## Figures\n\n{picture}{table}\n\
             ## What they mean\n\n{meaning}",
            date = jiff::Zoned::now().strftime("%Y-%m-%d"),
            machine = machine(),
            picture = if chart.is_some() { PICTURE } else { "" },
            table = self.text(),
            meaning = meaning(in_flight),
        );
        fs::write(root.join("docs/performance.md"), page)?;
        Ok(())
    }
}

fn table(lines: &[[String; HEAD.len()]]) -> String {
    let width =
        |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; HEAD.len()] = std::array::from_fn(width);
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            let _ = if column == 0 {
                write!(text, "| {cell:<width$} ")
            } else {
                write!(text, "| {cell:>width$} ")
            };
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, &width) in widths.iter().enumerate() {
                let rule = "-".repeat(width);
                text.push_str(&if column == 0 { format!("|-{rule}-") } else { format!("|-{rule}:") });
            }
            text.push_str("|\n");
        }
    }
    text
}

fn memory(idle: &Memory, loaded: &Memory) -> String {
    let services = idle.iter().map(|(role, before)| {
        let after = loaded.get(role).map_or_else(String::new, |after| format!("{after:.0}"));
        format!("{role} {before:.0} → {after}")
    });
    services.collect::<Vec<_>>().join(", ")
}

/// What the figures were measured on.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
            .unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kilobytes = field(&read("/proc/meminfo"), "MemTotal");
    let kilobytes =
        kilobytes.split(' ').next().and_then(|number| number.parse::<f64>().ok()).unwrap_or_default();
    let says = |program: &str, word: &str| {
        let output = Command::new(program).arg(word).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
    };
    let postgres =
        postgres::binaries().map(|folder| says(&folder.join("postgres").to_string_lossy(), "--version"));
    // `rabbitmqctl version` wants a node or root; the program lies in `rabbitmq_server-VERSION/sbin`.
    let program = rabbit::binaries().and_then(|folder| fs::canonicalize(folder.join("rabbitmq-server")).ok());
    let rabbit = program.iter().flat_map(|path| path.iter()).find_map(|part| {
        let part = part.to_str()?;
        part.strip_prefix("rabbitmq_server-").map(str::to_owned)
    });
    format!(
        "- Machine: {cores} cores ({}), {:.0} GiB of memory, Linux {}\n\
         - {}, RabbitMQ {}, {}; release build\n\
         - Everything on this one machine: both servers, the five services (a process each), the generator of the load \
         and the called system (one process, `load`)\n",
        field(&read("/proc/cpuinfo"), "model name"),
        kilobytes / 1024.0 / 1024.0,
        read("/proc/sys/kernel/osrelease").trim(),
        postgres.unwrap_or_default(),
        rabbit.unwrap_or_else(|| "of unknown version".to_owned()),
        says("rustc", "--version"),
    )
}

fn meaning(in_flight: usize) -> String {
    format!(
        "Everything is durable: `fsync` and `synchronous_commit` are on, orders wait in quorum queues, messages are \
         persistent and confirmed. An order has 300 bytes. The generator publishes over AMQP with confirms and keeps at \
         most {in_flight} orders in flight; a work is measured over a window after thousands of orders of warm-up, on \
         fresh services and an empty database. Times are from publishing an order to the arrival of its notification; \
         under full load they are the length of the line, not of the work.\n\n\
         - **limit**: the same order written by hand in one process, with the least row writes and messages for the same \
         durability (`tests/harness/dev/bench/limit.rs` says what it leaves out). Its CPU stands under `worker`.\n\
         - **one process**: all services in one process (`pagurus serve`); its CPU stands under `worker`, too.\n\
         - **one-action**: AMQP order, one HTTP call, notification. **straight**: the same, past all exchanges: orders sent to the \
         queue of orders itself, notifications to a queue, as the limit has it. **sequential**: one-action over 1 000 queues. \
         **with history**: the same with five million ended orders in the tables.\n\
         - **three-stage**: a call, a callback that is sent at once, a second call, notification.\n\
         - **idle**: one order at a time; its CPU includes what the services use while they wait.\n\
         - **intake**: durable acceptance alone, workers stopped.\n\
         - **queues**: one-action over that many queues. **pinned**: one-action while another session of the database holds a \
         snapshot, so that nothing that was deleted can be cleared away.\n\
         - **take-over**: a new dispatcher that finds a million ready orders.\n\
         - **sleepers**: a million sleeping orders, a hundred thousand of them due within one second.\n\
         - **operation**: a bulk operation that restarts a million failed orders under a mended version of their scenario, beside \
         200 other orders a second. **search**: a page of each kind of search among ten million orders; its times are those of \
         a request to the API after the first of its kind.\n\
         - **memory**: what each service held at most while the load lasted, and when it was over; \
         [which setting bounds what](guides/memory.md).\n\n\
         A small shared machine is noisy: differences under 15 % between runs are no evidence. Compare ratios within one \
         run, and CPU an order, which is steadier than rates.\n\n\
         To repeat: `./dev bench all --record`, on a machine that does nothing else: with others at work nothing is \
         recorded. `./dev bench --profile WORK` shows where the time of one work goes.\n\n\
         {OTHERS}"
    )
}

/// Figures that other engines publish.
const OTHERS: &str = "\
## What other engines publish

Their machines, loads and guarantees differ from these and from each other: the table says what to expect of each kind of engine, and is
no race. An order here begins and ends with a durable message of RabbitMQ, which most of them do not have.

| engine | figure | on | source |
|---|---|---|---|
| Pagurus | the table above: with both servers, the load and the called system | 2 cores in all | this page |
| DBOS | 43 000 workflows a second | PostgreSQL with 96 vCPU, programs apart | dbos.dev, benchmark of 2026 |
| DBOS | 4 vCPU of PostgreSQL for each 1 000 actions a second, as a rule | | its FAQ |
| Hatchet v1 | 2 000 tasks a second at 83 % of the database, about 220 ms each; 100 a second at 15 %, about 40 ms | PostgreSQL with 8 vCPU | its documentation, benchmarking |
| River | 46 000 jobs a second that do nothing | 8 cores | riverqueue.com, benchmarks |
| Graphile Worker | 183 000 jobs a second in batches, that do nothing | four processes, a large database | worker.graphile.org, performance |
| Oban | 16 700 jobs a second in one queue | one machine, 2022 | oban.pro |
| Restate | about 50 ms for three durable steps | disks over a network, 2024 | its authors, in public |
| Temporal | 50 to 200 starts a second on PostgreSQL, as a rule of its users | | community forum |
| Zeebe | about 100 tasks a second for each root instance a second, of 11 KB | Kubernetes | Camunda's sizing guide |
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::cpu::{Seconds, Usage};
    use crate::bench::load::Latencies;

    fn row(work: &'static str, rate: f64, used: Seconds) -> Row {
        let cpu = Usage { used, idle: 0.25, others: 0.0 };
        let latencies = Latencies::of(vec![2000]);
        Row {
            work,
            orders: 1000,
            rate: Some(rate),
            cpu,
            latencies,
            memory: None,
            notes: vec!["noted".to_owned()],
        }
    }

    #[test]
    fn the_table_sets_rates_against_the_limit_of_the_same_run() {
        let mut report = Report::default();
        report.add(row("limit", 10_000.0, Seconds::from([(Part::OneProcess, 0.05), (Part::Postgres, 0.1)])));
        report.add(row("one-action", 6_000.0, Seconds::from([(Part::Service(Role::Worker), 0.2)])));
        let text = report.text();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
        assert_eq!(lines[2][1..6], ["limit", "1000", "10000", "1.00", "0.150"]);
        assert_eq!(lines[3][1..6], ["one-action", "1000", "6000", "0.60", "0.200"]);
        assert_eq!((lines[2][9], lines[3][9], lines[3][14]), ("0.050", "0.200", "2.0"));
        assert_eq!(report.disturbed(), None);
        report.add(Row {
            cpu: Usage { used: Seconds::new(), idle: 0.0, others: 0.06 },
            ..row("idle", 1.0, Seconds::new())
        });
        assert_eq!(report.disturbed(), Some(("idle", 0.06)));
        assert!(text.contains("one-action: noted") && text.contains("one-action 25 % / 0 %"));
    }
}
