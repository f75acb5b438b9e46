//! Reads a situation, and tells all its faults at once.

mod part;

use std::time::Duration;

use pagurus_domain::document::{self, DocumentLimits, DocumentNode, Fault};
use pagurus_domain::flow::DistributionMode;
use pagurus_domain::order::Priority;

use self::part::{LabReader, PlanPart};
use super::plan::{
    LabBound, LabCapacity, LabChange, LabFlow, LabPlan, LabSystem, LimitRules, Measure, Outage, RateSwing,
};

/// The longest simulation.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// Flows at most.
const MAX_FLOWS: u32 = 20_000;

/// Reads a situation from YAML.
///
/// # Errors
/// Everything that is wrong with it, with its place.
pub fn read(text: &str) -> Result<LabPlan, Vec<Fault>> {
    let root = document::parse(text, &DocumentLimits::default())?;
    let mut reader = LabReader::default();
    let plan = reader.plan(&root);
    if reader.faults.is_empty() { Ok(plan) } else { Err(reader.faults) }
}

impl LabReader {
    fn plan(&mut self, root: &DocumentNode) -> LabPlan {
        const KEYS: [&str; 14] = [
            "title",
            "about",
            "shows",
            "behind",
            "seed",
            "duration",
            "distribution",
            "workers",
            "news",
            "timeout",
            "retry",
            "systems",
            "flows",
            "bounds",
        ];
        let part = self.part(root, String::new(), &KEYS);
        let empty = DocumentNode::new(document::Value::Map(Vec::new()), root.at);
        let distribution = self.inner(
            &part,
            "distribution",
            &empty,
            &["mode", "parallel", "sequential", "flow_share", "initial_limit", "overload"],
        );
        let workers = self.inner(&part, "workers", &empty, &["nodes", "concurrency"]);
        let news = self.inner(&part, "news", &empty, &["delay", "lost_samples", "lost", "take_overs"]);
        let duration = self.duration(&part, "duration").unwrap_or(Duration::from_secs(60));
        if duration > LONGEST || duration.is_zero() {
            self.fault(&part, "duration", "must be longer than zero, and a week at most");
        }
        let mut plan = LabPlan {
            title: self.text(&part, "title").unwrap_or_default(),
            about: self.text(&part, "about").unwrap_or_default(),
            shows: self.text(&part, "shows").unwrap_or_default(),
            behind: self.text(&part, "behind"),
            seed: u64::from(self.count(&part, "seed").unwrap_or(1)),
            duration,
            rules: LimitRules {
                mode: self
                    .word::<DistributionMode>(&distribution, "mode")
                    .unwrap_or(DistributionMode::LimitedFlows),
                parallel: self.count(&distribution, "parallel").unwrap_or(1000),
                sequential: self.count(&distribution, "sequential").unwrap_or(1000),
                flow_share: self.count(&distribution, "flow_share").unwrap_or(80).clamp(1, 100),
                initial_limit: self.count(&distribution, "initial_limit").unwrap_or(5).max(1),
                overload: self.count(&distribution, "overload").unwrap_or(90).clamp(1, 100),
            },
            nodes: self.count(&workers, "nodes").unwrap_or(2).clamp(1, 1000),
            concurrency: self.count(&workers, "concurrency").unwrap_or(1000),
            news_delay: self.duration(&news, "delay").unwrap_or(Duration::from_millis(10)),
            lost_samples: self.share(&news, "lost_samples").unwrap_or(0.0),
            lost_news: self.share(&news, "lost").unwrap_or(0.0),
            take_overs: Vec::new(),
            timeout: self.duration(&part, "timeout"),
            retry: self.duration(&part, "retry").unwrap_or(Duration::from_secs(1)),
            systems: Vec::new(),
            flows: Vec::new(),
            bounds: Vec::new(),
            most_happenings: u64::MAX,
        };
        for (_, node) in self.items(&news, "take_overs") {
            plan.take_overs.extend(self.time_of(node, "/news/take_overs"));
        }
        self.contents(&part, &mut plan);
        plan
    }

    fn contents(&mut self, part: &PlanPart, plan: &mut LabPlan) {
        for (name, entry) in self.entries(part, "systems") {
            let system = self.system(name, &entry);
            plan.systems.push(system);
        }
        for (name, entry) in self.entries(part, "flows") {
            let flow = self.flow(name, &entry, plan);
            plan.flows.push(flow);
        }
        if plan.flows.is_empty() {
            self.fault(part, "flows", "there must be at least one flow");
        }
        if plan.flows.iter().map(|flow| flow.count).fold(0, u32::saturating_add) > MAX_FLOWS {
            self.fault(part, "flows", &format!("there may be {MAX_FLOWS} flows at most"));
        }
        for (pointer, node) in self.items(part, "bounds") {
            let bound = self.bound(&PlanPart { node, pointer }, plan);
            plan.bounds.extend(bound);
        }
    }

    fn system(&mut self, name: String, part: &PlanPart) -> LabSystem {
        let keys = [
            "named",
            "asynchronous",
            "servers",
            "queue",
            "takes",
            "variation",
            "form",
            "technical_failures",
            "outage",
            "retry_after",
            "changes",
        ];
        self.known(part, &keys);
        let usual =
            LabCapacity { servers: 10, queue: 100, takes: Duration::from_millis(100), outage: Outage::None };
        let mut capacity = self.capacity(part, usual);
        let first = capacity;
        let mut changes: Vec<LabChange> = Vec::new();
        for (pointer, node) in self.items(part, "changes") {
            let change = PlanPart { node, pointer };
            self.known(&change, &["at", "until", "servers", "queue", "takes", "outage", "retry_after"]);
            let at = self.duration(&change, "at").unwrap_or_default();
            let until = self.duration(&change, "until").unwrap_or(at);
            if until < at || changes.last().is_some_and(|last| at < last.until) {
                self.fault(&change, "at", "changes must follow each other in time");
            }
            capacity = self.capacity(&change, capacity);
            changes.push(LabChange { at, until, capacity });
        }
        LabSystem {
            name,
            is_named: self.flag(part, "named").unwrap_or(true),
            is_asynchronous: self.flag(part, "asynchronous").unwrap_or(false),
            capacity: first,
            variation: self.number(part, "variation").unwrap_or(0.2).clamp(0.0, 3.0),
            form: self.word(part, "form").unwrap_or_default(),
            technical_failures: self.share(part, "technical_failures").unwrap_or(0.0),
            changes,
        }
    }

    fn capacity(&mut self, part: &PlanPart, usual: LabCapacity) -> LabCapacity {
        let outage = match self.text(part, "outage").as_deref() {
            None => usual.outage,
            Some("none") => Outage::None,
            Some("refuses") => Outage::Refuses,
            Some("hangs") => Outage::Hangs,
            Some(_) => {
                self.fault(part, "outage", "must be `none`, `refuses` or `hangs`");
                Outage::None
            }
        };
        let takes = self.duration(part, "takes").unwrap_or(usual.takes);
        if takes < Duration::from_millis(1) {
            self.fault(part, "takes", "must be 1ms at least");
        }
        LabCapacity {
            servers: self.count(part, "servers").unwrap_or(usual.servers).max(1),
            queue: self.count(part, "queue").unwrap_or(usual.queue),
            takes,
            outage: self.duration(part, "retry_after").map_or(outage, Outage::RetryAfter),
        }
    }

    fn flow(&mut self, name: String, part: &PlanPart, plan: &LabPlan) -> LabFlow {
        self.known(
            part,
            &[
                "count",
                "calls",
                "then_calls",
                "swings",
                "rate",
                "backlog",
                "from",
                "until",
                "own",
                "long_share",
                "long_own",
                "priority",
                "queues",
                "business_failures",
                "weight",
            ],
        );
        let [calls, then_calls] = ["calls", "then_calls"].map(|key| self.called(part, key, plan));
        let swings = self.swings(part);
        let rate = self.number(part, "rate").unwrap_or(0.0);
        if !(0.0..=1e6).contains(&rate) {
            self.fault(part, "rate", "must be a number of orders in a second, a million at most");
        }
        LabFlow {
            name,
            count: self.count(part, "count").unwrap_or(1).max(1),
            calls,
            then_calls: then_calls.filter(|_| calls.is_some()),
            rate,
            swings,
            backlog: self.count(part, "backlog").unwrap_or(0),
            from: self.duration(part, "from").unwrap_or_default(),
            until: self.duration(part, "until").unwrap_or(plan.duration),
            own: self.duration(part, "own").unwrap_or_default(),
            long_share: self.share(part, "long_share").unwrap_or(0.0),
            long_own: self.duration(part, "long_own").unwrap_or_default(),
            priority: self.word::<Priority>(part, "priority").unwrap_or(Priority::Normal),
            queues: self.count(part, "queues").unwrap_or(0),
            business_failures: self.share(part, "business_failures").unwrap_or(0.0),
            weight: self.count(part, "weight").unwrap_or(1).max(1),
            call_part: 1.0,
            max_limit: None,
            arrivals: Vec::new(),
        }
    }

    fn called(&mut self, part: &PlanPart, key: &str, plan: &LabPlan) -> Option<usize> {
        let wanted = self.text(part, key)?;
        let found = plan.systems.iter().position(|system| system.name == wanted);
        if found.is_none() {
            self.fault(part, key, &format!("there is no system `{wanted}`"));
        }
        found
    }

    fn swings(&mut self, part: &PlanPart) -> Vec<RateSwing> {
        let mut swings = Vec::new();
        for (pointer, node) in self.items(part, "swings") {
            let swing = PlanPart { node, pointer };
            self.known(&swing, &["at", "factor"]);
            let at = self.duration(&swing, "at").unwrap_or_default();
            let factor = self.number(&swing, "factor").unwrap_or(1.0).clamp(0.001, 1000.0);
            swings.push(RateSwing { at, factor });
        }
        swings
    }

    fn bound(&mut self, part: &PlanPart, plan: &LabPlan) -> Option<LabBound> {
        self.known(part, &["measure", "of", "from", "until", "bound", "missed"]);
        let of = self.word::<Measure>(part, "measure");
        let name = self.text(part, "of").unwrap_or_default();
        let is_known = plan.systems.iter().any(|system| system.name == name)
            || plan.flows.iter().any(|flow| flow.name.starts_with(&name));
        if !is_known {
            self.fault(part, "of", &format!("there is no system or flow `{name}`"));
        }
        let bound = self.number(part, "bound");
        if of.is_none() || bound.is_none() {
            self.fault(part, "bound", "a bound needs `measure` and `bound`");
        }
        Some(LabBound {
            of: of?,
            name,
            from: self.duration(part, "from").unwrap_or_default(),
            until: self.duration(part, "until").unwrap_or(plan.duration),
            bound: bound?,
            missed: self.text(part, "missed"),
        })
    }
}
