//! Requests of the walk, and their repeats right where they failed.

use super::super::wide::Bound;
use super::{Cycles, Left, Rest, Walk, bound};

/// Outcome of requests that were made at once.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Asked {
    Through,
    Failed,
    /// A request is to be repeated, and the time is over.
    TooLate,
}

impl Walk<'_> {
    /// Makes these requests at once until none fails, or one fails for good: whether all went through.
    pub(super) fn all(&mut self, slots: &[usize], body: Option<i64>) -> Result<bool, Left> {
        Ok(self.asked(slots, body, None)? == Asked::Through)
    }

    /// Returns the seconds until these failures are repeated together, if they are.
    pub(super) fn repeats(&self, cycles: &mut Cycles, failed: &[Bound]) -> Option<i64> {
        cycles.repeat(failed).filter(|wait| self.queue.allows(*wait))
    }

    /// Makes these requests two at a time: whether all went through.
    pub(super) fn each(&mut self, slots: [usize; 3]) -> Result<bool, Left> {
        let mut open = slots.to_vec();
        let (mut aside, mut again): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut failed: Vec<Bound> = Vec::new();
        let mut cycles = Cycles::default();
        loop {
            if aside.is_empty() && again.is_empty() {
                cycles = Cycles::default();
                self.settle();
            }
            let now: Vec<usize> = open.iter().copied().take(2).collect();
            let (mut through, mut ended) = (false, false);
            for slot in &now {
                let (status, _) = self.call(*slot, None);
                open.retain(|other| other != slot);
                if status == 200 {
                    through = true;
                    again.retain(|other| other != slot);
                    continue;
                }
                let made = |class: &Bound| cycles.made(class.class);
                let repeated = bound(status).filter(|class| {
                    made(class) < class.allowed && self.queue.allows(class.wait(made(class)))
                });
                match repeated {
                    Some(class) => {
                        aside.push(*slot);
                        failed.push(class);
                    }
                    None => ended = true,
                }
            }
            if ended {
                return Ok(false);
            }
            if through || (aside.is_empty() && !open.is_empty()) {
                continue;
            }
            if aside.is_empty() {
                return Ok(true);
            }
            let Some(wait) = self.repeats(&mut cycles, &std::mem::take(&mut failed)) else {
                return Ok(false);
            };
            again.extend(&aside);
            open.append(&mut aside);
            open.sort_unstable();
            self.rest(Rest::Retry(wait))?;
        }
    }

    /// Makes requests at once; there may be an end, after which nothing is repeated.
    pub(super) fn asked(
        &mut self,
        slots: &[usize],
        body: Option<i64>,
        ends_at: Option<i64>,
    ) -> Result<Asked, Left> {
        let mut left = slots.to_vec();
        let mut cycles = Cycles::default();
        let came = loop {
            let outcomes: Vec<u16> = left.iter().map(|slot| self.call(*slot, body).0).collect();
            let failed: Vec<u16> = outcomes.iter().copied().filter(|status| *status != 200).collect();
            if failed.is_empty() {
                break Asked::Through;
            }
            let classes: Option<Vec<Bound>> = failed.into_iter().map(bound).collect();
            let Some(wait) = classes.and_then(|classes| self.repeats(&mut cycles, &classes)) else {
                return Ok(Asked::Failed);
            };
            let left_of_time = ends_at.map_or(wait, |ends_at| ends_at - self.queue.now);
            if left_of_time <= 0 {
                break Asked::TooLate;
            }
            let mut good = outcomes.iter().map(|status| *status == 200);
            left.retain(|_| !good.next().unwrap());
            self.rest(Rest::Retry(wait.min(left_of_time)))?;
        };
        self.settle();
        Ok(came)
    }
}
