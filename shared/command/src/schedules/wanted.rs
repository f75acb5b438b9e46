//! Schedules that people ask for: read, and their orders held against their scenarios.

use std::sync::Arc;

use pagurus_domain::access::scope::AccessScope;
use pagurus_domain::document::Fault;
use pagurus_domain::json::json_text;
use pagurus_domain::order::principal::Principal;
use pagurus_domain::schedule::{OrderTemplate, Schedule, ScheduleRule, check_name, order_id, with_hidden};
use pagurus_runtime::scenarios::Known;
use pagurus_scenario::{Concealed, Mask};
use pagurus_store::upkeep::schedules::{ScheduleTexts, StoredSchedule};
use pagurus_store::{Connection, Error, Tx};
use pagurus_wire::problem::{Problem, Type};
use pagurus_wire::schedules::ScheduleBody;
use serde_json::Value;

use super::{MAX_TEXT, below_order, parsed, problem_below_order};
use crate::Commands;
use crate::texts::checked;

/// Largest order of a schedule, in bytes of its JSON.
const MAX_TEMPLATE: usize = 256 * 1024;

/// A schedule that was asked for, well-formed.
pub(super) struct WantedSchedule {
    pub rule: ScheduleRule,
    pub schedule: Schedule,
    pub template: OrderTemplate,
    pub note: String,
    pub paused: Option<bool>,
    pub reason: Option<String>,
}

impl Commands {
    /// Reads what is asked for, and holds the order of its next time against its scenario.
    pub(super) async fn wanted(
        &self,
        tx: &Tx<'_>,
        name: &str,
        body: ScheduleBody,
        stored: Option<&StoredSchedule>,
        scope: &AccessScope,
    ) -> Result<Result<WantedSchedule, Problem>, Error> {
        let mut faults: Vec<Fault> = check_name(name).err().into_iter().collect();
        if body.name.as_deref().is_some_and(|named| named != name) {
            faults.push(Fault::placed(
                None,
                "/name",
                "names another schedule than the path does: leave it out",
            ));
        }
        for (field, text) in [("note", &body.note), ("reason", &body.reason)] {
            let text = text.as_deref().filter(|text| !text.is_empty());
            if let Some(Err(problem)) = text.map(|text| checked(field, text, MAX_TEXT)) {
                return Ok(Err(problem));
            }
        }
        let rule = body.rule();
        let schedule = Schedule::read(&rule).map_err(|mut found| faults.append(&mut found)).ok();
        let mut order = Value::Object(body.order);
        if let Some(stored) = stored {
            let kept = parsed(&stored.template);
            let shown = self.shown_order(tx, &kept).await?;
            faults.extend(with_hidden(&mut order, &shown, &kept).err().map(below_order));
        }
        if json_text(&order).len() > MAX_TEMPLATE {
            faults.push(Fault::placed(None, "/order", format!("is longer than {MAX_TEMPLATE} bytes")));
        }
        let template = OrderTemplate::read(order, name);
        let template = template.map_err(|found| faults.extend(found.into_iter().map(below_order))).ok();
        let (Some(schedule), Some(template), true) = (schedule, template, faults.is_empty()) else {
            return Ok(Err(Problem::of_faults(Type::Invalid, &faults)));
        };
        let now = self.now(tx, stored).await?;
        let sample = schedule.plan.after(now).unwrap_or(now);
        let request = template.request(name, order_id(name, sample), sample, schedule.plan.zone());
        let request = match request {
            Ok(request) => Arc::new(request),
            Err(found) => {
                let found: Vec<Fault> = found.into_iter().map(below_order).collect();
                return Ok(Err(Problem::of_faults(Type::Invalid, &found)));
            }
        };
        if let Err(problem) = self.admitted(tx, &request, now, scope).await? {
            return Ok(Err(problem_below_order(problem)));
        }
        let (note, paused) = (body.note.unwrap_or_default(), body.paused);
        Ok(Ok(WantedSchedule { rule, schedule, template, note, paused, reason: body.reason }))
    }

    /// The order of a schedule as people see it; its parameters as a whole are hidden where nobody knows which are.
    pub(super) async fn shown_order(&self, client: &impl Connection, order: &Value) -> Result<Value, Error> {
        let name = order["scenario"].as_str().unwrap_or_default();
        let scenario = self.catalogue.find(client, name, None).await?.and_then(Known::readable);
        let Some(scenario) = scenario else {
            let mut shown = Mask::default().registration(order, &Concealed::default());
            shown["params"] = pagurus_domain::MASKED.into();
            return Ok(shown);
        };
        Ok(scenario.mask.registration(order, &self.secrets.named_by(&scenario)))
    }
}

/// Texts of a schedule that was asked for, as they are stored.
pub(super) struct WantedTexts<'a> {
    pub rule: String,
    pub template: String,
    pub note: &'a str,
    by: String,
}

impl<'a> WantedTexts<'a> {
    pub fn of(wanted: &'a WantedSchedule, by: &Principal) -> Self {
        Self {
            rule: json_text(&wanted.rule),
            template: json_text(&wanted.template.to_value()),
            note: &wanted.note,
            by: by.to_value().to_string(),
        }
    }

    pub fn named(&'a self, name: &'a str) -> ScheduleTexts<'a> {
        ScheduleTexts { name, rule: &self.rule, template: &self.template, note: self.note, by: &self.by }
    }
}
