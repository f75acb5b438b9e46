//! Counters of the nodes, summed over all of their lives: they are read every two seconds, and a
//! process that was killed keeps what it had counted by then. Never counts what nobody saw: the sums are at least so.

use std::collections::HashMap;
use std::sync::Mutex;

use pagurus_harness::client::lock;
use pagurus_harness::nodes::Node;

/// The counters of all lives of all nodes: by process, then by series.
#[derive(Debug, Default)]
pub struct Counts(Mutex<HashMap<u32, HashMap<String, f64>>>);

impl Counts {
    /// Reads the counters of a node, if it answers.
    pub async fn read(&self, http: &reqwest::Client, node: &Node) {
        let asked = http.get(format!("{}/metrics", node.url())).timeout(std::time::Duration::from_secs(1));
        let Ok(answer) = asked.send().await else { return };
        let Ok(page) = answer.text().await else { return };
        lock(&self.0).insert(node.identity.pid, counters(&page));
    }

    /// The sum of all series that begin like this, by the rest of their names; those at zero are left out.
    pub fn by_label(&self, name: &str, label: &str) -> Vec<(String, u64)> {
        let mut sums: HashMap<String, f64> = HashMap::new();
        let wanted = format!("{label}=\"");
        for (series, value) in lock(&self.0).values().flatten() {
            let Some(labels) = series.strip_prefix(name).and_then(|rest| rest.strip_prefix('{')) else {
                continue;
            };
            let found = labels.split_once(&wanted).and_then(|(_, rest)| rest.split_once('"'));
            if let Some((value_of, _)) = found {
                *sums.entry(value_of.to_owned()).or_default() += value;
            }
        }
        let mut sums: Vec<(String, u64)> = sums.into_iter().map(|(name, sum)| (name, sum as u64)).collect();
        sums.retain(|(_, sum)| *sum > 0);
        sums.sort();
        sums
    }

    /// The sum of all series of this name.
    pub fn sum(&self, name: &str) -> u64 {
        let counts = lock(&self.0);
        let of_name = counts.values().flatten().filter(|(series, _)| {
            series.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
        });
        of_name.map(|(_, value)| *value).sum::<f64>() as u64
    }
}

/// The counters of a page of metrics.
fn counters(page: &str) -> HashMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    let of_counters = pairs.filter(|(series, _)| series.split('{').next().unwrap_or("").ends_with("_total"));
    of_counters.filter_map(|(series, value)| Some((series.to_owned(), value.parse().ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_over_lives_and_by_label() {
        let counts = Counts::default();
        let page =
            "# HELP x\npagurus_a_total{kind=\"finish\"} 2\npagurus_a_total{kind=\"wake\"} 0\npagurus_b 7\n";
        lock(&counts.0).insert(1, counters(page));
        lock(&counts.0).insert(2, counters(page));
        assert_eq!(counts.by_label("pagurus_a_total", "kind"), [("finish".to_owned(), 4)]);
        assert_eq!((counts.sum("pagurus_a_total"), counts.sum("pagurus_b")), (4, 0));
    }
}
