//! Calls that wait: for work, for a decision, for changes.
//!
//! One task per server asks the database for all of them together. A waiter is registered before
//! its call looks for the first time, so nothing that happens in between is missed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orange_fleet::ids::{MailId, OrgId, RunnerId};
use tokio::sync::Notify;

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    Work {
        org: OrgId,
        runner: RunnerId,
        /// Whether the runner takes more tasks; otherwise only mail.
        has_room: bool,
    },
    Request(OrgId, MailId),
    /// Rows of the organisation's feed after this one.
    Changes(OrgId, u64),
}

/// All waiting calls of one server.
#[derive(Debug, Default)]
pub struct Waiting {
    calls: Mutex<Calls>,
    /// Wakes the loop when the first call begins to wait.
    some: Notify,
}

#[derive(Debug, Default)]
struct Calls {
    stopped: bool,
    last: u64,
    waiters: BTreeMap<Topic, BTreeMap<u64, Arc<Notify>>>,
}

/// A call that waits. Dropping it ends the waiting.
#[derive(Debug)]
pub struct Wait {
    waiting: Arc<Waiting>,
    topic: Topic,
    number: u64,
    wake: Arc<Notify>,
}

impl Waiting {
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` when the server stops. A runner that waits already waits no longer: its newer call
    /// does, because the older one's connection may be lost.
    pub fn begin(self: &Arc<Self>, topic: Topic) -> Option<Wait> {
        let wake = Arc::new(Notify::new());
        let mut calls = self.calls();
        if calls.stopped {
            return None;
        }
        calls.last = calls.last.saturating_add(1);
        let number = calls.last;
        let waiters = calls.waiters.entry(topic.clone()).or_default();
        if matches!(topic, Topic::Work { .. }) {
            for older in std::mem::take(waiters).into_values() {
                older.notify_one();
            }
        }
        waiters.insert(number, Arc::clone(&wake));
        drop(calls);
        self.some.notify_one();
        Some(Wait {
            waiting: Arc::clone(self),
            topic,
            number,
            wake,
        })
    }

    /// What to ask for. Waits until there is something.
    pub async fn topics(&self) -> Vec<Topic> {
        loop {
            let topics: Vec<Topic> = self.calls().waiters.keys().cloned().collect();
            if !topics.is_empty() {
                return topics;
            }
            self.some.notified().await;
        }
    }

    /// Wakes the calls that wait for this.
    pub fn wake(&self, topic: &Topic) {
        let calls = self.calls();
        for waiter in calls.waiters.get(topic).into_iter().flatten() {
            waiter.1.notify_one();
        }
    }

    pub fn is_stopped(&self) -> bool {
        self.calls().stopped
    }

    /// Ends all waiting.
    pub fn stop(&self) {
        let mut calls = self.calls();
        calls.stopped = true;
        for waiters in std::mem::take(&mut calls.waiters).into_values() {
            for waiter in waiters.into_values() {
                waiter.notify_one();
            }
        }
    }
}

impl Wait {
    /// Returns when it is worth looking again; false when there is no use in waiting longer.
    pub async fn woken(&self) -> bool {
        self.wake.notified().await;
        let calls = self.waiting.calls();
        let waiters = calls.waiters.get(&self.topic);
        waiters.is_some_and(|it| it.contains_key(&self.number))
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut calls = self.waiting.calls();
        if let Some(waiters) = calls.waiters.get_mut(&self.topic) {
            waiters.remove(&self.number);
            if waiters.is_empty() {
                calls.waiters.remove(&self.topic);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(runner: &str) -> Topic {
        Topic::Work {
            org: OrgId::new("acme"),
            runner: RunnerId::new(runner),
            has_room: true,
        }
    }

    #[tokio::test]
    async fn a_call_waits_until_its_topic_is_woken() {
        let waiting = Arc::new(Waiting::default());
        let wait = waiting.begin(work("a")).unwrap();
        assert_eq!(waiting.topics().await, [work("a")]);
        waiting.wake(&work("b"));
        waiting.wake(&work("a"));
        assert!(wait.woken().await);
        drop(wait);
        assert!(waiting.calls().waiters.is_empty());
    }

    #[tokio::test]
    async fn a_newer_call_of_a_runner_replaces_the_older() {
        let waiting = Arc::new(Waiting::default());
        let older = waiting.begin(work("a")).unwrap();
        let newer = waiting.begin(work("a")).unwrap();
        assert!(!older.woken().await);
        drop(older);
        waiting.wake(&work("a"));
        assert!(newer.woken().await);
    }

    #[tokio::test]
    async fn several_readers_wait_for_one_request() {
        let waiting = Arc::new(Waiting::default());
        let topic = Topic::Request(OrgId::new("acme"), MailId::new("m1"));
        let both = [
            waiting.begin(topic.clone()).unwrap(),
            waiting.begin(topic.clone()).unwrap(),
        ];
        waiting.wake(&topic);
        for wait in both {
            assert!(wait.woken().await);
        }
    }

    #[tokio::test]
    async fn a_stop_ends_waiting_for_good() {
        let waiting = Arc::new(Waiting::default());
        let wait = waiting.begin(work("a")).unwrap();
        waiting.stop();
        assert!(!wait.woken().await);
        assert!(waiting.begin(work("b")).is_none());
    }
}
