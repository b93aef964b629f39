//! Follows the list of tasks, from one database commit to the next.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_driver::{Driver, ListChange, TaskRow};
use orange_engine::names::TaskId;
use orange_engine::task::RunState;

use super::{GatherRequest, LiveTasks, receive};
use crate::tui::model::message::Message;

/// Poll intervals for new commits: while things happen, and when it is quiet.
const POLL: Duration = Duration::from_millis(50);
const IDLE_POLL: Duration = Duration::from_millis(200);

/// How many polls without a commit count as quiet.
const IDLE_AFTER: u32 = 100;

/// How long to wait before a store that could not be read is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(500);

pub(super) fn follow(
    driver: &Driver,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
    alive: &LiveTasks,
) {
    let mut follower = driver.views.follower();
    let mut living: BTreeMap<TaskId, TaskRow> = BTreeMap::new();
    let (mut is_first, mut had_error) = (true, false);
    let mut empty_polls: u32 = 0;
    loop {
        orange_driver::crash_points::may_panic("the list");
        let rest = match follower.change() {
            Ok(change) => {
                if had_error && sender.send(Message::ListError(None)).is_err() {
                    return;
                }
                had_error = false;
                // A home without a database has an empty list; report that once.
                let change = change.or_else(|| is_first.then(empty_change));
                is_first = false;
                empty_polls = empty_polls.saturating_add(1);
                if let Some(change) = change {
                    empty_polls = 0;
                    // Send the change before sharing the live tasks: the thread that observes their
                    // agents must not be ahead of the model.
                    if sender.send(Message::Changed(change.clone())).is_err() {
                        return;
                    }
                    share_live_tasks(&change, &mut living, alive);
                }
                if empty_polls < IDLE_AFTER {
                    POLL
                } else {
                    IDLE_POLL
                }
            }
            Err(error) => {
                had_error = true;
                let message = Message::ListError(Some(error.to_string()));
                if sender.send(message).is_err() {
                    return;
                }
                RETRY_DELAY
            }
        };
        if receive(receiver, rest).is_none() {
            return;
        }
    }
}

fn empty_change() -> ListChange {
    ListChange {
        sequence: 0,
        is_whole: true,
        rows: Vec::new(),
        gone: Vec::new(),
    }
}

/// Notes which tasks are believed to have a living agent, for the thread that observes them.
fn share_live_tasks(
    change: &ListChange,
    living: &mut BTreeMap<TaskId, TaskRow>,
    alive: &LiveTasks,
) {
    if change.is_whole {
        living.clear();
    }
    for id in &change.gone {
        living.remove(id);
    }
    for row in &change.rows {
        if row.runs.values().any(|run| run.state == RunState::Alive) {
            living.insert(row.id.clone(), row.clone());
        } else {
            living.remove(&row.id);
        }
    }
    let mut shared = alive.lock().unwrap_or_else(PoisonError::into_inner);
    *shared = living.values().cloned().collect();
}
