//! The called system of stories: answers, and sends the callbacks of each story at its moments.
//! Never lets a moment hang on speed: an answer is held back until what must come before it is stored.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::model::{Expected, Made};
use super::plan::{GATE, Kind, Story, When};
use super::text::PATH;
use super::transports::{Address, Pending, Transports};
use crate::client::{Api, lock};
use crate::env::Env;
use crate::world::amqp::{Answer, Question, Responder};
use crate::world::program::{Program, Step, Then};
use crate::world::{Call, World};

/// Delay of what is sent soon after an answer.
const SOON: Duration = Duration::from_millis(30);

/// A called system at work; it ends with this value.
#[derive(Debug)]
pub struct Play {
    shared: Arc<Shared>,
    _responder: Responder,
}

/// Observations of a story from outside.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Calls over HTTP, in their order.
    pub calls: Vec<Made>,
    /// Answers known to each first try of a call that sends them.
    pub knew: Vec<BTreeMap<String, i64>>,
    /// Messages, in their order.
    pub questions: Vec<Made>,
    /// Answers to callbacks over HTTP, by their numbers.
    pub verdicts: Vec<(i64, String)>,
    /// Events that should never happen.
    pub faults: Vec<String>,
}

#[derive(Debug)]
struct Shared {
    transports: Transports,
    parts: Mutex<HashMap<String, Part>>,
}

/// A story under way.
#[derive(Debug)]
struct Part {
    story: Story,
    gates: HashMap<(usize, usize), usize>,
    seen: Seen,
    /// The keys of each request, in the order of their first coming.
    keys: HashMap<(usize, usize), Vec<(String, usize)>>,
    pending: Vec<Pending>,
    /// Batches of callbacks on their way.
    flights: watch::Sender<usize>,
    /// Messages so far.
    questions: watch::Sender<usize>,
}

impl Play {
    /// Plays these stories at the world of a test and at `exchange`; callbacks are stored within `patience`.
    ///
    /// # Errors
    /// The broker cannot be reached.
    pub async fn start(
        env: &Env,
        api: Api,
        exchange: &str,
        stories: &[(Story, Expected)],
        patience: Duration,
    ) -> Result<Self> {
        let parts = stories.iter().map(|(story, expected)| {
            let part = Part {
                story: story.clone(),
                gates: expected.gates.clone(),
                seen: Seen::default(),
                keys: HashMap::new(),
                pending: Vec::new(),
                flights: watch::Sender::new(0),
                questions: watch::Sender::new(0),
            };
            (story.id.clone(), part)
        });
        let shared = Arc::new(Shared {
            transports: Transports::open(env, api, patience).await?,
            parts: Mutex::new(parts.collect()),
        });
        answer_calls(&shared, env.world());
        let at_broker = Arc::clone(&shared);
        let decide = Arc::new(move |question: &Question| {
            at_broker.question(question);
            Answer::Silence
        });
        let responder = Responder::start(env.amqp_url(), exchange, env.prefix(), decide).await?;
        Ok(Self { shared, _responder: responder })
    }

    /// The order has ended: sends what is sent then, and tells what was seen.
    pub async fn end(&self, order: &str) -> Seen {
        let (due, flights) = {
            let mut parts = lock(&self.shared.parts);
            let Some(part) = parts.get_mut(order) else { return Seen::default() };
            (std::mem::take(&mut part.pending), part.flights.subscribe())
        };
        landed(flights).await;
        self.shared.send_all(due).await;
        lock(&self.shared.parts).get(order).map(|part| part.seen.clone()).unwrap_or_default()
    }

    /// Number of calls and messages that have come so far, of all stories.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.shared.parts).values().map(|part| part.seen.calls.len() + part.seen.questions.len()).sum()
    }

    /// Sends a callback that answers no request; the HTTP status, or 0 over AMQP.
    ///
    /// # Errors
    /// Nobody took it.
    pub async fn orphan(&self, id: &str, amqp: bool) -> Result<u16> {
        self.shared.transports.orphan(id, amqp).await
    }
}

/// Answers calls at [`PATH`] as the stories say.
fn answer_calls(shared: &Arc<Shared>, world: &World) {
    let shared = Arc::clone(shared);
    world.program(Program::at(PATH).decided_by(move |call| shared.call(call)));
}

async fn landed(mut flights: watch::Receiver<usize>) {
    // An error means that the story is gone, and its callbacks with it.
    let _ = flights.wait_for(|count| *count == 0).await;
}

impl Part {
    /// Notes a request, with the number of its pass and of the try.
    fn place(&mut self, at: usize, slot: usize, key: &str) -> Made {
        let keys = self.keys.entry((at, slot)).or_default();
        let pass = keys.iter().position(|(known, _)| known == key).unwrap_or(keys.len());
        match keys.get_mut(pass) {
            Some((_, tries)) => *tries += 1,
            None => keys.push((key.to_owned(), 0)),
        }
        let tried = keys[pass].1;
        let elsewhere = self
            .keys
            .iter()
            .any(|(place, keys)| *place != (at, slot) && keys.iter().any(|(known, _)| known == key));
        if elsewhere {
            self.seen.faults.push(format!("the key {key} of s{at}/{slot} was another's before"));
        }
        Made { at, slot, pass, tried }
    }

    /// Callbacks that are due now that this call was made.
    fn due(&mut self, call: &Made) -> Vec<Pending> {
        let due = |one: &Pending| one.callback.when == When::Next && one.made.is_passed_by(call);
        let (due, left) = std::mem::take(&mut self.pending).into_iter().partition(due);
        self.pending = left;
        due
    }

    /// The callbacks of a request: those before its answer, and those soon after it. The rest waits.
    fn callbacks(&mut self, made: Made, address: &Address) -> [Vec<Pending>; 2] {
        let (mut early, mut soon) = (Vec::new(), Vec::new());
        for callback in self.story.meeting(made.at, made.slot, made.pass).callbacks {
            let one = Pending { made, address: address.clone(), callback };
            match callback.when {
                When::Early => early.push(one),
                When::InTime => soon.push(one),
                When::Next | When::End => self.pending.push(one),
            }
        }
        [early, soon]
    }
}

impl Shared {
    fn call(self: &Arc<Self>, call: &Call) -> Step {
        let mut parts = lock(&self.parts);
        let (address, at, slot) = read(&call.body);
        let Some(part) = parts.get_mut(&address.order) else {
            return Step::answer(500, json!({"error": "nobody's"}));
        };
        let key = call.headers.get("idempotency-key").cloned().unwrap_or_default();
        let made = part.place(at, slot, &key);
        part.seen.calls.push(made);
        let asks = matches!(part.story.states[at].kind, Kind::Ask(_)) && slot != GATE;
        if let Some(known) = call.body.get("known").filter(|_| made.tried == 0) {
            part.seen.knew.push(numbers(known));
        }
        let status = part.story.meeting(at, slot, made.pass).status(made.tried);
        let mut before = part.due(&made);
        let mut soon = Vec::new();
        if asks && made.tried == 0 {
            let [early, later] = part.callbacks(made, &address);
            before.extend(early);
            soon = later;
        }
        // What follows a failure, a repeat, or a call that asks nothing, may look at what has come.
        let looks = !asks || status != 200 || made.tried > 0;
        let gate = part.gates.get(&(at, made.pass)).copied().filter(|_| slot == GATE);
        let (flights, questions) = (part.flights.subscribe(), part.questions.subscribe());
        let aloft = usize::from(!before.is_empty()) + usize::from(!soon.is_empty());
        part.flights.send_modify(|count| *count += aloft);
        drop(parts);
        let (open, opened) = watch::channel(false);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            shared.fly(before, &address.order).await;
            if let Some(count) = gate {
                let mut questions = questions;
                // An error means that the story is gone.
                let _ = questions.wait_for(|so_far| *so_far >= count).await;
            }
            if looks {
                landed(flights).await;
            }
            open.send_replace(true);
            tokio::time::sleep(SOON).await;
            shared.fly(soon, &address.order).await;
        });
        let then = match status {
            0 => Then::Cut,
            status => Then::Answer { status, headers: Vec::new(), body: json!({"ok": status == 200}) },
        };
        Step { then, hold: Some(opened), ..Step::fine() }
    }

    fn question(self: &Arc<Self>, question: &Question) {
        let mut parts = lock(&self.parts);
        let (address, at, slot) = read(&question.body);
        let Some(part) = parts.get_mut(&address.order) else { return };
        let made = part.place(at, slot, question.message_id.as_deref().unwrap_or_default());
        part.seen.questions.push(made);
        if question.correlation_id.as_deref() != Some(address.id.as_str()) {
            part.seen.faults.push(format!("{} was asked as {:?}", address.id, question.correlation_id));
        }
        if made.tried > 0 {
            return;
        }
        let mut due = part.due(&made);
        let [early, soon] = part.callbacks(made, &address);
        due.extend(early);
        let aloft = usize::from(!due.is_empty()) + usize::from(!soon.is_empty());
        part.flights.send_modify(|count| *count += aloft);
        part.questions.send_modify(|count| *count += 1);
        drop(parts);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            shared.fly(due, &address.order).await;
            tokio::time::sleep(SOON).await;
            shared.fly(soon, &address.order).await;
        });
    }

    /// Sends callbacks that are counted as on their way, if there are any.
    async fn fly(&self, callbacks: Vec<Pending>, order: &str) {
        if callbacks.is_empty() {
            return;
        }
        self.send_all(callbacks).await;
        if let Some(part) = lock(&self.parts).get(order) {
            part.flights.send_modify(|count| *count -= 1);
        }
    }

    /// Sends callbacks one after the other, each when the one before is stored.
    async fn send_all(&self, callbacks: Vec<Pending>) {
        for one in callbacks {
            let sent = self.transports.send(&one).await;
            let mut parts = lock(&self.parts);
            let Some(part) = parts.get_mut(&one.address.order) else { continue };
            match sent {
                Ok(verdicts) => {
                    let number = one.callback.number;
                    part.seen.verdicts.extend(verdicts.into_iter().map(|verdict| (number, verdict)));
                }
                Err(error) => part.seen.faults.push(format!("{one:?}: {error:#}")),
            }
        }
    }
}

/// Reads the address of a request, its state, and its index.
fn read(body: &Value) -> (Address, usize, usize) {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| body[key].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(0);
    (Address { order: text("order"), id: text("id"), url: text("url") }, number("at"), number("slot"))
}

/// A mapping of names to numbers.
#[must_use]
pub fn numbers(value: &Value) -> BTreeMap<String, i64> {
    let fields = value.as_object().into_iter().flatten();
    fields.map(|(name, number)| (name.clone(), number.as_i64().unwrap_or(-1))).collect()
}

/// Waits for the end of an order, however it is; asks seldom, because many do. One moment for all of them keeps
/// a run short in which many hang.
///
/// # Errors
/// The order has not ended in time; its last view is in the message.
pub async fn ended(api: &Api, id: &str, deadline: Instant) -> Result<Value> {
    loop {
        let order = api.order(id).await.with_context(|| format!("order {id}"));
        let status = order.as_ref().ok().and_then(|order| order["status"].as_str()).unwrap_or_default();
        if matches!(status, "success" | "fail") {
            return order;
        }
        if Instant::now() > deadline {
            bail!("order {id} has not ended in time: {order:?}");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
