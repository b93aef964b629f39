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

pub(super) fn measure(driver: &Driver, wishes: &Receiver<GatherRequest>, sender: &Sender<Message>) {
    let mut visible: Vec<TaskId> = Vec::new();
    let mut chosen: Option<TaskId> = None;
    let mut known: BTreeMap<TaskId, (DiffSize, Stopwatch)> = BTreeMap::new();
    let mut stale: Vec<TaskId> = Vec::new();
    let mut tick = Deadline::after(TICK);
    let mut rest = TICK;
    loop {
        let Some(wished) = receive(wishes, rest) else {
            return;
        };
        for wish in wished {
            match wish {
                GatherRequest::Watch(aim) => {
                    chosen = aim.detail.map(|(id, _)| id);
                    visible = aim.visible;
                }
                GatherRequest::Reload(tasks) => stale.extend(tasks),
                GatherRequest::Refresh => known.clear(),
            }
        }
        if tick.has_passed() {
            tick = Deadline::after(TICK);
            stale.extend(chosen.clone());
        }
        stale.retain(|id| visible.contains(id));
        let is_due = |id: &&TaskId| match known.get(*id) {
            None => true,
            Some((_, since)) => stale.contains(*id) && since.elapsed() >= VALID_FOR,
        };
        // Measure one task at a time: what the user looks at may change meanwhile.
        let mut first = chosen.iter().chain(&visible);
        let Some(id) = first.find(is_due).cloned() else {
            let soon = if stale.is_empty() { TICK } else { VALID_FOR };
            rest = soon.min(tick.remaining());
            continue;
        };
        stale.retain(|it| *it != id);
        rest = Duration::from_millis(1);
        let before = known.get(&id).map(|(extent, _)| extent.clone());
        // If it cannot be measured, there is no change to show.
        let extent = driver.workspaces.diff_size(&id).unwrap_or_default();
        known.insert(id.clone(), (extent.clone(), Stopwatch::start()));
        if before.as_ref() != Some(&extent) && sender.send(Message::Extent(id, extent)).is_err() {
            return;
        }
    }
}
