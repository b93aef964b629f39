//! Handles messages from the driver and the gatherers.

use orange_driver::AgentTerminal;
use orange_engine::language::workflow::Kind;
use orange_engine::names::TaskId;

use super::{marked, merge, permission};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::message::{ActionResult, Message};
use crate::tui::model::mode::{Alert, Choice, Mode, Question};
use crate::tui::model::review::Review;
use crate::tui::theme::Tone;

/// How many seconds a notice stays.
const NOTICE_SECONDS: u64 = 8;

pub(super) fn receive(model: &mut Model, message: Message) -> Vec<Command> {
    match message {
        Message::Tick(now) => {
            model.now = now;
            let is_old = |at| now.seconds_since(at) >= NOTICE_SECONDS;
            if model.notice.as_ref().is_some_and(|it| is_old(it.at)) {
                model.notice = None;
            }
        }
        Message::Changed(change) => {
            let changed: Vec<TaskId> = change.rows.iter().map(|row| row.id.clone()).collect();
            model.list_error = None;
            for row in &change.rows {
                if row.kind == Some(Kind::Terminal) {
                    // The task is finished, and so is its review. Comments are kept: the user typed
                    // them.
                    let forget = |review: &mut Review| review.viewed.clear();
                    model.drafts.change_review(&row.id, forget);
                }
            }
            model.list.apply_change(change);
            let is_visible = |id: &TaskId| model.viewport.visible.contains(id);
            let to_reload: Vec<TaskId> = changed.into_iter().filter(is_visible).collect();
            if !to_reload.is_empty() {
                return vec![Command::Reload(to_reload)];
            }
        }
        Message::ListError(error) => model.list_error = error,
        Message::Agents(states) => {
            for entry in model.list.entries_mut() {
                entry.agent_state = states.get(&entry.row.id).copied();
            }
        }
        Message::Activity(activities) => {
            let mut has_moved = false;
            for entry in model.list.entries_mut() {
                let before = entry.zone();
                entry.activity = activities.get(&entry.row.id).copied();
                has_moved |= entry.zone() != before;
            }
            // A task whose agent asks for something is in another zone.
            if has_moved {
                model.list.arrange();
            }
        }
        Message::Requests(waiting) => permission::receive(model, waiting),
        Message::Glance(task, glance) => {
            if let Some(entry) = model.list.entry_mut(&task) {
                entry.glance = Some(*glance);
            }
        }
        Message::Extent(task, extent) => {
            if let Some(entry) = model.list.entry_mut(&task) {
                entry.extent = Some(extent);
            }
        }
        Message::Usage(usages) => model.list.usages.extend(usages),
        Message::PullRequests(found) => model.list.pull_requests = found,
        Message::Loaded(task, tab, content) if model.detail.task.as_ref() == Some(&task) => {
            model.detail.set(tab, content, &model.drafts.review(&task));
        }
        Message::Supervision(supervision) => model.supervision = supervision,
        Message::Choices(choices) => {
            if let Mode::Create(form) = &mut model.mode {
                form.set_choices(&choices);
            }
            model.choices = choices;
        }
        Message::Workspaces(found) => {
            if let Mode::Workspaces(shown, _) = &mut model.mode {
                match found {
                    Ok(found) => *shown = Some(found),
                    Err(why) => fail(model, "Cannot list the workspaces", why),
                }
            }
        }
        Message::MergeForecast(task, forecast) => {
            merge::show_forecast(model, &task, forecast.as_deref().map_err(String::as_str));
        }
        Message::Blocked(number) => {
            let mut pending = model.pending.iter_mut();
            if let Some(action) = pending.find(|it| it.number == number) {
                action.is_blocked = true;
            }
        }
        Message::Answered(number, result) => return handle_answer(model, number, result),
        Message::Edited(text, failure) => {
            if let Some(text) = text {
                super::text::replace(model, &text);
            }
            if let Some(failure) = failure {
                model.set_notice(Tone::Bad, format!("your text is kept; {failure}"));
            }
        }
        Message::Drafts(other) => model.other_drafts = Some(*other),
        // A dialog would take keys that the user means for something else.
        Message::DraftsProblem(problem) => model.set_notice(Tone::Bad, problem),
        Message::AgentFound(task, found) => return show_agent(model, &task, found),
        Message::TerminalReturned(Ok(())) => return vec![Command::Refresh],
        Message::TerminalReturned(Err(alert)) => model.mode = Mode::Alert(alert),
        // `update` handles the other messages itself.
        _ => {}
    }
    Vec::new()
}

fn handle_answer(model: &mut Model, number: u64, result: ActionResult) -> Vec<Command> {
    let at = model.pending.iter().position(|it| it.number == number);
    let action = at.map(|at| model.pending.remove(at).action);
    match result {
        ActionResult::Done { task, text } => {
            model.set_notice(Tone::Good, text);
            if let Some(action) = &action {
                note_done(model, action, task.as_ref());
            }
        }
        ActionResult::Registered { task, text, notice } => {
            model.set_notice(Tone::Good, text);
            if let Some(action) = &action {
                note_done(model, action, Some(&task));
            }
            if model.mode == Mode::Browse {
                model.mode = Mode::Alert(notice);
            }
        }
        ActionResult::Several(results) => {
            if let Some(action) = &action {
                marked::show_results(model, action, results);
            }
        }
        ActionResult::NeedsConfirmation { question, then } => {
            // Do not interrupt the user in the middle of something else.
            if model.mode == Mode::Browse {
                model.mode = Mode::Confirm(Question {
                    text: question,
                    consequences: vec![then.description()],
                    choices: vec![Choice::yes(then.with_confirmation())],
                });
            } else {
                model.set_notice(Tone::Warn, question);
            }
        }
        ActionResult::Refused(alert) | ActionResult::Failed(alert) => {
            if model.mode == Mode::Browse {
                model.mode = Mode::Alert(alert);
            } else {
                model.set_notice(Tone::Bad, alert.lines.join(" "));
            }
        }
    }
    Vec::new()
}

/// Updates what depends on an action that was done.
pub(super) fn note_done(model: &mut Model, action: &Action, task: Option<&TaskId>) {
    model.drafts.forget(action);
    match (action, task) {
        (Action::Delete(task), _) => model.deleted.push(task.clone()),
        (Action::Undelete(restored), _) => model.deleted.retain(|it| it != restored),
        // The user most likely continues with the new task.
        (Action::Create(_), Some(task)) => model.list.select(task),
        _ => {}
    }
}

/// Shows the agent, unless the user has turned to something else meanwhile.
fn show_agent(
    model: &mut Model,
    task: &TaskId,
    found: Result<Box<AgentTerminal>, Alert>,
) -> Vec<Command> {
    if model.attach_target.as_ref() != Some(task) {
        return Vec::new();
    }
    model.attach_target = None;
    let selected = model.list.selected().map(|entry| &entry.row.id);
    let is_still_wanted = model.mode == Mode::Browse && selected == Some(task);
    match found {
        Ok(terminal) if is_still_wanted => return vec![Command::Show(terminal)],
        Err(alert) if is_still_wanted => model.mode = Mode::Alert(alert),
        Ok(_) => {}
        Err(alert) => model.set_notice(Tone::Bad, alert.lines.join(" ")),
    }
    Vec::new()
}

fn fail(model: &mut Model, title: &str, why: String) {
    model.mode = Mode::Alert(Alert {
        title: title.to_owned(),
        lines: vec![why],
        hints: Vec::new(),
        offer: None,
    });
}
