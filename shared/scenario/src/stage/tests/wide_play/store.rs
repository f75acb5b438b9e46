//! Requests of a play as the store keeps them: answered, closed, and given up by calls (SCN-22).

use super::super::wide::GivenUp;
use super::*;

/// A stored request.
struct Stored {
    /// Number of the request in its state, and its visit.
    place: (usize, u32),
    is_open: bool,
    is_awaited: bool,
    is_answered: bool,
    /// The call that gives it up.
    cancel: Option<String>,
}

/// The requests of an order.
#[derive(Default)]
pub(super) struct Requests {
    stored: BTreeMap<RequestId, Stored>,
    /// The last request of each name, of the stages that were written.
    pub latest: BTreeMap<String, (usize, u32)>,
    /// Names of which answers of the life before are kept.
    kept: Vec<String>,
    /// Calls that were written and not made: what is asked again forgets them.
    given_up: Vec<(RequestId, String)>,
}

impl Requests {
    pub fn keeping(kept: &[String]) -> Self {
        Self { kept: kept.to_vec(), ..Self::default() }
    }

    pub fn place(&self, id: RequestId) -> (usize, u32) {
        self.stored[&id].place
    }

    /// Stores a request, or opens the same one again.
    pub fn register(&mut self, (name, visit, action): (&str, u32, u32), cancel: Cancel) -> RequestId {
        let id = RequestId(Uuid::from_u128(u128::from(visit) << 32 | u128::from(action)));
        let place = (name.rsplit('_').next().unwrap().parse().unwrap(), visit);
        let fresh = Stored { place, is_open: true, is_awaited: false, is_answered: false, cancel: None };
        let stored = self.stored.entry(id).or_insert(fresh);
        stored.is_open = !stored.is_answered;
        stored.cancel = cancel.call().map(str::to_owned).or_else(|| stored.cancel.take());
        if cancel != Cancel::Never {
            self.given_up.retain(|(other, _)| *other != id);
        }
        id
    }

    /// Takes what the end of a stage says of requests.
    pub fn finish(&mut self, end: &StageEnd) {
        for (id, call) in &end.cancels {
            let stored = self.stored.get_mut(id).unwrap();
            if stored.is_open {
                stored.cancel = Some(call.clone());
            }
        }
        if end.gives_up {
            assert!(matches!(end.then, Then::End { .. }), "only an end gives all up");
            self.give_up();
        }
        if let Then::Wait { requests, .. } = &end.then {
            for (id, stored) in &mut self.stored {
                stored.is_awaited = requests.contains(id);
            }
        }
    }

    /// Ends a wait: what was awaited is answered, or too late.
    pub fn end_wait(&mut self, world: &World) {
        for stored in self.stored.values_mut().filter(|stored| stored.is_awaited) {
            let (number, visit) = stored.place;
            if stored.is_open && world.came(visit, number) != Came::Nothing {
                (stored.is_open, stored.is_answered) = (false, true);
            }
        }
        self.close(|stored| stored.is_awaited);
    }

    /// Closes all, and writes the calls that give them up.
    pub fn give_up(&mut self) {
        self.close(|_| true);
    }

    fn close(&mut self, which: impl Fn(&Stored) -> bool) {
        for (id, stored) in self.stored.iter_mut().filter(|(_, stored)| stored.is_open && which(stored)) {
            stored.is_open = false;
            self.given_up.extend(stored.cancel.as_ref().map(|call| (*id, call.clone())));
        }
    }

    fn is_answered(&self, place: (usize, u32)) -> bool {
        self.stored.values().any(|stored| stored.place == place && stored.is_answered)
    }

    /// The answers to the last request of each name, as far as they came.
    pub fn callbacks(&self, world: &World) -> Vec<Callback> {
        let answered = self.latest.iter().filter(|(_, place)| self.is_answered(**place));
        let came = answered
            .filter_map(|(name, (number, visit))| callback(name, *number, world.came(*visit, *number)));
        let kept = self.kept.iter().filter(|name| !self.latest.contains_key(*name));
        came.chain(kept.filter_map(|name| callback(name, 0, Came::Good))).collect()
    }

    /// Names of the requests of which a life that keeps them has the answers.
    pub fn answered(&self) -> Vec<String> {
        let kept = self.kept.iter().filter(|name| !self.latest.contains_key(*name));
        let answered = self.latest.iter().filter(|(_, place)| self.is_answered(**place));
        answered.map(|(name, _)| name).chain(kept).cloned().collect()
    }

    /// The calls that give requests up.
    pub fn made(self) -> Vec<GivenUp> {
        let made = self.given_up.iter().map(|(id, call)| {
            let call =
                CancelCall::read(call).unwrap().call(*id, Uuid::nil(), &crate::value::NoSecrets).unwrap();
            assert_eq!(call.method.as_str(), "DELETE");
            let (number, visit) = self.stored[id].place;
            let mut parts = call.url.strip_prefix("http://h/").unwrap().split('/').skip(1);
            assert_eq!(parts.next().unwrap().parse(), Ok(number), "{}", call.url);
            (visit, number, parts.next().map(|said| said.parse().unwrap()))
        });
        let mut made: Vec<_> = made.collect();
        made.sort_unstable();
        made
    }
}

/// The answer to a request of this name and number.
fn callback(name: &str, number: usize, came: Came) -> Option<Callback> {
    let (step_status, end) = match came {
        Came::Good => ("fine", "success"),
        Came::Refused => ("refused", "fail"),
        Came::Odd => ("odd", "terminated"),
        Came::Nothing => return None,
    };
    let is_child = number == OF_CHILD;
    let is_soap = name.starts_with('x');
    let body = match came {
        Came::Refused => envelope(&fault("Server", step_status)),
        _ => envelope("<ok/>"),
    };
    let value = match (is_child, is_soap) {
        (true, _) => json!({"body": {"id": "child", "status": end}}),
        (_, true) => json!({"body": body, "headers": {"content-type": "text/xml"}}),
        _ => json!({}),
    };
    // A system that speaks SOAP refuses by a fault.
    let is_fault = is_soap && came == Came::Refused;
    Some(Callback {
        name: name.to_owned(),
        value: value.into(),
        received_at: None,
        body: if is_soap { body } else { String::new() },
        step_status: (!is_child && !is_fault).then(|| step_status.into()),
    })
}
