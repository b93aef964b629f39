//! Changes the model: pure, without a clock or I/O.

mod browse;
mod demo;
mod dialogs;
mod diff;
mod form;
mod incoming;
mod marked;
mod merge;
mod mouse;
mod permission;
mod pull_request;
mod text;

use orange_engine::names::TaskId;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::layout::{diff_room, layout};
use super::model::Model;
use super::model::command::{Command, Viewport};
use super::model::detail::Tab;
use super::model::message::Message;
use super::model::mode::Mode;

/// Applies a message; returns what is to be done outside of the model.
pub fn update(model: &mut Model, message: Message) -> Vec<Command> {
    let old_drafts = model.drafts.clone();
    let is_input = matches!(
        message,
        Message::Key(_) | Message::Mouse(_) | Message::Paste(_)
    );
    if let Some(demo) = &mut model.demo {
        demo.is_begun |= is_input;
    }
    let mut commands = match message {
        Message::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        Message::Key(key) => press(model, key),
        Message::Mouse(mouse) => mouse::click(model, mouse),
        Message::Paste(text) => text::paste(model, &text),
        Message::Resized(width, height) => {
            (model.width, model.height) = (width, height);
            Vec::new()
        }
        Message::Suspend => vec![Command::Suspend],
        Message::Continued => vec![Command::Redraw],
        Message::End => vec![Command::Quit],
        other => incoming::receive(model, other),
    };
    model.drafts.note(&model.mode);
    take_other_drafts(model);
    if model.drafts != old_drafts {
        if let Some(task) = model.detail.task.clone() {
            model.detail.set_review(&model.drafts.review(&task));
        }
        commands.push(Command::SaveDrafts(Box::new(model.drafts.clone())));
    }
    update_derived(model, &mut commands);
    commands
}

/// Adds the drafts of another dashboard, unless the user is typing: a text must not change under
/// the cursor.
fn take_other_drafts(model: &mut Model) {
    let is_typing = matches!(
        model.mode,
        Mode::Create(_) | Mode::Write(_) | Mode::Comment(_)
    );
    if !is_typing && let Some(other) = model.other_drafts.take() {
        model.drafts = model.drafts.merge_into(other.saved, &other.before);
    }
}

fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    // Ctrl-C quits whatever is open, as in any program.
    if is_control && key.code == KeyCode::Char('c') {
        return vec![Command::Quit];
    }
    if is_control && key.code == KeyCode::Char('z') {
        return vec![Command::Suspend];
    }
    match &model.mode {
        Mode::Browse => browse::press(model, key),
        Mode::Search(_) => text::search(model, key),
        Mode::Write(_) => text::write(model, key),
        Mode::Comment(_) => text::comment(model, key),
        Mode::Create(_) => form::press(model, key),
        Mode::Palette(..) => dialogs::palette(model, key),
        Mode::Moves(_) => dialogs::moves(model, key),
        Mode::Filter(_) => dialogs::filter(model, key),
        Mode::Workspaces(..) => dialogs::workspaces(model, key),
        Mode::Confirm(_) => dialogs::confirm(model, key),
        Mode::Permission(_) => permission::press(model, key),
        Mode::Help(_) => dialogs::help(model, key),
        Mode::Alert(_) => dialogs::handle_alert_key(model, key),
        Mode::DemoOver => demo::press(model, key),
    }
}

/// Updates everything that depends on other state, and requests the data for what is visible now.
fn update_derived(model: &mut Model, commands: &mut Vec<Command>) {
    demo::lead(model);
    let selected = model.list.selected().map(|entry| entry.row.id.clone());
    if selected.is_none() {
        model.detail.is_zoomed = false;
    }
    model.detail.select_task(selected.as_ref());
    let room = diff_room(model);
    let (diff, files) = model.detail.diff_mut();
    diff.show_cursor(files, room);
    permission::mark_read(model);
    let places = layout(model);
    let height = places.list.map_or(0, |area| area.height.into());
    model.list.scroll_to_selected(height);
    let new_viewport = viewport(model, height, selected);
    if new_viewport != model.viewport {
        model.viewport = new_viewport.clone();
        commands.push(Command::Watch(new_viewport));
    }
}

fn viewport(model: &Model, height: usize, selected: Option<TaskId>) -> Viewport {
    let lines = model.list.lines().iter().skip(model.list.top).take(height);
    let mut visible: Vec<TaskId> = lines
        .filter_map(|line| match line {
            super::model::list::Line::Task(id) => Some(id.clone()),
            super::model::list::Line::Heading(..) => None,
        })
        .collect();
    // The footer shows what can be done with the selected task, even if the task is scrolled away.
    if let Some(id) = selected.as_ref().filter(|id| !visible.contains(id)) {
        visible.insert(0, id.clone());
    }
    // The dialog about marked tasks says what can be done with each of them.
    for entry in model.list.marked() {
        if !visible.contains(&entry.row.id) {
            visible.push(entry.row.id.clone());
        }
    }
    let detail = layout(model).detail;
    let scrollback = match model.detail.tab {
        Tab::Terminal if model.detail.scroll() > 0 => MAX_SCROLLBACK,
        _ => 0,
    };
    Viewport {
        visible,
        detail: selected
            .filter(|_| detail.is_some())
            .map(|id| (id, model.detail.tab)),
        width: detail.map_or(0, |area| area.width),
        scrollback,
    }
}

/// How many lines of an agent's earlier output can be scrolled to.
const MAX_SCROLLBACK: usize = 2000;

fn start_action(model: &mut Model, action: super::model::command::Action) -> Vec<Command> {
    let number = model.next_number;
    model.next_number += 1;
    model.notice = None;
    if matches!(action, super::model::command::Action::Several(_)) {
        model.list.clear_marks();
    }
    model.pending.push(super::model::PendingAction {
        number,
        action: action.clone(),
        is_blocked: false,
    });
    vec![Command::Act(number, action)]
}
