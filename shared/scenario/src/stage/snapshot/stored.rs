//! The JSON that a position is stored as.
//!
//! Fields are only ever added: an order may rest for months while the engine is upgraded, so that
//! every version reads what an earlier one wrote, and passes over what a later one added. The form is
//! flat and older than the values it is read into: while a call is handled, its answers stand where
//! those of the order itself do at other times, and those of the order are put aside in the call.

use jiff::Timestamp;
use pagurus_domain::json::json_text;
use pagurus_domain::retry::Cycle;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    ActionHold, Answers, AsyncRetry, Digest, Frame, Handling, KeptAnswer, Mover, RetryTime, Snapshot,
    SnapshotError, SyncRetry, Visit,
};

impl Snapshot {
    /// The form in which it is stored, as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // Maps with text as keys always become JSON.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The form in which it is stored, as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        json_text(self)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// Names what is not as it should be.
    pub fn from_value(value: &Value) -> Result<Self, SnapshotError> {
        Self::deserialize(value).map_err(|error| SnapshotError(error.to_string()))
    }

    /// Reads the stored text.
    ///
    /// # Errors
    /// The same as those of [`Snapshot::from_value`].
    pub fn from_text(text: &str) -> Result<Self, SnapshotError> {
        serde_json::from_str(text).map_err(|error| SnapshotError(error.to_string()))
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { visit, main, asynchronous, retry_time, .. } = self;
        let (shown, call) = (self.frame(), self.handling.as_deref());
        let retry = main.retry.as_ref();
        let (since, until) = retry_time.span.unzip();
        let later = asynchronous.as_ref();
        let mover = self.mover.as_ref();
        let moved = mover.and_then(|call| call.answer.as_ref());
        let mut out = SnapshotFields(serializer.serialize_map(None)?);
        out.put("state", &visit.state)?;
        out.put("action", &main.action)?;
        out.put("visit", &visit.number)?;
        out.put("vars", &self.vars)?;
        out.put("response", &shown.answers.last)?;
        out.put("responses", &shown.answers.named)?;
        out.put("cycle", &retry.map(|retry| retry.cycle.to_value()))?;
        out.put("retryingSince", &since)?;
        out.put("retryingUntil", &until)?;
        out.put("retriedMs", &retry_time.over_ms)?;
        out.put("failedAt", &retry.and_then(|retry| retry.failed_at))?;
        out.put("asyncCycle", &later.map(|retry| retry.cycle.to_value()))?;
        out.put("asyncState", &later.map(|retry| &retry.state))?;
        out.put("asyncAction", &later.and_then(|retry| retry.action))?;
        out.put("fromEntryPoint", &later.is_some_and(|retry| retry.from_entry_point))?;
        out.put("entryPoint", &self.entry_point)?;
        out.put("error", &self.error)?;
        out.put("failed", &self.failed)?;
        out.put("result", &self.result)?;
        out.put("message", &self.message)?;
        out.put("requests", &self.requests)?;
        out.put_kept(later.map_or(&[], |retry| &retry.answered))?;
        out.put("rounds", &self.rounds)?;
        out.put("operations", &self.operations)?;
        out.put("called", &visit.called)?;
        out.put("parallelDone", &shown.parallel_done)?;
        out.put("each", &main.each)?;
        out.put("numbers", &main.numbers)?;
        out.put("soFar", &main.so_far)?;
        out.put("answeredCall", &main.answered)?;
        out.put("poll", &visit.poll)?;
        out.put("awaiting", &visit.awaiting)?;
        out.put("handOut", &visit.hand_out)?;
        out.put("rest", &main.rest)?;
        out.put("call", &call.map(|call| SnapshotCall { call, main, moved }))?;
        out.put("movedBy", &mover.map(|call| call.no))?;
        out.put("event", &mover.map(|call| &call.event))?;
        out.put("answer", &call.map_or(moved, |call| call.answer.as_ref()))?;
        out.put_hold(main.held.as_ref())?;
        out.0.end()
    }
}

/// A call that is being handled, with what is put aside of the order itself and of the call that moved it.
#[derive(PartialEq)]
struct SnapshotCall<'s> {
    call: &'s Handling,
    main: &'s Frame,
    moved: Option<&'s Value>,
}

impl Serialize for SnapshotCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { call: Handling { no, name, body, frame, before, .. }, main, moved } = self;
        let mut out = SnapshotFields(serializer.serialize_map(None)?);
        out.0.serialize_entry("no", no)?;
        out.0.serialize_entry("name", name)?;
        out.0.serialize_entry("body", body)?;
        out.0.serialize_entry("action", &frame.action)?;
        out.put("cycle", &frame.retry.as_ref().map(|retry| retry.cycle.to_value()))?;
        out.put("failedAt", &frame.retry.as_ref().and_then(|retry| retry.failed_at))?;
        out.put("each", &frame.each)?;
        out.put("numbers", &frame.numbers)?;
        out.put("soFar", &frame.so_far)?;
        out.put("answeredCall", &frame.answered)?;
        out.put("response", &main.answers.last)?;
        out.put("responses", &main.answers.named)?;
        out.put("parallelDone", &main.parallel_done)?;
        out.put("rest", &frame.rest)?;
        out.put("before", before)?;
        out.put("answer", moved)?;
        out.put_hold(frame.held.as_ref())?;
        out.0.end()
    }
}

/// The fields that are written: what a fresh position would have is left out.
struct SnapshotFields<M>(M);

impl<M: SerializeMap> SnapshotFields<M> {
    fn put<T: Serialize + Default + PartialEq>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        if is_default(value) { Ok(()) } else { self.0.serialize_entry(name, value) }
    }

    /// Stores kept answers; those without a content stand where they always stood.
    fn put_kept(&mut self, answers: &[KeptAnswer]) -> Result<(), M::Error> {
        let places = answers.iter().filter(|kept| kept.content.is_none()).map(|kept| &kept.place);
        self.put("answered", &places.collect::<Vec<_>>())?;
        let known = answers.iter().filter_map(|kept| Some((&kept.place, kept.content?)));
        self.put("kept", &known.collect::<Vec<_>>())
    }

    fn put_hold(&mut self, hold: Option<&ActionHold>) -> Result<(), M::Error> {
        self.put("held", &hold.map(|hold| hold.since))?;
        self.put("firstHeld", &hold.filter(|hold| hold.first != hold.since).map(|hold| hold.first))?;
        self.put("heldFor", &hold.and_then(|hold| hold.system.as_deref()))
    }
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = SnapshotReader(Map::deserialize(deserializer)?);
        stored.position().map_err(D::Error::custom)
    }
}

/// The fields that were read; one that is absent or null is what a fresh position has.
struct SnapshotReader(Map<String, Value>);

impl SnapshotReader {
    fn position(mut self) -> serde_json::Result<Snapshot> {
        let visit = Visit {
            state: self.take("state")?,
            number: self.take("visit")?,
            poll: self.take("poll")?,
            awaiting: self.take("awaiting")?,
            hand_out: self.take("handOut")?,
            called: self.take("called")?,
        };
        let mut main = self.frame()?;
        let mut answer: Option<Value> = self.take("answer")?;
        let handling = match self.take::<Option<Map<_, _>>>("call")? {
            None => None,
            Some(call) => Some(Self(call).handling(&mut main, &mut answer)?),
        };
        let mover = match self.take("movedBy")? {
            None => None,
            Some(no) => Some(Mover { no, event: self.must("event")?, answer }),
        };
        let asynchronous = match self.cycle("asyncCycle")? {
            None => None,
            Some(cycle) => Some(AsyncRetry {
                cycle,
                state: self
                    .take::<Option<_>>("asyncState")?
                    .or_else(|| visit.state.clone())
                    .unwrap_or_default(),
                action: self.take("asyncAction")?,
                answered: self.kept()?,
                from_entry_point: self.take("fromEntryPoint")?,
            }),
        };
        let (since, until): (Option<Timestamp>, Option<_>) =
            (self.take("retryingSince")?, self.take("retryingUntil")?);
        let span = since.map(|since| (since, until.unwrap_or(since)));
        Ok(Snapshot {
            visit,
            main,
            operations: self.take("operations")?,
            handling,
            mover,
            asynchronous,
            retry_time: RetryTime { over_ms: self.take("retriedMs")?, span },
            entry_point: self.take("entryPoint")?,
            requests: self.take("requests")?,
            rounds: self.take("rounds")?,
            vars: self.take("vars")?,
            error: self.take("error")?,
            failed: self.take("failed")?,
            result: self.take("result")?,
            message: self.take("message")?,
        })
    }

    fn frame(&mut self) -> serde_json::Result<Frame> {
        let failed_at = self.take("failedAt")?;
        Ok(Frame {
            action: self.take("action")?,
            answers: Answers { last: self.take("response")?, named: self.take("responses")? },
            parallel_done: self.take("parallelDone")?,
            each: self.take("each")?,
            numbers: self.take("numbers")?,
            so_far: self.take("soFar")?,
            answered: self.take("answeredCall")?,
            retry: self.cycle("cycle")?.map(|cycle| SyncRetry { cycle, failed_at }),
            rest: self.take("rest")?,
            held: self.hold()?,
        })
    }

    fn kept(&mut self) -> serde_json::Result<Vec<KeptAnswer>> {
        let places: Vec<String> = self.take("answered")?;
        let known: Vec<(String, Digest)> = self.take("kept")?;
        let places = places.into_iter().map(|place| KeptAnswer { place, content: None });
        let known = known.into_iter().map(|(place, content)| KeptAnswer { place, content: Some(content) });
        Ok(places.chain(known).collect())
    }

    fn hold(&mut self) -> serde_json::Result<Option<ActionHold>> {
        let since: Option<Timestamp> = self.take("held")?;
        let (first, system): (Option<Timestamp>, _) = (self.take("firstHeld")?, self.take("heldFor")?);
        Ok(since.map(|since| ActionHold { since, first: first.unwrap_or(since), system }))
    }

    fn handling(mut self, main: &mut Frame, moved: &mut Option<Value>) -> serde_json::Result<Box<Handling>> {
        let mut frame = self.frame()?;
        std::mem::swap(&mut main.answers, &mut frame.answers);
        std::mem::swap(&mut main.parallel_done, &mut frame.parallel_done);
        let answer = std::mem::replace(moved, self.take("answer")?);
        let (no, name, body) = (self.must("no")?, self.must("name")?, self.must("body")?);
        Ok(Box::new(Handling { no, name, body, frame, before: self.take("before")?, answer }))
    }

    fn take<T: DeserializeOwned + Default>(&mut self, name: &str) -> serde_json::Result<T> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(T::default()),
            Some(_) => self.must(name),
        }
    }

    fn must<T: DeserializeOwned>(&mut self, name: &str) -> serde_json::Result<T> {
        let value = self.0.remove(name).unwrap_or_default();
        serde_json::from_value(value).map_err(|error| serde_json::Error::custom(format!("`{name}`: {error}")))
    }

    /// Cycles know their own form.
    fn cycle(&mut self, name: &str) -> serde_json::Result<Option<Cycle>> {
        let value: Option<Value> = self.take(name)?;
        let broken = || serde_json::Error::custom(format!("`{name}`: a broken cycle"));
        value.map(|value| Cycle::from_value(&value).ok_or_else(broken)).transpose()
    }
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Values whose one spelling is their form.
pub(super) mod text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

pub(super) mod text_or_none {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de};

    use pagurus_domain::id::RequestId;

    pub fn serialize<S: Serializer>(value: &Option<RequestId>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.to_string()).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RequestId>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(de::Error::custom)).transpose()
    }
}
