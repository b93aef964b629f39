//! Draws the tasks in their zones, one line each.

use orange_driver::AgentState;
use orange_engine::activity::ActivityState;
use orange_engine::language::workflow::Kind;
use orange_engine::time::age;
use orange_engine::usage::Usage;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::demo;
use crate::output::display_width;
use crate::tui::fit::{fold, put};
use crate::tui::model::Model;
use crate::tui::model::entry::Entry;
use crate::tui::model::list::{Filter, Line};
use crate::tui::model::needs::needs;
use crate::tui::theme::Tone;

/// On a narrower list, what agents used is left out.
const WIDE_FOR_USAGE: u16 = 90;

/// Marks a task that the next action is for.
const MARK: &str = "*";

/// Stands before the parent of a child task.
const CHILD: &str = "↳";

/// The width of each column; 0 if there is no room for it.
#[derive(Clone, Copy, Debug, Default)]
struct Widths {
    id: u16,
    status: u16,
    round: u16,
    request: u16,
    project: u16,
    summary: u16,
    agent: u16,
    /// Whether there is no room for the agent's name beside what it is doing.
    is_agent_short: bool,
    extent: u16,
    usage: u16,
    branch: u16,
    age: u16,
}

pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let shown = || {
        let lines = model.list.lines().iter().skip(model.list.top);
        lines.take(area.height.into())
    };
    let entries = shown().filter_map(|line| match line {
        Line::Task(id) => model.list.entry(id),
        Line::Heading(..) => None,
    });
    let entries: Vec<&Entry> = entries.collect();
    let widths = widths(model, &entries, area.width);
    for (y, line) in (area.y..).zip(shown()) {
        let line_area = Rect {
            y,
            height: 1,
            ..area
        };
        match line {
            Line::Heading(title, count) => heading(model, title, *count, line_area, buffer),
            Line::Task(id) => {
                if let Some(entry) = model.list.entry(id) {
                    row(model, entry, &widths, line_area, buffer);
                }
            }
        }
    }
}

fn heading(model: &Model, title: &str, count: usize, area: Rect, buffer: &mut Buffer) {
    let strong = model.theme.style(Tone::Strong);
    let dim = model.theme.style(Tone::Dim);
    let mut x = area.x + 1;
    x += put(buffer, (x, area.y), area.width, title, strong) + 1;
    let left = area.right().saturating_sub(x);
    x += put(buffer, (x, area.y), left, &count.to_string(), dim) + 1;
    let left = area.right().saturating_sub(x + 1);
    put(buffer, (x, area.y), left, &"─".repeat(left.into()), dim);
}

fn widths(model: &Model, entries: &[&Entry], width: u16) -> Widths {
    let widest = |of: &dyn Fn(&Entry) -> usize| {
        let widest = entries.iter().map(|entry| of(entry)).max().unwrap_or(0);
        u16::try_from(widest).unwrap_or(u16::MAX)
    };
    let mut widths = Widths {
        id: widest(&|entry| display_width(entry.row.id.as_str())).min(8),
        status: widest(&|entry| display_width(&entry.row.status_text())).min(20),
        age: 4,
        ..Widths::default()
    };
    // The sign, a column at each side, and a space after each column.
    let fixed = 3 + widths.id + 1 + widths.status + 1 + widths.age + 1;
    let mut left = width.saturating_sub(fixed + 1);
    let summary = 24;
    let mut grant = |expected: u16| {
        let has_room = expected > 0 && left > summary + expected;
        if has_room {
            left -= expected + 1;
        }
        if has_room { expected } else { 0 }
    };
    widths.round = grant(widest(&|entry| display_width(&round(entry))));
    widths.request = grant(widest(&|entry| display_width(&request(model, entry).1)));
    if model.list.shows_all_projects && !model.list.by_project {
        widths.project = grant(widest(&|entry| display_width(entry.row.project.as_str())).min(12));
    }
    widths.extent = grant(widest(&|entry| display_width(&extent(entry))));
    widths.agent = grant(widest(&|entry| display_width(&agent(entry, false))).min(16));
    widths.is_agent_short = widths.agent == 0;
    if widths.is_agent_short {
        widths.agent = grant(widest(&|entry| display_width(&agent(entry, true))).min(8));
    }
    if width >= WIDE_FOR_USAGE {
        widths.usage = grant(widest(&|entry| display_width(&usage(model, entry))).min(24));
    }
    if width >= 130 {
        widths.branch = grant(widest(&|entry| display_width(&entry.row.branch)).min(28));
    }
    widths.summary = left;
    widths
}

fn row(model: &Model, entry: &Entry, widths: &Widths, area: Rect, buffer: &mut Buffer) {
    let theme = model.theme;
    let is_selected = model
        .list
        .selected()
        .is_some_and(|it| it.row.id == entry.row.id);
    let style = |tone: Tone| {
        match tone {
            Tone::Strong => theme.style(tone),
            // The selected line is reversed as a whole: a colour in it would show as a patch.
            _ if is_selected => Style::new(),
            _ => theme.style(tone),
        }
    };
    let y = area.y;
    let mut x = area.x + 1;
    if model.list.is_marked(&entry.row.id) {
        put(buffer, (area.x, y), 1, MARK, style(Tone::Key));
    }
    let (tone, sign) = sign(entry.agent());
    put(buffer, (x, y), 1, sign, style(tone));
    x += 2;
    let mut cell = |width: u16, text: &str, tone: Tone| {
        if width > 0 {
            put(buffer, (x, y), width, text, style(tone));
            x += width + 1;
        }
    };
    cell(widths.id, entry.row.id.as_str(), Tone::Strong);
    cell(widths.status, &entry.row.status_text(), status_tone(entry));
    cell(widths.round, &round(entry), Tone::Dim);
    let (tone, request) = request(model, entry);
    cell(widths.request, &request, tone);
    cell(widths.project, entry.row.project.as_str(), Tone::Dim);
    let summary_at = x;
    x += widths.summary + 1;
    let mut cell = |width: u16, text: &str, tone: Tone| {
        if width > 0 {
            put(buffer, (x, y), width, text, style(tone));
            x += width + 1;
        }
    };
    cell(widths.extent, &extent(entry), Tone::Dim);
    let agent = agent(entry, widths.is_agent_short);
    cell(widths.agent, &agent, Tone::Dim);
    cell(widths.usage, &usage(model, entry), Tone::Dim);
    cell(widths.branch, &entry.row.branch, Tone::Dim);
    let age_text = entry.row.entered_at.map(|since| age(model.now, since));
    let age_text = format!("{:>4}", age_text.unwrap_or_default());
    cell(widths.age, &age_text, Tone::Dim);
    summary(entry, (summary_at, y), widths.summary, buffer, &style);
    if is_selected {
        buffer.set_style(area, theme.style(Tone::Chosen));
    }
}

/// Draws the summary and, to its right, what the task needs.
fn summary(
    entry: &Entry,
    (x, y): (u16, u16),
    width: u16,
    buffer: &mut Buffer,
    style: &impl Fn(Tone) -> Style,
) {
    let note = match entry.row.attention.first() {
        Some(reason) => Some((Tone::Bad, format!("! {reason}"))),
        None if entry.user_request() == Some(ActivityState::WaitingForPermission) => {
            Some((Tone::Warn, String::from("asks permission")))
        }
        None if entry.user_request() == Some(ActivityState::Silent) => {
            Some((Tone::Warn, String::from("silent")))
        }
        None if entry.user_request() == Some(ActivityState::Stalled) => {
            Some((Tone::Warn, String::from("stalled")))
        }
        None if entry.user_request().is_some() => Some((Tone::Warn, String::from("asks you"))),
        None if entry.glance.as_ref().is_some_and(|it| it.unread > 0) => {
            Some((Tone::Warn, String::from("message unread")))
        }
        None => needs(entry).map(|needs| (Tone::Warn, needs)),
    };
    let text = match &entry.row.parent {
        Some(parent) => format!("{CHILD} {parent} {}", entry.summary()),
        None => entry.summary().to_owned(),
    };
    let Some((tone, note)) = note.filter(|_| width >= 20) else {
        put(buffer, (x, y), width, &text, style(Tone::Plain));
        return;
    };
    // A reason for attention matters more than the summary, so it may take more room.
    let maximum = if tone == Tone::Bad {
        width * 2 / 3
    } else {
        width * 3 / 5
    };
    let note_width = u16::try_from(display_width(&note))
        .unwrap_or(u16::MAX)
        .min(maximum);
    let left = width - note_width - 2;
    put(buffer, (x, y), left, &text, style(Tone::Plain));
    put(
        buffer,
        (x + width - note_width, y),
        note_width,
        &note,
        style(tone),
    );
}

fn sign(agent: AgentState) -> (Tone, &'static str) {
    match agent {
        AgentState::None => (Tone::Dim, "○"),
        AgentState::Alive => (Tone::Good, "●"),
        AgentState::Unknown => (Tone::Warn, "?"),
        AgentState::Dead => (Tone::Bad, "✗"),
    }
}

fn status_tone(entry: &Entry) -> Tone {
    match entry.row.kind {
        _ if !entry.row.attention.is_empty() => Tone::Bad,
        Some(Kind::Human) | None => Tone::Warn,
        Some(Kind::Agent) => Tone::Good,
        Some(Kind::Terminal) => Tone::Dim,
        Some(Kind::Waiting | Kind::Queued) => Tone::Plain,
    }
}

fn round(entry: &Entry) -> String {
    let maximum = entry.glance.as_ref().and_then(|it| it.rounds);
    match (entry.row.round, maximum) {
        (0, _) => String::new(),
        (round, Some(maximum)) => format!("r{round}/{maximum}"),
        (round, None) => format!("r{round}"),
    }
}

/// The pull request; empty if it has none.
fn request(model: &Model, entry: &Entry) -> (Tone, String) {
    let cell = model.list.pull_requests.cell(&entry.row.id);
    cell.unwrap_or((Tone::Dim, String::new()))
}

/// The agent and what it is doing; if there is little room, only the latter.
fn agent(entry: &Entry, is_short: bool) -> String {
    let Some(glance) = &entry.glance else {
        return String::new();
    };
    let activity = entry.activity.filter(|_| entry.has_agent());
    let activity = activity.map(|activity| match activity {
        // The agent runs, but reports nothing.
        ActivityState::Unknown => "?",
        activity => activity.label(),
    });
    match activity {
        Some(activity) if is_short && activity != "?" => activity.to_owned(),
        Some(activity) if !is_short => format!("{} {activity}", glance.harness),
        _ => glance.harness.to_string(),
    }
}

fn extent(entry: &Entry) -> String {
    match &entry.extent {
        Some(it) if it.commits + it.added + it.removed > 0 => {
            format!("{}c +{} -{}", it.commits, it.added, it.removed)
        }
        _ => String::new(),
    }
}

/// Tokens, cost and run time.
fn usage(model: &Model, entry: &Entry) -> String {
    let usage = model.list.usages.get(&entry.row.id);
    usage.map(Usage::short).unwrap_or_default()
}

/// Draws what to do when the list is empty.
pub(super) fn draw_empty(model: &Model, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width.saturating_sub(4)).min(72);
    let here = model
        .list
        .project
        .as_ref()
        .filter(|_| !model.list.shows_all_projects);
    let lines: Vec<(Tone, String)> = if !model.list.is_loaded && model.list_error.is_none() {
        vec![(Tone::Dim, String::from("loading …"))]
    } else if model.list.is_empty() {
        let place = here.map_or(String::from("yet"), |name| format!("in `{name}` yet"));
        vec![
            (Tone::Strong, format!("No tasks {place}.")),
            (Tone::Plain, String::new()),
            (
                Tone::Plain,
                String::from(
                    "A task is work that an agent does in its own worktree: it plans, works, is \
                     reviewed, and you merge.",
                ),
            ),
            (Tone::Plain, String::new()),
            (Tone::Key, String::from("c   create a task")),
            (Tone::Key, String::from("?   every key")),
            (Tone::Key, String::from("q   quit")),
            (Tone::Plain, String::new()),
            (
                Tone::Dim,
                String::from(
                    "Start orange inside a git repository: the first task there registers it as a \
                     project. `orange demo` shows everything in two minutes, without an account.",
                ),
            ),
        ]
    } else if model.list.search.is_empty()
        && model.list.filter == Filter::Open
        && model
            .demo
            .as_ref()
            .is_some_and(|it| it.is_over(&model.list))
    {
        let mut lines = vec![
            (Tone::Strong, String::from("The demo is over.")),
            (Tone::Plain, String::new()),
        ];
        lines.extend(demo::lines(width));
        lines
    } else if model.list.search.is_empty() && model.list.filter == Filter::Open {
        let place = here.map_or(String::new(), |name| format!(" in `{name}`"));
        vec![
            (Tone::Strong, format!("All tasks{place} are finished.")),
            (
                Tone::Plain,
                String::from("c creates a task, f shows the finished ones, q quits."),
            ),
        ]
    } else {
        vec![
            (Tone::Strong, String::from("Nothing matches.")),
            (
                Tone::Plain,
                String::from("Esc clears the search, f changes the filter, a shows all projects."),
            ),
        ]
    };
    let mut y = area.y + 1;
    for (tone, text) in lines {
        let folded = match text.as_str() {
            // A line with columns is not folded.
            text if text.is_empty() || text.starts_with(' ') => vec![text.to_owned()],
            text => fold(text, width),
        };
        for line in folded {
            if y < area.bottom() {
                put(
                    buffer,
                    (area.x + 2, y),
                    area.width,
                    &line,
                    model.theme.style(tone),
                );
                y += 1;
            }
        }
    }
}
