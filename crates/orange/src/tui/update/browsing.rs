//! What keys do while browsing.

use orange_engine::attention::Need;
use orange_engine::effect::MergeStrategy;
use orange_engine::input::Ask;
use orange_engine::language::verbs::Verb;
use ratatui::crossterm::event::KeyEvent;

use super::act;
use crate::tui::keys::{Deed, deed};
use crate::tui::layout::layout;
use crate::tui::model::Model;
use crate::tui::model::command::{Action, Command};
use crate::tui::model::detail::{Content, Tab};
use crate::tui::model::entry::{Entering, Entry};
use crate::tui::model::field::Field;
use crate::tui::model::form::Form;
use crate::tui::model::list::Filter;
use crate::tui::model::mode::{Letter, Mode, Question};
use crate::tui::theme::Tone;

pub(super) fn press(model: &mut Model, key: KeyEvent) -> Vec<Command> {
    match deed(model, key) {
        Some(deed) => perform(model, deed),
        None => Vec::new(),
    }
}

/// Does what a key or a command of the palette stands for.
pub(super) fn perform(model: &mut Model, deed: Deed) -> Vec<Command> {
    match deed {
        Deed::Quit => return vec![Command::Quit],
        Deed::Suspend => return vec![Command::Suspend],
        Deed::Enter => return enter(model),
        Deed::Verb(verb) => return ask_for(model, verb),
        Deed::Undo => return undo(model),
        Deed::Create => return create(model),
        Deed::Copy => return copy(model),
        Deed::Go(by) => model.list.go(by),
        Deed::Page(pages) => {
            let height = layout(model).list.map_or(1, |area| area.height);
            let height = isize::try_from(height).unwrap_or(1).max(2) - 1;
            model.list.go(pages * height);
        }
        Deed::Move => model.mode = Mode::Moves(0),
        Deed::Tell => tell(model),
        Deed::Zoom => model.detail.is_zoomed = !model.detail.is_zoomed,
        Deed::Filter => {
            let at = Filter::ALL
                .iter()
                .position(|(it, _)| *it == model.list.filter);
            model.mode = Mode::Filter(at.unwrap_or(0));
        }
        Deed::Scope => {
            model.list.is_everywhere = !model.list.is_everywhere;
            model.list.arrange();
        }
        Deed::Sort => {
            model.list.sort = model.list.sort.next();
            model.list.arrange();
            let told = format!("order: {}", model.list.sort.name());
            model.say(Tone::Dim, told);
        }
        Deed::Group => {
            model.list.by_project = !model.list.by_project;
            model.list.arrange();
        }
        Deed::Workspaces => {
            model.mode = Mode::Workspaces(None, 0);
            return vec![Command::LoadWorkspaces];
        }
        Deed::Delete => delete(model),
        Deed::Edit => {
            let chosen = model.list.selected();
            return chosen
                .map(|entry| Command::EditTask(entry.row.id.clone()))
                .into_iter()
                .collect();
        }
        Deed::Refresh => {
            model.say(Tone::Dim, "looking again");
            return vec![Command::Refresh, Command::Redraw];
        }
        Deed::Search => model.mode = Mode::Search(Field::of(model.list.search.clone())),
        Deed::Palette => model.mode = Mode::Palette(Field::default(), 0),
        Deed::Help => model.mode = Mode::Help(0),
        Deed::Tab(tab) => turn(model, tab),
        Deed::NextTab(by) => turn(model, model.detail.tab.next(by)),
        Deed::Scroll(by) => scroll(model, by),
        Deed::ScrollPage(pages) => {
            let height = layout(model).detail.map_or(2, |area| area.height);
            scroll(
                model,
                pages * (isize::try_from(height).unwrap_or(2) / 2).max(1),
            );
        }
        Deed::File(by) => point_at_file(model, by),
        Deed::Fold => fold(model),
        Deed::Back => back(model),
    }
    Vec::new()
}

/// Shows a view; if there is no room for it beside the list, it replaces the list.
fn turn(model: &mut Model, tab: Tab) {
    model.detail.tab = tab;
    if layout(model).detail.is_none() {
        model.detail.is_zoomed = true;
    }
}

pub(super) fn scroll(model: &mut Model, by: isize) {
    let room = layout(model)
        .detail
        .map_or(0, |area| usize::from(area.height));
    let most = match model.detail.content() {
        // Earlier output is fetched only when the user scrolls.
        Content::Screen(_) => model.detail.height().max(super::BEFORE),
        _ => model.detail.height().saturating_sub(room.max(1)),
    };
    model.detail.scroll_by(by, most);
}

fn back(model: &mut Model) {
    if model.detail.is_zoomed {
        model.detail.is_zoomed = false;
    } else if !model.list.search.is_empty() {
        model.list.search.clear();
        model.list.arrange();
    } else {
        model.notice = None;
    }
}

fn enter(model: &mut Model) -> Vec<Command> {
    let Some(entry) = model.list.selected() else {
        return Vec::new();
    };
    let id = entry.row.id.clone();
    match entry.entering() {
        // Pressing the key twice must not attach twice.
        Entering::Attach if model.looked_for.as_ref() == Some(&id) => Vec::new(),
        Entering::Attach => {
            model.looked_for = Some(id.clone());
            vec![Command::Attach(id)]
        }
        Entering::Spawn => act(model, Action::ask(&id, Ask::Verb(Verb::Spawn))),
        Entering::Respawn => act(model, Action::ask(&id, Ask::Respawn { role: None })),
        Entering::View => {
            model.detail.is_zoomed = true;
            Vec::new()
        }
    }
}

/// Asks before it ends or merges something; lets the user write a message where one is needed.
fn ask_for(model: &mut Model, verb: Verb) -> Vec<Command> {
    let Some(entry) = model.list.selected() else {
        return Vec::new();
    };
    let id = entry.row.id.clone();
    match verb {
        Verb::Merge => {
            model.mode = Mode::Confirm(merge_question(entry));
        }
        Verb::Cancel => {
            let action = Action::ask(&id, Ask::Verb(verb));
            model.mode = Mode::Confirm(cancel_question(entry, action));
        }
        Verb::RequestChanges => {
            model.mode = Mode::Write(Letter {
                title: format!("What should be different in {id}?"),
                action: Action::ask(&id, Ask::Verb(verb)),
                task: id,
                is_optional: false,
                text: Field::default(),
            });
        }
        verb => return act(model, Action::ask(&id, Ask::Verb(verb))),
    }
    Vec::new()
}

fn merge_question(entry: &Entry) -> Question {
    let row = &entry.row;
    let question = entry.way(Verb::Merge).and_then(|way| way.question());
    let submission = entry.glance.as_ref().and_then(|it| it.submission.as_ref());
    // Without a handoff, yes applies to the commit that is shown here.
    let head = entry.extent.as_ref().and_then(|it| it.head.as_ref());
    let head = head.filter(|_| submission.is_none());
    let then = |strategy| {
        let ask = Ask::Merge {
            strategy,
            local: false,
            leave_rest: false,
        };
        let action = Action::ask(&row.id, ask).about(head);
        // The edge's question counts as answered only if it is part of this one: the task may
        // have just entered another status, which may ask a different question.
        match question {
            Some(_) => action.confirmed(),
            None => action,
        }
    };
    let size = entry.extent.as_ref().map(|it| {
        let commits = if it.commits == 1 { "commit" } else { "commits" };
        format!(", {} {commits}, +{} -{}", it.commits, it.added, it.removed)
    });
    let asked = format!("Merge `{}` into the default branch?", row.branch);
    let commit = match (submission, head) {
        (Some(submission), _) => format!("The commit: {submission}."),
        (None, Some(head)) => format!("The commit: {}, which nobody handed over.", head.short()),
        (None, None) => String::from("The branch as it is; nobody handed a commit over."),
    };
    Question {
        asked: match question {
            Some(question) => format!("{question} {asked}"),
            None => asked,
        },
        consequences: vec![
            format!(
                "{}: {}{}",
                row.id,
                entry.summary(),
                size.unwrap_or_default()
            ),
            commit,
            String::from(
                "y fast-forwards the default branch; if it has moved since, c adds a merge commit \
                 and s one commit with everything.",
            ),
            String::from(
                "Your checkout is fast-forwarded if it is clean; otherwise nothing is merged.",
            ),
            String::from("Nothing is merged if the branch has later commits or uncommitted files."),
            String::from("Afterwards the agents are ended and the worktree is released."),
        ],
        then: then(MergeStrategy::Ff),
        others: vec![
            ("c", "merge commit", then(MergeStrategy::Merge)),
            ("s", "squash", then(MergeStrategy::Squash)),
        ],
    }
}

fn cancel_question(entry: &Entry, then: Action) -> Question {
    let row = &entry.row;
    let question = entry.way(Verb::Cancel).and_then(|way| way.question());
    let asked = format!("Give {} up?", row.id);
    Question {
        asked: match question {
            Some(question) => format!("{question} {asked}"),
            None => asked,
        },
        consequences: vec![
            entry.summary().to_owned(),
            String::from("Its agents are ended and its worktree is given back."),
            format!(
                "Kept: the commits on `{}`, and what is not committed, as a rescue.",
                row.branch
            ),
            format!("`orange task restore {}` brings it back.", row.id),
        ],
        then: if question.is_some() {
            then.confirmed()
        } else {
            then
        },
        others: Vec::new(),
    }
}

fn delete(model: &mut Model) {
    if let Some(entry) = model.list.selected() {
        let row = &entry.row;
        model.mode = Mode::Confirm(Question {
            asked: format!("Delete {}?", row.id),
            consequences: vec![
                entry.summary().to_owned(),
                String::from("It is not listed any more; its directory goes to the trash."),
                format!("Kept: the branch `{}`, rescues and history.", row.branch),
                String::from("`u` brings it back."),
            ],
            then: Action::Delete(row.id.clone()),
            others: Vec::new(),
        });
    }
}

fn undo(model: &mut Model) -> Vec<Command> {
    match model.deleted.last().cloned() {
        Some(task) => act(model, Action::Undelete(task)),
        None => Vec::new(),
    }
}

fn tell(model: &mut Model) {
    if let Some(entry) = model.list.selected() {
        let id = entry.row.id.clone();
        model.mode = Mode::Write(Letter {
            title: match entry.row.need {
                Some(Need::Question) => format!("Answer the agent of {id}"),
                _ => format!("Message to the agent of {id}"),
            },
            action: Action::ask(&id, Ask::Tell { role: None }),
            task: id,
            is_optional: false,
            text: Field::default(),
        });
    }
}

fn create(model: &mut Model) -> Vec<Command> {
    let here = model.list.here.as_ref();
    let chosen = model.list.selected().map(|entry| &entry.row.project);
    let project = here.or(chosen).map(|it| it.as_str().to_owned());
    let form = Form::new(&model.choices, project.as_deref());
    model.mode = Mode::Create(Box::new(form));
    vec![Command::LoadChoices]
}

fn copy(model: &mut Model) -> Vec<Command> {
    let chosen = model.list.selected().map(|entry| entry.row.id.to_string());
    match chosen {
        Some(id) => {
            model.say(Tone::Dim, format!("copied {id}"));
            vec![Command::Copy(id)]
        }
        None => Vec::new(),
    }
}

fn point_at_file(model: &mut Model, by: isize) {
    let Content::Files(files) = model.detail.content() else {
        return;
    };
    let last = files.len().saturating_sub(1);
    let file = model.detail.file.saturating_add_signed(by).min(last);
    let lines = model.detail.diff_lines(files);
    let line = lines
        .iter()
        .position(|(of, text)| *of == file && text.is_none());
    let by = line.unwrap_or(0).cast_signed() - model.detail.scroll().cast_signed();
    let most = lines.len().saturating_sub(1);
    model.detail.file = file;
    model.detail.scroll_by(by, most);
}

fn fold(model: &mut Model) {
    let Content::Files(files) = model.detail.content() else {
        return;
    };
    if let Some(file) = files.get(model.detail.file) {
        let path = file.path.clone();
        if !model.detail.folded.remove(&path) {
            model.detail.folded.insert(path);
        }
    }
}
