//! The tasks in their zones: filtered, sorted, selected.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use orange_driver::ListChange;
use orange_engine::language::workflow::Kind;
use orange_engine::names::{ProjectName, TaskId};
use orange_engine::time::Timestamp;
use orange_engine::usage::Usage;

use super::entry::Entry;
use super::pull_requests::PullRequests;
use crate::tui::fuzzy::match_cost;

/// A section of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    NeedsYou,
    Running,
    QueueAndDone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    Open,
    Only(Zone),
    Everything,
}

/// The order of the tasks within their zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The longest waiting first; of ended tasks, the latest first.
    Waiting,
    Latest,
    Status,
    Branch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The title, and how many tasks are below it.
    Heading(String, usize),
    Task(TaskId),
}

/// The tasks, and which of them are shown in which order.
#[derive(Clone, Debug)]
pub struct List {
    tasks: BTreeMap<TaskId, Entry>,
    /// What the agents of each task used, also of a task that is not listed yet.
    pub usages: BTreeMap<TaskId, Usage>,
    pub pull_requests: PullRequests,
    /// The commit of the store that the list shows.
    pub sequence: u64,
    pub is_loaded: bool,
    pub project: Option<ProjectName>,
    pub shows_all_projects: bool,
    pub filter: Filter,
    pub search: String,
    pub sort: Sort,
    /// Whether tasks are grouped by project instead of by zone.
    pub by_project: bool,
    lines: Vec<Line>,
    selected: Option<TaskId>,
    /// The tasks that the next action is for, shown or not.
    marked: BTreeSet<TaskId>,
    /// The position of the selected task, so that a neighbour can be selected when it disappears.
    position: usize,
    /// The first line on screen.
    pub top: usize,
}

impl Filter {
    /// Every filter, with its name.
    pub const ALL: [(Filter, &'static str); 5] = [
        (Filter::Open, "open tasks"),
        (Filter::Only(Zone::NeedsYou), "what needs you"),
        (Filter::Only(Zone::Running), "what is running"),
        (Filter::Only(Zone::QueueAndDone), "queue and done"),
        (Filter::Everything, "all tasks, finished ones too"),
    ];
}

impl Sort {
    pub fn next(self) -> Sort {
        match self {
            Sort::Waiting => Sort::Latest,
            Sort::Latest => Sort::Status,
            Sort::Status => Sort::Branch,
            Sort::Branch => Sort::Waiting,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Sort::Waiting => "longest waiting first",
            Sort::Latest => "latest change first",
            Sort::Status => "by status",
            Sort::Branch => "by branch",
        }
    }
}

impl Zone {
    pub fn title(self) -> &'static str {
        match self {
            Zone::NeedsYou => "NEEDS YOU",
            Zone::Running => "RUNNING",
            Zone::QueueAndDone => "QUEUE AND DONE",
        }
    }
}

impl List {
    /// A list before anything is loaded; without a project, it shows the tasks of all projects.
    pub fn new(here: Option<ProjectName>, shows_all_projects: bool) -> List {
        List {
            tasks: BTreeMap::new(),
            usages: BTreeMap::new(),
            pull_requests: PullRequests::default(),
            sequence: 0,
            is_loaded: false,
            shows_all_projects: shows_all_projects || here.is_none(),
            project: here,
            filter: Filter::Open,
            search: String::new(),
            sort: Sort::Waiting,
            by_project: false,
            lines: Vec::new(),
            selected: None,
            marked: BTreeSet::new(),
            position: 0,
            top: 0,
        }
    }

    pub fn apply_change(&mut self, change: ListChange) {
        if change.is_whole {
            self.tasks.clear();
        }
        for row in change.rows {
            match self.tasks.get_mut(&row.id) {
                Some(entry) => entry.set_row(row),
                None => {
                    self.tasks.insert(row.id.clone(), Entry::new(row));
                }
            }
        }
        for id in change.gone {
            self.tasks.remove(&id);
        }
        self.marked.retain(|id| self.tasks.contains_key(id));
        (self.sequence, self.is_loaded) = (change.sequence, true);
        self.arrange();
    }

    pub fn entry(&self, id: &TaskId) -> Option<&Entry> {
        self.tasks.get(id)
    }

    /// A task, to store what was observed; this does not move it in the list.
    pub fn entry_mut(&mut self, id: &TaskId) -> Option<&mut Entry> {
        self.tasks.get_mut(id)
    }

    /// Every task, also those that are not shown.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.tasks.values_mut()
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// How many tasks in scope are in each zone, regardless of the filter. A finished task counts
    /// only if it needs the user.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for entry in self.tasks.values().filter(|it| self.is_in_scope(it)) {
            if entry.row.kind != Some(Kind::Terminal) || entry.zone() == Zone::NeedsYou {
                counts[entry.zone() as usize] += 1;
            }
        }
        counts
    }

    /// Whether there is no task in scope.
    pub fn is_empty(&self) -> bool {
        !self.tasks.values().any(|entry| self.is_in_scope(entry))
    }

    pub fn selected(&self) -> Option<&Entry> {
        self.selected.as_ref().and_then(|id| self.tasks.get(id))
    }

    pub fn selected_line(&self) -> Option<usize> {
        let selected = self.selected.as_ref()?;
        let is_selected = |line: &Line| matches!(line, Line::Task(id) if id == selected);
        self.lines.iter().position(is_selected)
    }

    /// Marks the selected task, or removes its mark.
    pub fn toggle_mark(&mut self) {
        if let Some(id) = self.selected.clone()
            && !self.marked.remove(&id)
        {
            self.marked.insert(id);
        }
    }

    pub fn is_marked(&self, id: &TaskId) -> bool {
        self.marked.contains(id)
    }

    pub fn clear_marks(&mut self) {
        self.marked.clear();
    }

    /// The marked tasks in the order of the list, then those that it does not show.
    pub fn marked(&self) -> Vec<&Entry> {
        if self.marked.is_empty() {
            return Vec::new();
        }
        let shown: Vec<&TaskId> = self.shown_tasks().filter(|id| self.is_marked(id)).collect();
        let hidden = self.marked.iter().filter(|id| !shown.contains(id));
        let all = shown.iter().copied().chain(hidden);
        all.filter_map(|id| self.tasks.get(id)).collect()
    }

    pub fn select(&mut self, id: &TaskId) {
        self.selected = Some(id.clone());
        self.keep_selection();
    }

    /// Moves the selection by this many tasks, or as far as there are tasks.
    pub fn move_selection(&mut self, by: isize) {
        let tasks: Vec<&TaskId> = self.shown_tasks().collect();
        let Some(last) = tasks.len().checked_sub(1) else {
            return;
        };
        let at = self.position.min(last).saturating_add_signed(by).min(last);
        self.selected = Some(tasks[at].clone());
        self.keep_selection();
    }

    pub fn select_best_match(&mut self) {
        let cost = |id: &&TaskId| {
            let entry = self.tasks.get(*id)?;
            match_cost(&self.search, &entry.search_text())
        };
        if let Some(best) = self.shown_tasks().min_by_key(cost).cloned() {
            self.select(&best);
        }
    }

    pub fn shown_tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.lines.iter().filter_map(|line| match line {
            Line::Task(id) => Some(id),
            Line::Heading(..) => None,
        })
    }

    /// Rebuilds the lines. The selected task stays selected wherever it moves; if it is gone, the
    /// task that is now in its place is selected.
    pub fn arrange(&mut self) {
        let mut matching: Vec<&Entry> = Vec::new();
        for entry in self.tasks.values() {
            if self.is_in_scope(entry) && self.matches_filter(entry) && self.matches_search(entry) {
                matching.push(entry);
            }
        }
        let search = &self.search;
        matching.sort_by_cached_key(|entry| {
            let cost = (!search.is_empty()).then(|| match_cost(search, &entry.search_text()));
            (self.group(entry), cost, self.rank(entry))
        });
        let mut lines: Vec<Line> = Vec::with_capacity(matching.len() + 3);
        let mut heading: Option<(String, usize)> = None;
        for entry in matching {
            let title = self.group(entry).1;
            match &mut heading {
                Some((open, at)) if *open == title => {
                    if let Line::Heading(_, count) = &mut lines[*at] {
                        *count += 1;
                    }
                }
                _ => {
                    heading = Some((title.clone(), lines.len()));
                    lines.push(Line::Heading(title, 1));
                }
            }
            lines.push(Line::Task(entry.row.id.clone()));
        }
        self.lines = lines;
        self.keep_selection();
    }

    /// Keeps the selection, or selects the task that is now in its place.
    fn keep_selection(&mut self) {
        let at = self
            .shown_tasks()
            .position(|id| Some(id) == self.selected.as_ref());
        if let Some(at) = at {
            self.position = at;
            return;
        }
        let count = self.shown_tasks().count();
        self.position = self.position.min(count.saturating_sub(1));
        let neighbour = self.shown_tasks().nth(self.position).cloned();
        self.selected = neighbour;
    }

    /// What the agents of all shown tasks used.
    pub fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for entry in self.shown_tasks().filter_map(|id| self.entry(id)) {
            match self.usages.get(&entry.row.id) {
                Some(usage) => total.add(usage),
                None if entry.row.runs.is_empty() => {}
                None => total.add_unknown(),
            }
        }
        total
    }

    /// Scrolls so that the selected task is within this many lines.
    pub fn scroll_to_selected(&mut self, height: usize) {
        let Some(line) = self.selected_line() else {
            self.top = 0;
            return;
        };
        // Keep the heading above the first task of a zone in view.
        let above = line.saturating_sub(usize::from(
            line > 0 && matches!(self.lines[line - 1], Line::Heading(..)),
        ));
        if above < self.top {
            self.top = above;
        } else if height > 0 && line >= self.top + height {
            self.top = line + 1 - height;
        }
        let last = self.lines.len().saturating_sub(height);
        self.top = self.top.min(last);
    }

    fn is_in_scope(&self, entry: &Entry) -> bool {
        let here = self.project.as_ref().filter(|_| !self.shows_all_projects);
        here.is_none_or(|here| entry.row.project == *here)
    }

    fn matches_filter(&self, entry: &Entry) -> bool {
        // A search among the open tasks also finds tasks that have ended.
        match self.filter {
            Filter::Everything => true,
            Filter::Open => {
                entry.row.kind != Some(Kind::Terminal)
                    || entry.zone() == Zone::NeedsYou
                    || !self.search.is_empty()
            }
            Filter::Only(zone) => entry.zone() == zone,
        }
    }

    fn matches_search(&self, entry: &Entry) -> bool {
        self.search.is_empty() || match_cost(&self.search, &entry.search_text()).is_some()
    }

    fn group(&self, entry: &Entry) -> (u8, String) {
        if self.by_project {
            return (0, entry.row.project.to_string());
        }
        (entry.zone() as u8, entry.zone().title().to_owned())
    }

    fn rank(&self, entry: &Entry) -> (u8, String, i64, Reverse<i64>) {
        let row = &entry.row;
        let millis = row.entered_at.map_or(i64::MIN, Timestamp::millis);
        let is_ended = row.kind == Some(Kind::Terminal);
        let kind = match (entry.zone(), row.kind) {
            (_, Some(Kind::Terminal)) => 3,
            (_, Some(Kind::Queued)) => 2,
            (_, Some(Kind::Waiting)) => 1,
            _ => 0,
        };
        match self.sort {
            Sort::Waiting if is_ended => (kind, String::new(), 0, Reverse(millis)),
            Sort::Waiting => (kind, String::new(), millis, Reverse(0)),
            Sort::Latest => (0, String::new(), 0, Reverse(millis)),
            Sort::Status => (0, row.status.to_string(), millis, Reverse(0)),
            Sort::Branch => (0, row.branch.clone(), millis, Reverse(0)),
        }
    }
}
