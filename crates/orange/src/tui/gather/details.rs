//! Loads the views of the selected task, except its terminal.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_driver::{Driver, DriverError};
use orange_engine::names::TaskId;

use super::{GatherRequest, contents, diff, receive};
use crate::tui::model::detail::{Content, Tab};
use crate::tui::model::message::Message;
use crate::tui::theme::Theme;

/// How often a view is reloaded: agents write files without notice.
const TICK: Duration = Duration::from_secs(4);

pub(super) fn load(
    driver: &Driver,
    theme: Theme,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut target: Option<(TaskId, Tab, usize)> = None;
    let mut last: Option<Content> = None;
    loop {
        let Some(received) = receive(receiver, TICK) else {
            return;
        };
        let mut is_due = received.is_empty();
        for request in received {
            match request {
                GatherRequest::Watch(viewport) => {
                    let width = usize::from(viewport.width.saturating_sub(2));
                    let new_target = viewport.detail.map(|(id, tab)| (id, tab, width));
                    if new_target != target {
                        (target, last, is_due) = (new_target, None, true);
                    }
                }
                GatherRequest::Reload(tasks) => {
                    let id = target.as_ref().map(|(id, ..)| id);
                    is_due |= id.is_some_and(|id| tasks.contains(id));
                }
                GatherRequest::Refresh => is_due = true,
            }
        }
        let Some((task, tab, width)) = target.as_ref().filter(|_| is_due) else {
            continue;
        };
        let content = content(driver, theme, task, *tab, *width);
        let Some(content) = content.transpose() else {
            continue;
        };
        let content = content.unwrap_or_else(|error| Content::Nothing(error.to_string()));
        if last.as_ref() != Some(&content) {
            last = Some(content.clone());
            let message = Message::Loaded(task.clone(), *tab, content);
            if sender.send(message).is_err() {
                return;
            }
        }
    }
}

/// What a view shows; `None` for the terminal, which another thread watches.
fn content(
    driver: &Driver,
    theme: Theme,
    task: &TaskId,
    tab: Tab,
    width: usize,
) -> Result<Option<Content>, DriverError> {
    Ok(Some(match tab {
        Tab::Terminal => return Ok(None),
        Tab::Task => match driver.requests.task_text(task)? {
            Some(text) => Content::Lines(contents::task(&text, theme, width)),
            None => Content::Nothing(String::from("TASK.md is being written")),
        },
        Tab::Diff => diff::diff(&driver.workspaces.diff(task, false, false)?),
        Tab::Timeline => Content::Lines(contents::timeline(
            &driver.views.history(task, 0)?,
            theme,
            width,
        )),
        Tab::Workflow => {
            let details = driver.views.show(task)?;
            let workflow = driver.views.workflow_of(task)?;
            let why = driver.views.why(task)?;
            let outlook = driver.views.outlook(task)?;
            let view = contents::WorkflowView {
                details: &details,
                why: why.as_ref(),
                outlook: &outlook,
                workflow: &workflow,
            };
            Content::Lines(contents::workflow(&view, theme, width))
        }
    }))
}
