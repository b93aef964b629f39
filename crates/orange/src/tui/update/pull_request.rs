//! The key for the pull request of the selected task.

use orange_engine::input::RequestKind;

use super::start_action;
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::mode::{Choice, Mode, Question};

/// Shows the pull request in the browser, or asks whether to open one.
pub(super) fn open(model: &mut Model) -> Vec<Command> {
    let Some(entry) = model.list.selected() else {
        return Vec::new();
    };
    let (task, branch) = (entry.row.id.clone(), entry.row.branch.clone());
    if let Some(seen) = model.list.pull_requests.seen.get(&task) {
        let url = seen.url.clone();
        return start_action(model, Action::Browse { task, url });
    }
    let ask = RequestKind::OpenPullRequest { draft: None };
    model.mode = Mode::Confirm(Question {
        text: format!("Open a pull request for {task}?"),
        consequences: vec![
            entry.summary().to_owned(),
            format!("Pushes `{branch}`. The summary is the title, `## Handoff` the text."),
            String::from("If one exists for the branch, it is used. The status stays."),
        ],
        choices: vec![Choice::yes(Action::ask(&task, ask))],
    });
    Vec::new()
}
