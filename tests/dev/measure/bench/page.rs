//! The page that is committed, `docs/performance.md`, and its chart: a run's table, the machine, and the words around them.
//! Keeps what an earlier run measured and this one did not: parts with a date of their own, and the table of works.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use pagurus_harness::{postgres, rabbit};

use super::chart;
use super::report::Report;

/// Head of the page.
const HEADING: &str = "# Performance\n\n\
    <!-- Written by `./dev bench --record`: run it again instead of editing. -->\n\n";
/// The line of the page that shows the chart.
const PICTURE: &str = "![Processor time of an order, by process](performance.svg)\n\n";
/// Heading of what follows the figures.
const MEANING: &str = "## What they mean\n";

/// Writes the page and the chart. `words` are those of the command.
///
/// # Errors
/// A file can't be written.
pub fn record(report: &Report, root: &Path, words: &str, in_flight: usize) -> Result<()> {
    let path = root.join("docs/performance.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let sections = report.sections();
    let works = match report.works() {
        Some(table) => {
            let chart = chart::draw(&report.rows());
            if let Some(chart) = &chart {
                fs::write(root.join("docs/performance.svg"), chart)?;
            }
            let picture = if chart.is_some() { PICTURE } else { "" };
            format!(
                "{HEADING}Measured on {date} by `./dev bench {words}`.\n\n{machine}\n## Figures\n\n{picture}{table}",
                date = jiff::Zoned::now().strftime("%Y-%m-%d"),
                machine = machine(),
            )
        }
        None => format!("{}\n", works_of(&before).trim_end()),
    };
    let earlier = kept(&before, &sections);
    fs::write(path, format!("{works}{sections}{earlier}\n{MEANING}\n{}", meaning(in_flight)))?;
    Ok(())
}

/// The page before its first part with a date of its own.
fn works_of(page: &str) -> &str {
    let figures = page.split(MEANING).next().unwrap_or_default();
    figures.find("\n### ").map_or(figures, |end| &figures[..end])
}

/// The parts of the page before, each with a date of its own, that these figures have no part of the same name for.
fn kept(page: &str, figures: &str) -> String {
    let before = page.split(MEANING).next().unwrap_or_default();
    let parts = before.split("\n### ").skip(1);
    let missing = parts.filter(|part| {
        let name = part.lines().next().unwrap_or_default();
        !figures.lines().any(|line| line.strip_prefix("### ") == Some(name))
    });
    missing.map(|part| format!("\n### {}\n", part.trim_end())).collect()
}

/// Lines on the machine and its programs that the figures were measured with.
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
         under full load they are mostly the wait in the queue.\n\n\
         - **limit**: the same order written by hand in one process, with the least row writes and messages for the same \
         durability (`tests/dev/measure/bench/limit.rs` says what it leaves out). Its CPU stands under `worker`. \
         **limit with a claim**: the same with a committed row for each order that says whose it is, as whatever is to be taken over \
         after a crash needs.\n\
         - **one process**: all services in one process (`pagurus serve`); its CPU stands under `worker`, too.\n\
         - **one-action**: AMQP order, one HTTP call, notification. **straight**: the same, past all exchanges: orders sent to the \
         queue of orders itself, notifications to a queue, as the limit has it. **grouped**: straight, with many orders in one message and their ends in \
         groups. **sequential**: one-action over 1 000 queues. \
         **with history**: the same with five million ended orders in the tables.\n\
         - **three-stage**: a call, a callback that is sent at once, a second call, notification.\n\
         - **idle**: one order at a time; its CPU includes what the services use while they wait.\n\
         - **intake**: durable acceptance alone, workers stopped.\n\
         - **queues**: one-action over that many queues. **pinned**: one-action while another session of the database holds a \
         snapshot, so that nothing that was deleted can be cleared away.\n\
         - **bodies**: one-action with longer parameters, which do not compress; fewer of them are in flight (50 MB). **workers**: \
         one-action with that many workers on the same cores, to show what sharing the work costs.\n\
         - **take-over**: a new dispatcher that finds a million ready orders.\n\
         - **sleepers**: a million sleeping orders, a hundred thousand of them due within one second.\n\
         - **operation**: a bulk operation that restarts a million failed orders under a mended version of their scenario, beside \
         200 other orders a second. **search**: a page of each kind of search among ten million orders; its times are those of \
         a request to the API after the first of its kind.\n\
         - **At steady rates**: one-action as orders come by chance at a rate (a Poisson process), however long those before take; \
         a time counts from when its order was due. **At rest**: nobody sends anything.\n\
         - **memory**: what each service held at most while the load lasted, and when it was over; \
         [which setting bounds what](guides/memory.md).\n\
         - **The control centre**: each page over ten million ended orders, a hundred thousand failed ones, as many queues with two orders \
         each, and an order of 50 000 events. Requests, their length and the elements of the document are those of a browser; times are \
         those of each of these requests, sent a hundred times one after the other, slow ones at least twenty times.\n\n\
         A small shared machine is noisy: differences under 15 % between runs are no evidence. Compare ratios within one \
         run, and CPU an order, which is steadier than rates.\n\n\
         To repeat: the command above, on a machine that does nothing else: with others at work nothing is recorded. `--rounds N` \
         measures the works in turn and compares them within each round; `./dev bench all` measures the long ones, too. `./dev bench \
         --profile WORK` shows where the time of one work goes.\n\n\
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

    #[test]
    fn parts_that_were_not_measured_again_are_kept() {
        let page = format!(
            "# P\n\ntable\n\n### Memory\n\nold\n\n### Wave\n\nof one day\n\n{MEANING}\n### No part\n"
        );
        assert_eq!(kept(&page, "table\n\n### Memory\n\nnew\n"), "\n### Wave\n\nof one day\n");
        assert_eq!(kept(&page, "table\n"), "\n### Memory\n\nold\n\n### Wave\n\nof one day\n");
        assert_eq!(kept("", "table\n"), "");
        assert_eq!(works_of(&page), "# P\n\ntable\n");
        assert_eq!(works_of("# P\n\ntable\n\n## What they mean\n"), "# P\n\ntable\n\n");
    }
}
