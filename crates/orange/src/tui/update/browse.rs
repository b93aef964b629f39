//! What keys do while browsing.

use orange_engine::attention::Need;
use orange_engine::input::RequestKind;
use orange_engine::language::verbs::Verb;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::{diff, marked, merge, permission, pull_request, start_action};
use crate::tui::keys::{KeyAction, key_action};
use crate::tui::layout::{layout, shows_diff};
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::detail::{Content, Tab};
use crate::tui::model::entry::{EnterAction, Entry};
use crate::tui::model::field::Field;
use crate::tui::model::form::Form;
use crate::tui::model::list::Filter;
use crate::tui::model::mode::{Alert, Choice, MessageDraft, Mode, Question};
use crate::tui::theme::Tone;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    if let Some(action) = key_action(model, key) {
        return perform(model, action);
    }
    explain_missing_editor(model, key);
    Vec::new()
}

/// Says why a key opens no text field. What the user types next would otherwise act as keys.
fn explain_missing_editor(model: &mut Model, key: KeyEvent) {
    let Some(entry) = model.list.selected().filter(|_| key.modifiers.is_empty()) else {
        return;
    };
    let (id, status) = (&entry.row.id, &entry.row.status);
    let (title, reason) = match key.code {
        KeyCode::Char('i') => ("No message", format!("No agent of {id} is running.")),
        KeyCode::Char('r') => (
            "No changes requested",
            format!("In `{status}`, you cannot request changes from {id}."),
        ),
        _ => return,
    };
    model.mode = Mode::Alert(Alert {
        title: title.to_owned(),
        lines: vec![reason],
        hints: Vec::new(),
        offer: None,
    });
}

/// Does what a key or a command of the palette stands for.
pub(super) fn perform(model: &mut Model, action: KeyAction) -> Vec<Command> {
    if marked::open_dialog(model, action) {
        return Vec::new();
    }
    match action {
        KeyAction::Quit => return vec![Command::Quit],
        KeyAction::Suspend => return vec![Command::Suspend],
        KeyAction::Enter => return enter(model),
        KeyAction::Verb(verb) => return request_verb(model, verb),
        KeyAction::Stop => return request(model, RequestKind::Stop { role: None }),
        KeyAction::Restart => return request(model, RequestKind::Restart { role: None }),
        KeyAction::Reopen => return request(model, RequestKind::Reopen),
        KeyAction::PullRequest => return pull_request::open(model),
        KeyAction::Undo => return undo(model),
        KeyAction::Create => return create(model),
        KeyAction::Copy => return copy(model),
        KeyAction::Go(by) => model.list.move_selection(by),
        KeyAction::Page(pages) => {
            let height = layout(model).list.map_or(1, |area| area.height);
            let height = isize::try_from(height).unwrap_or(1).max(2) - 1;
            model.list.move_selection(pages * height);
        }
        KeyAction::Move => model.mode = Mode::Moves(0),
        KeyAction::Mark => {
            model.list.toggle_mark();
            model.list.move_selection(1);
        }
        KeyAction::Tell => open_message_editor(model),
        KeyAction::Permission => permission::open(model),
        KeyAction::Zoom => model.detail.is_zoomed = !model.detail.is_zoomed,
        KeyAction::Filter => {
            let at = Filter::ALL
                .iter()
                .position(|(it, _)| *it == model.list.filter);
            model.mode = Mode::Filter(at.unwrap_or(0));
        }
        KeyAction::Scope => {
            model.list.shows_all_projects = !model.list.shows_all_projects;
            model.list.arrange();
        }
        KeyAction::Sort => {
            model.list.sort = model.list.sort.next();
            model.list.arrange();
            let text = format!("order: {}", model.list.sort.name());
            model.set_notice(Tone::Dim, text);
        }
        KeyAction::Group => {
            model.list.by_project = !model.list.by_project;
            model.list.arrange();
        }
        KeyAction::Workspaces => {
            model.mode = Mode::Workspaces(None, 0);
            return vec![Command::LoadWorkspaces];
        }
        KeyAction::Delete => delete(model),
        KeyAction::Edit => {
            let selected = model.list.selected().map(|entry| entry.row.id.clone());
            return selected.map(Command::EditTask).into_iter().collect();
        }
        KeyAction::Open(tool) => {
            let selected = model.list.selected().map(|entry| entry.row.id.clone());
            let open = selected.map(|task| Command::Open(task, tool));
            return open.into_iter().collect();
        }
        KeyAction::Refresh => {
            model.set_notice(Tone::Dim, "redrawn");
            return vec![Command::Refresh, Command::Redraw];
        }
        KeyAction::Search => model.mode = Mode::Search(Field::of(model.list.search.clone())),
        KeyAction::Palette => model.mode = Mode::Palette(Field::default(), 0),
        KeyAction::Help => model.mode = Mode::Help(0),
        KeyAction::Tab(tab) => show_tab(model, tab),
        KeyAction::NextTab(by) => show_tab(model, model.detail.tab.next(by)),
        KeyAction::Scroll(by) => scroll(model, by),
        KeyAction::ScrollPage(pages) => {
            let height = layout(model).detail.map_or(2, |area| area.height);
            scroll(
                model,
                pages * (isize::try_from(height).unwrap_or(2) / 2).max(1),
            );
        }
        KeyAction::Line(by) => diff::move_by(model, by),
        KeyAction::DiffPage(pages) => diff::page(model, pages),
        KeyAction::File(is_next) => diff::go_to_file(model, is_next),
        KeyAction::Hunk(is_next) => diff::go_to_hunk(model, is_next),
        KeyAction::Sideways(by) => diff::scroll_sideways(model, by),
        KeyAction::Wrap => diff::toggle_wrap(model),
        KeyAction::Fold => diff::fold(model),
        KeyAction::Viewed => diff::toggle_viewed(model),
        KeyAction::Select => model.detail.diff.toggle_selection(),
        KeyAction::SelectLine(by) => {
            model.detail.diff.start_selection();
            diff::move_by(model, by);
        }
        KeyAction::Comment => diff::comment(model),
        KeyAction::Back => back(model),
    }
    Vec::new()
}

/// Shows a view. If there is no room for the view beside the list, the view replaces the list.
fn show_tab(model: &mut Model, tab: Tab) {
    model.detail.tab = tab;
    if layout(model).detail.is_none() {
        model.detail.is_zoomed = true;
    }
}

pub(super) fn scroll(model: &mut Model, by: isize) {
    if shows_diff(model) {
        return diff::scroll(model, by);
    }
    let room = layout(model)
        .detail
        .map_or(0, |area| usize::from(area.height));
    let maximum = match model.detail.content() {
        // Earlier output is fetched only when the user scrolls, so its height may not be known yet.
        Content::Screen(_) => model.detail.height().max(super::MAX_SCROLLBACK),
        _ => model.detail.height().saturating_sub(room.max(1)),
    };
    model.detail.scroll_by(by, maximum);
}

fn back(model: &mut Model) {
    if shows_diff(model) && model.detail.diff.end_selection() {
        return;
    }
    if model.detail.is_zoomed {
        model.detail.is_zoomed = false;
    } else if !model.list.search.is_empty() {
        model.list.search.clear();
        model.list.arrange();
    } else if !model.list.marked().is_empty() {
        model.list.clear_marks();
    } else {
        model.notice = None;
    }
}

pub(super) fn enter(model: &mut Model) -> Vec<Command> {
    let Some(entry) = model.list.selected() else {
        return Vec::new();
    };
    let id = entry.row.id.clone();
    match entry.enter_action() {
        // Pressing the key twice must not attach twice.
        EnterAction::Attach if model.attach_target.as_ref() == Some(&id) => Vec::new(),
        EnterAction::Attach => {
            model.attach_target = Some(id.clone());
            vec![Command::Attach(id)]
        }
        EnterAction::Spawn => start_action(model, Action::ask(&id, RequestKind::Verb(Verb::Spawn))),
        EnterAction::Respawn => {
            start_action(model, Action::ask(&id, RequestKind::Respawn { role: None }))
        }
        EnterAction::View => {
            model.detail.is_zoomed = true;
            Vec::new()
        }
    }
}

/// Makes a request to the selected task, without a question.
fn request(model: &mut Model, kind: RequestKind) -> Vec<Command> {
    let selected = model.list.selected();
    match selected.map(|entry| Action::ask(&entry.row.id, kind)) {
        Some(action) => start_action(model, action),
        None => Vec::new(),
    }
}

/// Requests a verb. Asks first if it merges or cancels the task; opens an editor if it needs a
/// message.
pub(super) fn request_verb(model: &mut Model, verb: Verb) -> Vec<Command> {
    let Some(entry) = model.list.selected() else {
        return Vec::new();
    };
    let id = entry.row.id.clone();
    match verb {
        Verb::Merge => {
            let comments = model.drafts.review(&id).into_owned().comments;
            model.mode = Mode::Confirm(merge::question(entry, &comments, None));
            return vec![Command::ForecastMerge(id)];
        }
        Verb::Cancel => {
            let action = Action::ask(&id, RequestKind::Verb(verb));
            model.mode = Mode::Confirm(cancel_question(entry, action));
        }
        Verb::RequestChanges => {
            let action = Action::ask(&id, RequestKind::Verb(verb));
            let title = format!("What should change in {id}?");
            let comments = model.drafts.review(&id).comments.len();
            model.mode = Mode::Write(MessageDraft {
                title: match comments {
                    0 => title,
                    1 => format!("{title} (sent with your comment on the diff)"),
                    count => format!("{title} (sent with your {count} comments on the diff)"),
                },
                text: Field::of(model.drafts.message_for(&action)),
                action,
                explanation: Vec::new(),
                is_optional: comments > 0,
            });
        }
        verb => return start_action(model, Action::ask(&id, RequestKind::Verb(verb))),
    }
    Vec::new()
}

fn cancel_question(entry: &Entry, then: Action) -> Question {
    let row = &entry.row;
    let question = entry.way(Verb::Cancel).and_then(|way| way.question());
    let mut consequences = vec![format!("{}: {}", row.id, entry.summary())];
    if entry.has_worktree() {
        consequences.extend([
            String::from("Its agents are stopped and its worktree is released."),
            format!(
                "Kept: the commits on `{}`. Uncommitted changes are saved.",
                row.branch
            ),
            format!("`orange task restore {}` restores saved work.", row.id),
        ]);
    } else {
        consequences.push(format!(
            "It has no worktree now. Commits on `{}` and saved work are kept.",
            row.branch
        ));
    }
    Question {
        text: question.map_or_else(|| format!("Cancel {}?", row.id), str::to_owned),
        consequences,
        choices: vec![Choice::yes(if question.is_some() {
            then.with_confirmation()
        } else {
            then
        })],
    }
}

fn delete(model: &mut Model) {
    if let Some(entry) = model.list.selected() {
        let row = &entry.row;
        model.mode = Mode::Confirm(Question {
            text: format!("Delete {}?", row.id),
            consequences: vec![
                entry.summary().to_owned(),
                String::from("It is no longer listed; its directory is moved to the trash."),
                format!("Kept: the branch `{}`, saved work and history.", row.branch),
                String::from("`u` restores the task."),
            ],
            choices: vec![Choice::yes(Action::Delete(row.id.clone()))],
        });
    }
}

fn undo(model: &mut Model) -> Vec<Command> {
    match model.deleted.last().cloned() {
        Some(task) => start_action(model, Action::Undelete(task)),
        None => Vec::new(),
    }
}

fn open_message_editor(model: &mut Model) {
    if let Some(entry) = model.list.selected() {
        let id = entry.row.id.clone();
        let action = Action::ask(&id, RequestKind::Tell { role: None });
        model.mode = Mode::Write(MessageDraft {
            title: match entry.row.need {
                Some(Need::Question) => format!("Answer the agent of {id}"),
                _ => format!("Message to the agent of {id}"),
            },
            text: Field::of(model.drafts.message_for(&action)),
            action,
            explanation: Vec::new(),
            is_optional: false,
        });
    }
}

fn create(model: &mut Model) -> Vec<Command> {
    let here = model.list.project.as_ref();
    let selected = model.list.selected().map(|entry| &entry.row.project);
    let project = here.or(selected).map(|it| it.as_str().to_owned());
    let pending = model.pending.iter().filter_map(|it| match &it.action {
        Action::Create(draft) => Some(&**draft),
        _ => None,
    });
    let form = if let Some(draft) = model.drafts.take_task(&pending.collect::<Vec<_>>()) {
        model.set_notice(Tone::Dim, "your draft; ^X discards it");
        Form::of_draft(&model.choices, &draft)
    } else {
        Form::new(&model.choices, project.as_deref())
    };
    model.mode = Mode::Create(Box::new(form));
    vec![Command::LoadChoices]
}

fn copy(model: &mut Model) -> Vec<Command> {
    let selected = model.list.selected().map(|entry| entry.row.id.to_string());
    match selected {
        Some(id) => {
            model.set_notice(Tone::Dim, format!("copied {id}"));
            vec![Command::Copy(id)]
        }
        None => Vec::new(),
    }
}
