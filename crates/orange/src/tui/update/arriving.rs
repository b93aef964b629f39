//! Handles messages from the driver and the gatherers.

use orange_driver::Showing;
use orange_engine::names::TaskId;

use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::message::{Came, Message};
use crate::tui::model::mode::{Mode, Question, Told};
use crate::tui::theme::Tone;

/// How many seconds a notice stays.
const STANDS: u64 = 8;

pub(super) fn arrive(model: &mut Model, message: Message) -> Vec<Command> {
    match message {
        Message::Tick(now) => {
            model.now = now;
            let is_old = |at| now.seconds_since(at) >= STANDS;
            if model.notice.as_ref().is_some_and(|it| is_old(it.at)) {
                model.notice = None;
            }
        }
        Message::Changed(change) => {
            let changed: Vec<TaskId> = change.rows.iter().map(|row| row.id.clone()).collect();
            model.trouble = None;
            model.list.take(change);
            let shown = |id: &TaskId| model.aim.visible.contains(id);
            let again: Vec<TaskId> = changed.into_iter().filter(shown).collect();
            if !again.is_empty() {
                return vec![Command::Again(again)];
            }
        }
        Message::Trouble(trouble) => model.trouble = trouble,
        Message::Agents(seen) => {
            for entry in model.list.entries_mut() {
                entry.seen = seen.get(&entry.row.id).copied();
            }
        }
        Message::Doing(doing) => {
            let mut has_moved = false;
            for entry in model.list.entries_mut() {
                let before = entry.zone();
                entry.doing = doing.get(&entry.row.id).copied();
                has_moved |= entry.zone() != before;
            }
            // A task whose agent asks for something is in another zone.
            if has_moved {
                model.list.arrange();
            }
        }
        Message::Glanced(task, glance) => {
            if let Some(entry) = model.list.entry_mut(&task) {
                entry.glance = Some(*glance);
            }
        }
        Message::Measured(task, extent) => {
            if let Some(entry) = model.list.entry_mut(&task) {
                entry.extent = Some(extent);
            }
        }
        Message::Loaded(task, tab, content) if model.detail.of.as_ref() == Some(&task) => {
            model.detail.set(tab, content);
        }
        Message::Supervised(supervision) => model.supervision = supervision,
        Message::Choices(choices) => {
            if let Mode::Create(form) = &mut model.mode {
                form.offer(&choices);
            }
            model.choices = choices;
        }
        Message::Workspaces(found) => {
            if let Mode::Workspaces(shown, _) = &mut model.mode {
                match found {
                    Ok(found) => *shown = Some(found),
                    Err(why) => fail(model, "cannot list the workspaces", why),
                }
            }
        }
        Message::HeldUp(number) => {
            let mut doing = model.doing.iter_mut();
            if let Some(doing) = doing.find(|it| it.number == number) {
                doing.is_held_up = true;
            }
        }
        Message::Answered(number, came) => return answered(model, number, came),
        Message::Edited(Ok(text)) => super::typing::replace(model, &text),
        Message::Edited(Err(why)) => fail(model, "the editor did not end well", why),
        Message::Found(task, found) => return find(model, &task, found),
        Message::Returned(Ok(())) => return vec![Command::Refresh],
        Message::Returned(Err(told)) => model.mode = Mode::Told(told),
        // Everything else is handled elsewhere.
        _ => {}
    }
    Vec::new()
}

fn answered(model: &mut Model, number: u64, came: Came) -> Vec<Command> {
    let at = model.doing.iter().position(|it| it.number == number);
    let done = at.map(|at| model.doing.remove(at).action);
    match came {
        Came::Done { task, told } => {
            model.say(Tone::Good, told);
            match (&done, &task) {
                (Some(Action::Delete(task)), _) => model.deleted.push(task.clone()),
                (Some(Action::Undelete(back)), _) => model.deleted.retain(|it| it != back),
                // The user most likely continues with the new task.
                (Some(Action::Create(_)), Some(task)) => model.list.select(task),
                _ => {}
            }
        }
        Came::Asked { question, then } => {
            // Do not interrupt a user who is in the middle of something.
            if model.mode == Mode::Browse {
                model.mode = Mode::Confirm(Question {
                    asked: question,
                    consequences: vec![then.told()],
                    then: then.confirmed(),
                    others: Vec::new(),
                });
            } else {
                model.say(Tone::Warn, question);
            }
        }
        Came::Failed(told) => {
            if model.mode == Mode::Browse {
                model.mode = Mode::Told(told);
            } else {
                model.say(Tone::Bad, told.lines.join(" "));
            }
        }
    }
    Vec::new()
}

/// Shows the agent, unless the user has turned to something else meanwhile.
fn find(model: &mut Model, task: &TaskId, found: Result<Box<Showing>, Told>) -> Vec<Command> {
    if model.looked_for.as_ref() != Some(task) {
        return Vec::new();
    }
    model.looked_for = None;
    let chosen = model.list.selected().map(|entry| &entry.row.id);
    let is_waited_for = model.mode == Mode::Browse && chosen == Some(task);
    match found {
        Ok(showing) if is_waited_for => return vec![Command::Show(showing)],
        Err(told) if is_waited_for => model.mode = Mode::Told(told),
        Ok(_) => {}
        Err(told) => model.say(Tone::Bad, told.lines.join(" ")),
    }
    Vec::new()
}

fn fail(model: &mut Model, title: &str, why: String) {
    model.mode = Mode::Told(Told {
        title: title.to_owned(),
        lines: vec![why],
        hints: Vec::new(),
    });
}
