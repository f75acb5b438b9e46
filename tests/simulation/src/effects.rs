//! Effects of a change elsewhere, sent after its commit. All of them are hints.

use std::sync::Arc;

use pagurus_domain::id::{Attempt, Life, OrderNo, Role};

use crate::core::Core;
use crate::message::{Message, News};
use crate::store::{LockedOrder, ReadyStage};

/// Effects of one transaction.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// News for dispatchers.
    pub news: News,
    /// Stages that are over, for workers.
    pub over: Vec<(OrderNo, Attempt)>,
    /// Lives that have ended, for notifiers.
    pub ended: Vec<(OrderNo, Life)>,
}

impl Effects {
    /// Effects of stages that may run now.
    #[must_use]
    pub fn of_ready(ready: Vec<ReadyStage>) -> Self {
        Self { news: News { ready, ..News::default() }, ..Self::default() }
    }

    /// Adds that an order was ended from outside of its stage.
    pub fn life_ended(&mut self, was: &LockedOrder) {
        self.over.extend(was.running.map(|(_, attempt)| (was.no, attempt)));
        self.news.left.push((was.no, was.ready, was.order.queue.clone()));
        self.ended.push((was.no, was.order.life));
    }

    /// Informs everybody concerned.
    pub fn send(self, core: &mut Core) {
        if !self.over.is_empty() {
            let message = Message::BreakOff(Arc::new(self.over));
            for worker in core.of_role(Role::Worker) {
                core.send(worker, &message);
            }
        }
        let news = self.news;
        let is_news = news.workers_changed
            || !(news.left.is_empty()
                && news.ready.is_empty()
                && news.ended.is_empty()
                && news.refused.is_empty());
        if is_news {
            let message = Message::News(Arc::new(news));
            for dispatcher in core.listeners.clone() {
                core.send(dispatcher, &message);
            }
        }
        if !self.ended.is_empty()
            && let Some(notifier) = core.any_of(Role::Notifier)
        {
            core.send(notifier, &Message::Ended(Arc::new(self.ended)));
        }
    }
}
