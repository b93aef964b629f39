//! Glances at the visible tasks.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_driver::{Driver, SummaryReader, TaskSummary};
use orange_engine::names::TaskId;

use super::{GatherRequest, receive};
use crate::tui::model::message::Message;

/// Poll interval for visible tasks: agents write into TASK.md without notice.
const TICK: Duration = Duration::from_secs(4);

pub(super) fn glance(driver: &Driver, wishes: &Receiver<GatherRequest>, sender: &Sender<Message>) {
    let mut glancer: Option<SummaryReader> = None;
    let mut visible: Vec<TaskId> = Vec::new();
    let mut known: BTreeMap<TaskId, TaskSummary> = BTreeMap::new();
    loop {
        let Some(wished) = receive(wishes, TICK) else {
            return;
        };
        // On a timeout or a refresh, everything may have changed.
        let mut is_all = wished.is_empty();
        for wish in wished {
            match wish {
                GatherRequest::Watch(aim) => visible = aim.visible,
                GatherRequest::Reload(tasks) => known.retain(|id, _| !tasks.contains(id)),
                GatherRequest::Refresh => is_all = true,
            }
        }
        known.retain(|id, _| visible.contains(id));
        if glancer.is_none() {
            glancer = driver.views.summary_reader().ok();
        }
        let Some(glancer) = &mut glancer else {
            continue;
        };
        for id in &visible {
            if known.contains_key(id) && !is_all {
                continue;
            }
            // A task that cannot be read is retried at the next tick.
            let Ok(glance) = glancer.read_summary(id) else {
                continue;
            };
            if known.get(id) != Some(&glance) {
                known.insert(id.clone(), glance.clone());
                let message = Message::Glance(id.clone(), Box::new(glance));
                if sender.send(message).is_err() {
                    return;
                }
            }
        }
    }
}
