//! Reads what the agents of all tasks used.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_driver::{Driver, TaskRow};
use orange_engine::names::TaskId;
use orange_engine::task::RunState;
use orange_engine::usage::Usage;

use super::{GatherRequest, receive};
use crate::tui::model::message::Message;

/// How often the usage of live agents is read; many idle agents must cost next to nothing.
const TICK: Duration = Duration::from_secs(10);

/// The delay of the first reading, so that the first frame does not wait for it.
const DELAY: Duration = Duration::from_millis(300);

pub(super) fn follow(
    driver: &Driver,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut follower = driver.views.follower();
    let mut live: BTreeMap<TaskId, TaskRow> = BTreeMap::new();
    let mut due: BTreeMap<TaskId, TaskRow> = BTreeMap::new();
    let mut known: BTreeMap<TaskId, Usage> = BTreeMap::new();
    let mut tick = Deadline::after(DELAY);
    loop {
        if receive(receiver, tick.remaining()).is_none() {
            return;
        }
        // A request wakes this thread too, but usage is read only once per tick.
        if !tick.has_passed() {
            continue;
        }
        tick = Deadline::after(TICK);
        due.extend(live.clone());
        if let Ok(Some(change)) = follower.change() {
            if change.is_whole {
                live.clear();
                due.clear();
            }
            for id in &change.gone {
                live.remove(id);
                due.remove(id);
            }
            for row in change.rows {
                live.remove(&row.id);
                if row.runs.values().any(|run| run.state == RunState::Alive) {
                    live.insert(row.id.clone(), row.clone());
                }
                due.insert(row.id.clone(), row);
            }
        }
        // What cannot be read now stays due.
        let Ok(mut usages) = driver.views.usage(due.values()) else {
            continue;
        };
        due.clear();
        // The run time grows constantly; only whole minutes are worth a new frame.
        let rounded = |usage: &Usage| Usage {
            run_seconds: usage.run_seconds / 60,
            ..usage.clone()
        };
        usages.retain(|id, usage| known.get(id) != Some(&rounded(usage)));
        if usages.is_empty() {
            continue;
        }
        known.extend(
            usages
                .iter()
                .map(|(id, usage)| (id.clone(), rounded(usage))),
        );
        if sender.send(Message::Usage(usages)).is_err() {
            return;
        }
    }
}
