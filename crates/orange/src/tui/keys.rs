//! The key table that footer, help and palette are made from.
//!
//! A key that is not in the table for the current model does nothing, so the footer cannot lie: the
//! key for a step is there only if the workflow of the selected task has that step.

use std::borrow::Cow;

use orange_driver::Tool;
use orange_engine::attention::Need;
use orange_engine::language::verbs::Verb;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::diff_keys;
use super::fuzzy::match_cost;
use super::layout::{layout, shows_diff};
use super::model::Model;
use super::model::detail::Tab;
use super::model::entry::{EnterAction, Entry};

/// What a key does while browsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAction {
    /// Moves the selection by this many tasks.
    Go(isize),
    /// Moves the selection by this many pages.
    Page(isize),
    Enter,
    Create,
    Verb(Verb),
    Move,
    /// Marks the selected task, or removes its mark.
    Mark,
    Tell,
    /// Ends the agents; the status stays.
    Stop,
    /// Ends the agents and starts them again.
    Restart,
    /// Continues a cancelled task.
    Reopen,
    /// Shows what the agent asks the user to permit.
    Permission,
    /// Shows or opens the pull request.
    PullRequest,
    /// Shows the view instead of the list, or the list again.
    Zoom,
    Copy,
    Filter,
    /// Shows the tasks of every project, or only of this one.
    Scope,
    Sort,
    Group,
    Workspaces,
    Delete,
    Undo,
    Edit,
    /// Opens the worktree in a program.
    Open(Tool),
    Refresh,
    Search,
    Palette,
    Tab(Tab),
    /// Switches to the view this many places further.
    NextTab(usize),
    /// Scrolls the view by lines.
    Scroll(isize),
    /// Scrolls the view by half pages.
    ScrollPage(isize),
    /// Moves the cursor of the diff by lines.
    Line(isize),
    /// Scrolls the diff by pages.
    DiffPage(isize),
    /// `true` goes to the next file of the diff. `false` goes back to the start of this file, or to
    /// the previous file.
    File(bool),
    /// Like `File`, for hunks.
    Hunk(bool),
    /// Scrolls the diff sideways.
    Sideways(isize),
    /// Wraps the long lines of the diff, or cuts them.
    Wrap,
    /// Collapses or expands the diff of a file.
    Fold,
    /// Marks a file of the diff as viewed, or removes the mark.
    Viewed,
    /// Begins or ends the selection of lines of the diff.
    Select,
    /// Selects lines of the diff by moving its cursor.
    SelectLine(isize),
    /// Opens a comment on lines of the diff.
    Comment,
    Help,
    Back,
    Suspend,
    Quit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub keys: &'static [(KeyCode, KeyModifiers)],
    pub key_label: &'static str,
    /// What the keys do, in a word or two.
    pub label: Cow<'static, str>,
    pub action: KeyAction,
    /// Its priority in the footer; `None` keeps it out.
    pub priority: Option<u8>,
}

pub(super) const NONE: KeyModifiers = KeyModifiers::NONE;
pub(super) const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

macro_rules! keys {
    ($($key:expr),+) => {{
        const KEYS: &[(KeyCode, KeyModifiers)] = &[$(($key, $crate::tui::keys::NONE)),+];
        KEYS
    }};
}
pub(super) use keys;

/// The keys that do something while browsing, in the order of the help.
pub fn bindings(model: &Model) -> Vec<Binding> {
    let mut table = Table(Vec::new());
    add_task_keys(model, &mut table);
    add_list_keys(model, &mut table);
    add_view_keys(model, &mut table);
    add_back_key(model, &mut table);
    let quit = &[(KeyCode::Char('q'), NONE), (KeyCode::Char('c'), CONTROL)];
    table.add(quit, "q", "quit", KeyAction::Quit, Some(1));
    let suspend = &[(KeyCode::Char('z'), CONTROL)];
    table.add(suspend, "^Z", "suspend", KeyAction::Suspend, None);
    table.0
}

pub(super) struct Table(Vec<Binding>);

impl Table {
    pub(super) fn add(
        &mut self,
        keys: &'static [(KeyCode, KeyModifiers)],
        key_label: &'static str,
        label: impl Into<Cow<'static, str>>,
        action: KeyAction,
        priority: Option<u8>,
    ) {
        self.0.push(Binding {
            keys,
            key_label,
            label: label.into(),
            action,
            priority,
        });
    }
}

/// Adds the keys for what the workflow allows for the marked tasks, or else for the selected task.
fn add_task_keys(model: &Model, table: &mut Table) {
    let marked = model.list.marked();
    let name = |label: &'static str| match marked.len() {
        0 => Cow::from(label),
        count => Cow::from(format!("{label} {count}")),
    };
    let selected = model.list.selected();
    let targets = match marked.as_slice() {
        [] => selected.into_iter().collect(),
        marked => marked.to_vec(),
    };
    add_enter_key(&marked, selected, table);
    let verbs: [(&'static [_], &'static str, &'static str, Verb, u8); 3] = [
        (keys![KeyCode::Char('m')], "m", "merge", Verb::Merge, 9),
        (
            keys![KeyCode::Char('r')],
            "r",
            "changes",
            Verb::RequestChanges,
            8,
        ),
        (keys![KeyCode::Char('x')], "x", "cancel", Verb::Cancel, 5),
    ];
    for (keys, key_label, label, verb, priority) in verbs {
        if let Some(way) = targets.iter().find_map(|entry| entry.way(verb)) {
            // A step that must be confirmed is possible, but not usual, so it comes later in the
            // footer.
            let priority = if way.question().is_some() {
                3
            } else {
                priority
            };
            table.add(
                keys,
                key_label,
                name(label),
                KeyAction::Verb(verb),
                Some(priority),
            );
        }
    }
    if selected.is_some_and(|entry| entry.ways().next().is_some()) {
        let keys = keys![KeyCode::Char('t')];
        table.add(keys, "t", "move to", KeyAction::Move, Some(6));
    }
    if selected.is_some_and(|entry| !entry.requests.is_empty()) {
        let keys = keys![KeyCode::Char('p')];
        table.add(keys, "p", "permission", KeyAction::Permission, Some(11));
    }
    if targets.iter().any(|entry| entry.has_agent()) {
        let keys = keys![KeyCode::Char('i')];
        let (label, priority) = match selected.and_then(|entry| entry.row.need) {
            Some(Need::Question) if marked.is_empty() => ("answer", 9),
            _ => ("message", 7),
        };
        table.add(keys, "i", name(label), KeyAction::Tell, Some(priority));
    }
    if let Some(entry) = selected.filter(|_| marked.is_empty()) {
        add_agent_keys(entry, table);
    }
    if let Some(entry) = selected {
        add_pull_request_key(model, entry, table);
        add_file_keys(entry, table);
    }
    if targets.iter().any(|entry| entry.is_ended()) {
        let keys = keys![KeyCode::Char('d')];
        table.add(keys, "d", name("delete"), KeyAction::Delete, Some(8));
    }
}

fn add_enter_key(marked: &[&Entry], selected: Option<&Entry>, table: &mut Table) {
    let can_start = |entry: &&&Entry| entry.can_start();
    let label = match (marked.iter().filter(can_start).count(), selected) {
        (0, None) => return,
        (0, Some(entry)) => Cow::from(match entry.enter_action() {
            EnterAction::Attach => "attach",
            EnterAction::Spawn => "start",
            EnterAction::Respawn => "start agent",
            EnterAction::View => "view",
        }),
        (count, _) => Cow::from(format!("start {count}")),
    };
    let enter = keys![KeyCode::Enter];
    table.add(enter, "Enter", label, KeyAction::Enter, Some(10));
}

/// The keys that stop or restart an agent, or continue a cancelled task.
fn add_agent_keys(entry: &Entry, table: &mut Table) {
    if entry.has_agent() {
        let keys = keys![KeyCode::Char('X')];
        table.add(keys, "X", "stop agent", KeyAction::Stop, None);
    }
    if entry.has_agent() || entry.enter_action() == EnterAction::Respawn {
        let keys = keys![KeyCode::Char('S')];
        table.add(keys, "S", "restart agent", KeyAction::Restart, None);
    }
    if entry.glance.as_ref().is_some_and(|it| it.is_cancelled) {
        let keys = keys![KeyCode::Char('O')];
        table.add(keys, "O", "reopen", KeyAction::Reopen, Some(7));
    }
}

/// The key of the pull request is not `p`, the key for permissions: if a permission were answered
/// elsewhere just before the user presses `p`, that key would ask to publish the branch.
fn add_pull_request_key(model: &Model, entry: &Entry, table: &mut Table) {
    let known = &model.list.pull_requests;
    let label = if known.seen.contains_key(&entry.row.id) {
        "show request"
    } else if known.projects.contains(&entry.row.project) && entry.has_worktree() {
        "pull request"
    } else {
        return;
    };
    let keys = keys![KeyCode::Char('P')];
    table.add(keys, "P", label, KeyAction::PullRequest, Some(4));
}

/// The keys that open or copy something of the selected task.
fn add_file_keys(entry: &Entry, table: &mut Table) {
    let keys = keys![KeyCode::Char('e')];
    table.add(keys, "e", "edit TASK.md", KeyAction::Edit, None);
    for (keys, key_label, label, tool) in [
        (keys![KeyCode::Char('E')], "E", "editor", Tool::Editor),
        (keys![KeyCode::Char('!')], "!", "shell", Tool::Shell),
        (keys![KeyCode::Char('L')], "L", "git client", Tool::Git),
    ] {
        if entry.has_worktree() {
            table.add(keys, key_label, label, KeyAction::Open(tool), None);
        }
    }
    let keys = keys![KeyCode::Char('y')];
    table.add(keys, "y", "copy id", KeyAction::Copy, Some(2));
}

fn add_list_keys(model: &Model, table: &mut Table) {
    if shows_diff(model) {
        let keys = keys![KeyCode::Char('n')];
        table.add(keys, "n", "create", KeyAction::Create, Some(2));
    } else {
        let keys = keys![KeyCode::Char('c'), KeyCode::Char('n')];
        table.add(keys, "c", "create", KeyAction::Create, Some(9));
    }
    if !model.deleted.is_empty() {
        let keys = keys![KeyCode::Char('u')];
        table.add(keys, "u", "undo delete", KeyAction::Undo, Some(9));
    }
    if is_diff_alone(model) {
        diff_keys::add_movement(table);
    } else {
        add_selection_keys(table);
    }
    add_mark_key(model, table);
    for (keys, key_label, label, action) in [
        (keys![KeyCode::Char('o')], "o", "order", KeyAction::Sort),
        (
            keys![KeyCode::Char('b')],
            "b",
            "by project",
            KeyAction::Group,
        ),
        (
            keys![KeyCode::Char('w')],
            "w",
            "workspaces",
            KeyAction::Workspaces,
        ),
        (
            keys![KeyCode::Char('R')],
            "R",
            "refresh",
            KeyAction::Refresh,
        ),
        (
            keys![KeyCode::Char(':')],
            ":",
            "commands",
            KeyAction::Palette,
        ),
    ] {
        table.add(keys, key_label, label, action, None);
    }
    let keys = keys![KeyCode::Char('/')];
    table.add(keys, "/", "search", KeyAction::Search, Some(4));
    let keys = keys![KeyCode::Char('f')];
    table.add(keys, "f", "filter", KeyAction::Filter, Some(3));
    if model.list.project.is_some() {
        let label = if model.list.shows_all_projects {
            "this project"
        } else {
            "all projects"
        };
        let keys = keys![KeyCode::Char('a')];
        table.add(keys, "a", label, KeyAction::Scope, None);
    }
    let keys = keys![KeyCode::Char('?'), KeyCode::F(1)];
    table.add(keys, "?", "help", KeyAction::Help, Some(2));
}

fn add_selection_keys(table: &mut Table) {
    for (keys, key_label, label, action) in [
        (
            keys![KeyCode::Char('j'), KeyCode::Down],
            "j",
            "down",
            KeyAction::Go(1),
        ),
        (
            keys![KeyCode::Char('k'), KeyCode::Up],
            "k",
            "up",
            KeyAction::Go(-1),
        ),
        (
            keys![KeyCode::Char('g'), KeyCode::Home],
            "g",
            "first",
            KeyAction::Go(isize::MIN),
        ),
        (
            keys![KeyCode::Char('G'), KeyCode::End],
            "G",
            "last",
            KeyAction::Go(isize::MAX),
        ),
        (
            keys![KeyCode::PageDown],
            "PgDn",
            "page down",
            KeyAction::Page(1),
        ),
        (
            keys![KeyCode::PageUp],
            "PgUp",
            "page up",
            KeyAction::Page(-1),
        ),
    ] {
        table.add(keys, key_label, label, action, None);
    }
}

/// The key that marks tasks, while the list is on screen. In the diff, `Space` folds files.
fn add_mark_key(model: &Model, table: &mut Table) {
    let Some(entry) = model.list.selected().filter(|_| !model.detail.is_zoomed) else {
        return;
    };
    let label = if model.list.is_marked(&entry.row.id) {
        "unmark"
    } else {
        "mark"
    };
    if shows_diff(model) {
        let keys = keys![KeyCode::Char('M')];
        table.add(keys, "M", label, KeyAction::Mark, Some(2));
    } else {
        let keys = keys![KeyCode::Char(' '), KeyCode::Char('M')];
        table.add(keys, "Space", label, KeyAction::Mark, Some(2));
    }
}

/// Whether the diff is on screen and the list is not, so that keys move in the diff.
fn is_diff_alone(model: &Model) -> bool {
    model.detail.is_zoomed && shows_diff(model)
}

fn add_view_keys(model: &Model, table: &mut Table) {
    if model.list.selected().is_none() {
        return;
    }
    let label = if model.detail.is_zoomed {
        "list"
    } else {
        "view"
    };
    let keys = keys![KeyCode::Char('v')];
    table.add(keys, "v", label, KeyAction::Zoom, Some(5));
    for (keys, key_label, tab) in [
        (keys![KeyCode::Char('1')], "1", Tab::Terminal),
        (keys![KeyCode::Char('2')], "2", Tab::Task),
        (keys![KeyCode::Char('3')], "3", Tab::Diff),
        (keys![KeyCode::Char('4')], "4", Tab::Timeline),
        (keys![KeyCode::Char('5')], "5", Tab::Workflow),
    ] {
        table.add(keys, key_label, tab.title(), KeyAction::Tab(tab), None);
    }
    for (keys, key_label, label, action) in [
        (
            keys![KeyCode::Tab],
            "Tab",
            "next view",
            KeyAction::NextTab(1),
        ),
        (
            keys![KeyCode::BackTab],
            "S-Tab",
            "previous view",
            KeyAction::NextTab(4),
        ),
    ] {
        table.add(keys, key_label, label, action, None);
    }
    if layout(model).detail.is_some() {
        add_scroll_keys(model, table);
    }
}

/// The keys of the view on screen.
fn add_scroll_keys(model: &Model, table: &mut Table) {
    let scroll: fn(isize) -> KeyAction = if shows_diff(model) {
        KeyAction::Line
    } else {
        KeyAction::Scroll
    };
    let keys = keys![KeyCode::Char('J')];
    table.add(keys, "J", "scroll down", scroll(1), None);
    let keys = keys![KeyCode::Char('K')];
    table.add(keys, "K", "scroll up", scroll(-1), None);
    let down = &[(KeyCode::Char('d'), CONTROL)];
    table.add(
        down,
        "^D",
        "half a page down",
        KeyAction::ScrollPage(1),
        None,
    );
    let up = &[(KeyCode::Char('u'), CONTROL)];
    table.add(up, "^U", "half a page up", KeyAction::ScrollPage(-1), None);
    if shows_diff(model) {
        diff_keys::add(model, table);
    }
}

fn add_back_key(model: &Model, table: &mut Table) {
    let keys = keys![KeyCode::Esc];
    let has_selection = shows_diff(model) && model.detail.diff.has_selection();
    let leaves_other = has_selection || model.detail.is_zoomed || !model.list.search.is_empty();
    let (label, priority) = if leaves_other || model.list.marked().is_empty() {
        ("back", None)
    } else {
        ("clear marks", Some(8))
    };
    table.add(keys, "Esc", label, KeyAction::Back, priority);
}

pub fn key_action(model: &Model, key: KeyEvent) -> Option<KeyAction> {
    // Depending on the terminal, a capital letter comes with or without the Shift modifier.
    let modifiers = match key.code {
        KeyCode::Up | KeyCode::Down => key.modifiers,
        _ => key.modifiers.difference(KeyModifiers::SHIFT),
    };
    let has_key = |binding: &Binding| binding.keys.contains(&(key.code, modifiers));
    bindings(model)
        .into_iter()
        .find(has_key)
        .map(|it| it.action)
}

/// The commands that match what was typed, the best first.
pub fn matching_bindings(model: &Model, typed: &str) -> Vec<Binding> {
    let mut all: Vec<(usize, Binding)> = bindings(model)
        .into_iter()
        .filter_map(|it| Some((match_cost(typed, &it.label)?, it)))
        .collect();
    all.sort_by_key(|(cost, _)| *cost);
    all.into_iter().map(|(_, binding)| binding).collect()
}
