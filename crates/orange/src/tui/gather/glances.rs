//! Reads the summaries of the visible tasks.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_driver::{Driver, SummaryReader, TaskSummary};
use orange_engine::names::TaskId;

use super::{GatherRequest, receive};
use crate::tui::model::message::Message;

/// Poll interval for visible tasks: agents write into TASK.md without notice.
const TICK: Duration = Duration::from_secs(4);

pub(super) fn glance(
    driver: &Driver,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut reader: Option<SummaryReader> = None;
    let mut visible: Vec<TaskId> = Vec::new();
    let mut last_sent: BTreeMap<TaskId, TaskSummary> = BTreeMap::new();
    loop {
        let Some(received) = receive(receiver, TICK) else {
            return;
        };
        let is_tick = received.is_empty();
        let mut reads_all = false;
        for request in received {
            match request {
                GatherRequest::Watch(viewport) => visible = viewport.visible,
                GatherRequest::Reload(tasks) => last_sent.retain(|id, _| !tasks.contains(id)),
                GatherRequest::Refresh => reads_all = true,
            }
        }
        last_sent.retain(|id, _| visible.contains(id));
        if reader.is_none() {
            reader = driver.views.summary_reader().ok();
        }
        let Some(reader) = &mut reader else {
            continue;
        };
        let due = if is_tick {
            reader.changed_tasks(&visible).ok()
        } else {
            Some(Vec::new())
        };
        for id in &visible {
            let is_due = reads_all || due.as_ref().is_none_or(|due| due.contains(id));
            if last_sent.contains_key(id) && !is_due {
                continue;
            }
            // A task that cannot be read is retried at the next tick.
            let Ok(summary) = reader.read_summary(id) else {
                continue;
            };
            if last_sent.get(id) != Some(&summary) {
                last_sent.insert(id.clone(), summary.clone());
                let message = Message::Glance(id.clone(), Box::new(summary));
                if sender.send(message).is_err() {
                    return;
                }
            }
        }
    }
}
