//! What is shown of the selected task, tab by tab.

use orange_engine::names::TaskId;
use ratatui::text::Line;

use super::diff::{DiffView, File};
use super::review::Review;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tab {
    #[default]
    Terminal,
    Task,
    Diff,
    Timeline,
    Workflow,
}

impl Tab {
    /// Every tab, by number.
    pub const ALL: [Tab; 5] = [
        Tab::Terminal,
        Tab::Task,
        Tab::Diff,
        Tab::Timeline,
        Tab::Workflow,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Tab::Terminal => "terminal",
            Tab::Task => "task",
            Tab::Diff => "diff",
            Tab::Timeline => "timeline",
            Tab::Workflow => "workflow",
        }
    }

    /// The tab this many places further.
    pub fn next(self, by: usize) -> Tab {
        Tab::ALL[(self as usize + by) % Tab::ALL.len()]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    #[default]
    Pending,
    /// Lines, which are cut at the width of the view.
    Lines(Vec<Line<'static>>),
    Screen(Screen),
    Files(Vec<File>),
    /// Why there is nothing to show.
    Nothing(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    pub lines: Vec<Line<'static>>,
    /// Column and line of the cursor.
    pub cursor: Option<(u16, u16)>,
    /// Which agent it is, and whether it has exited.
    pub caption: String,
    pub is_running: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Detail {
    pub tab: Tab,
    /// Whether the view replaces the list.
    pub is_zoomed: bool,
    pub task: Option<TaskId>,
    contents: [Content; 5],
    scrolls: [usize; 5],
    pub diff: DiffView,
}

impl Detail {
    /// Starts over for another task; the tab stays.
    pub fn select_task(&mut self, task: Option<&TaskId>) {
        if self.task.as_ref() != task {
            self.task = task.cloned();
            self.contents = Default::default();
            self.scrolls = [0; 5];
            self.diff.reset();
        }
    }

    pub fn set(&mut self, tab: Tab, content: Content, review: &Review) {
        let previous = std::mem::replace(&mut self.contents[tab as usize], content);
        if tab == Tab::Diff {
            let old = files_in(&previous);
            self.diff
                .arrange(old, files_in(&self.contents[Tab::Diff as usize]), review);
        }
    }

    /// Shows the diff with these marks and comments.
    pub fn set_review(&mut self, review: &Review) {
        let (diff, files) = self.diff_mut();
        diff.arrange(files, files, review);
    }

    /// The files of the diff.
    pub fn files(&self) -> &[File] {
        files_in(&self.contents[Tab::Diff as usize])
    }

    /// The diff as it is shown, and its files.
    pub fn diff_mut(&mut self) -> (&mut DiffView, &[File]) {
        let files = files_in(&self.contents[Tab::Diff as usize]);
        (&mut self.diff, files)
    }

    /// Whether the view is a diff with files; `layout` knows whether the view is on screen.
    pub fn is_at_diff(&self) -> bool {
        self.tab == Tab::Diff && !self.files().is_empty()
    }

    /// Whether the file at the cursor has lines to comment on. A binary, renamed or empty file has
    /// none.
    pub fn has_commentable_file(&self) -> bool {
        let file = self.diff.file().and_then(|file| self.files().get(file));
        file.is_some_and(|it| it.lines.iter().any(|line| line.number.is_some()))
    }

    pub fn content(&self) -> &Content {
        &self.contents[self.tab as usize]
    }

    /// How far the view is scrolled: from the top, or for a terminal from the bottom.
    pub fn scroll(&self) -> usize {
        self.scrolls[self.tab as usize]
    }

    /// Scrolls, but not past the last line.
    pub fn scroll_by(&mut self, by: isize, maximum: usize) {
        // A terminal is read from its end.
        let by = if self.tab == Tab::Terminal { -by } else { by };
        let scroll = &mut self.scrolls[self.tab as usize];
        *scroll = scroll.saturating_add_signed(by).min(maximum);
    }

    pub fn height(&self) -> usize {
        match self.content() {
            Content::Pending | Content::Nothing(_) => 1,
            Content::Lines(lines) => lines.len(),
            Content::Screen(screen) => screen.lines.len(),
            // The diff has its own scroll position.
            Content::Files(_) => 0,
        }
    }
}

fn files_in(content: &Content) -> &[File] {
    match content {
        Content::Files(files) => files,
        _ => &[],
    }
}
