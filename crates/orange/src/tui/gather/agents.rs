//! Observes every living agent, and what it reports.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_driver::Driver;

use super::{GatherRequest, LiveTasks, receive};
use crate::tui::model::message::Message;

/// Poll interval for changes that are not recorded in the store. (The supervisor records the end of
/// an agent.)
const TICK: Duration = Duration::from_secs(4);

/// Poll interval for requests for permission; it is short, because an agent waits for the answer.
const REQUEST_TICK: Duration = Duration::from_millis(500);

/// How long after a change the agents are observed again.
const SOON: Duration = Duration::from_millis(200);

pub(super) fn observe(
    driver: &Driver,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
    alive: &LiveTasks,
) {
    let mut last_rows = Vec::new();
    let mut last_agents = BTreeMap::new();
    let mut last_activities = BTreeMap::new();
    let mut last_requests = (Vec::new(), BTreeMap::new());
    let mut due = Deadline::after(SOON);
    loop {
        let Some(received) = receive(receiver, REQUEST_TICK.min(due.remaining())) else {
            return;
        };
        let has_changed = received
            .iter()
            .any(|it| matches!(it, GatherRequest::Reload(_) | GatherRequest::Refresh));
        if has_changed && due.remaining() > SOON {
            due = Deadline::after(SOON);
        }
        let rows = alive.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // When the rows change, the model drops what it knew about the earlier agents, so send
        // every message again, even if its content has not changed.
        let requests = driver.views.permission_requests(&rows);
        let has_news = requests != last_requests.1;
        if has_news || rows != last_requests.0 {
            last_requests = (rows.clone(), requests.clone());
            if sender.send(Message::Requests(requests)).is_err() {
                return;
            }
        }
        if !due.has_passed() && !has_news {
            continue;
        }
        due = Deadline::after(TICK);
        let rows_changed = rows != last_rows;
        let activities = driver.views.activity_states(&rows);
        if rows_changed || activities != last_activities {
            last_activities.clone_from(&activities);
            if sender.send(Message::Activity(activities)).is_err() {
                return;
            }
        }
        // If this fails, nothing new is shown; the next attempt may succeed.
        let Ok(agents) = driver.views.agents(&rows) else {
            continue;
        };
        if rows_changed || agents != last_agents {
            last_agents.clone_from(&agents);
            if sender.send(Message::Agents(agents)).is_err() {
                return;
            }
        }
        last_rows = rows;
    }
}
