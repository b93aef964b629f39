//! Measures how much the visible tasks have changed.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_config::clock::{Deadline, Stopwatch};
use orange_driver::{DiffSize, Driver};
use orange_engine::names::TaskId;

use super::{GatherRequest, receive};
use crate::tui::model::message::Message;

/// How often the selected task is measured again; git is not cheap.
const TICK: Duration = Duration::from_secs(10);

/// How long a measurement stays valid, whatever happens to its task.
const VALID_FOR: Duration = Duration::from_secs(3);

pub(super) fn measure(
    driver: &Driver,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut visible: Vec<TaskId> = Vec::new();
    let mut selected: Option<TaskId> = None;
    let mut measured: BTreeMap<TaskId, (DiffSize, Stopwatch)> = BTreeMap::new();
    let mut stale: Vec<TaskId> = Vec::new();
    let mut tick = Deadline::after(TICK);
    let mut timeout = TICK;
    loop {
        let Some(received) = receive(receiver, timeout) else {
            return;
        };
        for request in received {
            match request {
                GatherRequest::Watch(viewport) => {
                    selected = viewport.detail.map(|(id, _)| id);
                    visible = viewport.visible;
                }
                GatherRequest::Reload(tasks) => stale.extend(tasks),
                GatherRequest::Refresh => measured.clear(),
            }
        }
        if tick.has_passed() {
            tick = Deadline::after(TICK);
            stale.extend(selected.clone());
        }
        stale.retain(|id| visible.contains(id));
        let is_due = |id: &&TaskId| match measured.get(*id) {
            None => true,
            Some((_, since)) => stale.contains(*id) && since.elapsed() >= VALID_FOR,
        };
        // Measure one task at a time: what the user looks at may change meanwhile.
        let mut candidates = selected.iter().chain(&visible);
        let Some(id) = candidates.find(is_due).cloned() else {
            let soon = if stale.is_empty() { TICK } else { VALID_FOR };
            timeout = soon.min(tick.remaining());
            continue;
        };
        stale.retain(|it| *it != id);
        timeout = Duration::from_millis(1);
        let previous = measured.get(&id).map(|(extent, _)| extent.clone());
        // If the size cannot be measured, no change is shown.
        let extent = driver.workspaces.diff_size(&id).unwrap_or_default();
        measured.insert(id.clone(), (extent.clone(), Stopwatch::start()));
        if previous.as_ref() != Some(&extent) && sender.send(Message::Extent(id, extent)).is_err() {
            return;
        }
    }
}
