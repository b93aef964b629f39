//! The key table that footer, help and palette are made from.
//!
//! A key that is not in the table for the current model does nothing, so the footer cannot lie: the
//! key for a step is there only if the workflow of the selected task has that step.

use std::borrow::Cow;

use orange_engine::attention::Need;
use orange_engine::language::verbs::Verb;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::fuzzy::fit;
use super::model::Model;
use super::model::detail::{Content, Tab};
use super::model::entry::Entering;

/// What a key does while browsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Moves the selection by this many tasks.
    Go(isize),
    /// Moves the selection by this many pages.
    Page(isize),
    Enter,
    Create,
    Verb(Verb),
    Move,
    Tell,
    /// Shows the view instead of the list, or goes back.
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
    Refresh,
    Search,
    Palette,
    Tab(Tab),
    /// Switches to the view this many places further.
    NextTab(usize),
    /// Scrolls the view by lines.
    Scroll(isize),
    /// Scrolls the view by pages.
    ScrollPage(isize),
    /// Moves by this many files.
    File(isize),
    /// Collapses or expands the diff of a file.
    Fold,
    Help,
    Back,
    Suspend,
    Quit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub keys: &'static [(KeyCode, KeyModifiers)],
    pub shown: &'static str,
    /// What the keys do, in a word or two.
    pub label: Cow<'static, str>,
    pub deed: Deed,
    /// Its priority in the footer; `None` keeps it out.
    pub worth: Option<u8>,
}

pub(super) const NONE: KeyModifiers = KeyModifiers::NONE;
pub(super) const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

macro_rules! keys {
    ($($key:expr),+) => {{
        const KEYS: &[(KeyCode, KeyModifiers)] = &[$(($key, NONE)),+];
        KEYS
    }};
}

/// The keys that do something while browsing, in the order of the help.
pub fn bindings(model: &Model) -> Vec<Binding> {
    let mut table = Table(Vec::new());
    about_task(model, &mut table);
    about_list(model, &mut table);
    about_view(model, &mut table);
    let quit = &[(KeyCode::Char('q'), NONE), (KeyCode::Char('c'), CONTROL)];
    table.add(quit, "q", "quit", Deed::Quit, Some(1));
    let suspend = &[(KeyCode::Char('z'), CONTROL)];
    table.add(suspend, "^Z", "to the shell", Deed::Suspend, None);
    table.0
}

struct Table(Vec<Binding>);

impl Table {
    fn add(
        &mut self,
        keys: &'static [(KeyCode, KeyModifiers)],
        shown: &'static str,
        label: impl Into<Cow<'static, str>>,
        deed: Deed,
        worth: Option<u8>,
    ) {
        self.0.push(Binding {
            keys,
            shown,
            label: label.into(),
            deed,
            worth,
        });
    }
}

/// What can be done with the selected task, according to its workflow.
fn about_task(model: &Model, table: &mut Table) {
    let Some(entry) = model.list.selected() else {
        return;
    };
    let entering = match entry.entering() {
        Entering::Attach => "attach",
        Entering::Spawn => "spawn",
        Entering::Respawn => "respawn",
        Entering::View => "view",
    };
    let enter = keys![KeyCode::Enter];
    table.add(enter, "Enter", entering, Deed::Enter, Some(10));
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
    for (keys, shown, label, verb, worth) in verbs {
        if let Some(way) = entry.way(verb) {
            // A step that the workflow asks to confirm is possible, but not the usual one.
            let worth = if way.question().is_some() { 3 } else { worth };
            table.add(keys, shown, label, Deed::Verb(verb), Some(worth));
        }
    }
    if entry.ways().next().is_some() {
        let keys = keys![KeyCode::Char('t')];
        table.add(keys, "t", "move to", Deed::Move, Some(6));
    }
    if entry.has_agent() {
        let keys = keys![KeyCode::Char('i')];
        let (label, worth) = match entry.row.need {
            Some(Need::Question) => ("answer", 9),
            _ => ("message", 7),
        };
        table.add(keys, "i", label, Deed::Tell, Some(worth));
    }
    let keys = keys![KeyCode::Char('e')];
    table.add(keys, "e", "edit TASK.md", Deed::Edit, None);
    let keys = keys![KeyCode::Char('y')];
    table.add(keys, "y", "copy id", Deed::Copy, Some(2));
    if entry.is_ended() {
        let keys = keys![KeyCode::Char('d')];
        table.add(keys, "d", "delete", Deed::Delete, Some(8));
    }
}

fn about_list(model: &Model, table: &mut Table) {
    let keys = keys![KeyCode::Char('c')];
    table.add(keys, "c", "create", Deed::Create, Some(9));
    if !model.deleted.is_empty() {
        let keys = keys![KeyCode::Char('u')];
        table.add(keys, "u", "undo delete", Deed::Undo, Some(9));
    }
    for (keys, shown, label, deed) in [
        (
            keys![KeyCode::Char('j'), KeyCode::Down],
            "j",
            "down",
            Deed::Go(1),
        ),
        (
            keys![KeyCode::Char('k'), KeyCode::Up],
            "k",
            "up",
            Deed::Go(-1),
        ),
        (
            keys![KeyCode::Char('g'), KeyCode::Home],
            "g",
            "first",
            Deed::Go(isize::MIN),
        ),
        (
            keys![KeyCode::Char('G'), KeyCode::End],
            "G",
            "last",
            Deed::Go(isize::MAX),
        ),
        (keys![KeyCode::PageDown], "PgDn", "page down", Deed::Page(1)),
        (keys![KeyCode::PageUp], "PgUp", "page up", Deed::Page(-1)),
        (keys![KeyCode::Char('o')], "o", "order", Deed::Sort),
        (keys![KeyCode::Char('b')], "b", "by project", Deed::Group),
        (
            keys![KeyCode::Char('w')],
            "w",
            "workspaces",
            Deed::Workspaces,
        ),
        (keys![KeyCode::Char('R')], "R", "refresh", Deed::Refresh),
        (keys![KeyCode::Char(':')], ":", "commands", Deed::Palette),
    ] {
        table.add(keys, shown, label, deed, None);
    }
    let keys = keys![KeyCode::Char('/')];
    table.add(keys, "/", "search", Deed::Search, Some(4));
    let keys = keys![KeyCode::Char('f')];
    table.add(keys, "f", "filter", Deed::Filter, Some(3));
    if model.list.here.is_some() {
        let label = if model.list.is_everywhere {
            "this project"
        } else {
            "all projects"
        };
        let keys = keys![KeyCode::Char('a')];
        table.add(keys, "a", label, Deed::Scope, None);
    }
    let keys = keys![KeyCode::Char('?'), KeyCode::F(1)];
    table.add(keys, "?", "help", Deed::Help, Some(2));
}

fn about_view(model: &Model, table: &mut Table) {
    if model.list.selected().is_none() {
        return;
    }
    let label = if model.detail.is_zoomed {
        "list"
    } else {
        "view"
    };
    let keys = keys![KeyCode::Char('v')];
    table.add(keys, "v", label, Deed::Zoom, Some(5));
    for (keys, shown, tab) in [
        (keys![KeyCode::Char('1')], "1", Tab::Terminal),
        (keys![KeyCode::Char('2')], "2", Tab::Task),
        (keys![KeyCode::Char('3')], "3", Tab::Diff),
        (keys![KeyCode::Char('4')], "4", Tab::Timeline),
        (keys![KeyCode::Char('5')], "5", Tab::Workflow),
    ] {
        table.add(keys, shown, tab.title(), Deed::Tab(tab), None);
    }
    for (keys, shown, label, deed) in [
        (keys![KeyCode::Tab], "Tab", "next view", Deed::NextTab(1)),
        (
            keys![KeyCode::BackTab],
            "S-Tab",
            "previous view",
            Deed::NextTab(4),
        ),
        (
            keys![KeyCode::Char('J')],
            "J",
            "scroll down",
            Deed::Scroll(1),
        ),
        (
            keys![KeyCode::Char('K')],
            "K",
            "scroll up",
            Deed::Scroll(-1),
        ),
    ] {
        table.add(keys, shown, label, deed, None);
    }
    let down = &[(KeyCode::Char('d'), CONTROL)];
    table.add(down, "^D", "half a page down", Deed::ScrollPage(1), None);
    let up = &[(KeyCode::Char('u'), CONTROL)];
    table.add(up, "^U", "half a page up", Deed::ScrollPage(-1), None);
    if model.detail.tab == Tab::Diff && matches!(model.detail.content(), Content::Files(_)) {
        let keys = keys![KeyCode::Char(']')];
        table.add(keys, "]", "next file", Deed::File(1), Some(4));
        let keys = keys![KeyCode::Char('[')];
        table.add(keys, "[", "previous file", Deed::File(-1), None);
        let keys = keys![KeyCode::Char(' ')];
        table.add(keys, "Space", "fold", Deed::Fold, Some(4));
    }
    let keys = keys![KeyCode::Esc];
    table.add(keys, "Esc", "back", Deed::Back, None);
}

pub fn deed(model: &Model, key: KeyEvent) -> Option<Deed> {
    // Depending on the terminal, a capital letter comes with or without the Shift modifier.
    let modifiers = key.modifiers.difference(KeyModifiers::SHIFT);
    let is_it = |binding: &Binding| binding.keys.contains(&(key.code, modifiers));
    bindings(model).into_iter().find(is_it).map(|it| it.deed)
}

/// The commands that match what was typed, the best first.
pub fn found(model: &Model, typed: &str) -> Vec<Binding> {
    let mut all: Vec<(usize, Binding)> = bindings(model)
        .into_iter()
        .filter_map(|it| Some((fit(typed, &it.label)?, it)))
        .collect();
    all.sort_by_key(|(cost, _)| *cost);
    all.into_iter().map(|(_, binding)| binding).collect()
}
