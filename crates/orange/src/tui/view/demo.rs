//! Draws the end of the demo.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::popup::{frame, put_lines, room};
use crate::tui::fit::fold;
use crate::tui::model::Model;
use crate::tui::theme::Tone;

const STORY: &str = "Each task had an agent and a worktree of its own. Another agent reviewed the \
                     work; what failed the review was fixed. What was not clear came to you, and \
                     only you could merge.";

const COMMANDS: [(&str, &str); 4] = [
    ("orange doctor", "check git, tmux and your agents"),
    ("cd REPOSITORY", "go to a repository of yours"),
    ("orange new \"…\"", "create a task; its agent starts"),
    ("orange", "open this dashboard"),
];

/// What to read when the demo is over, without its title.
pub(super) fn lines(width: usize) -> Vec<(Tone, String)> {
    let text = |text: &str| {
        let lines = fold(text, width).into_iter();
        lines.map(|line| (Tone::Plain, line)).collect::<Vec<_>>()
    };
    let mut lines = text(STORY);
    lines.push((Tone::Plain, String::new()));
    lines.extend(text("To go on with your own work, leave with q and run:"));
    lines.extend(COMMANDS.map(|(command, means)| {
        let line = format!("  {command:<15} {means}");
        (Tone::Key, line)
    }));
    lines
}

pub(super) fn draw(model: &Model, area: Rect, buffer: &mut Buffer) {
    let mut lines = lines(room(area));
    lines.extend([
        (Tone::Plain, String::new()),
        (Tone::Strong, String::from("q   leave the demo")),
        (
            Tone::Plain,
            String::from("Esc look around; c creates another task"),
        ),
    ]);
    let inside = frame(model, "The demo is over", lines.len(), area, buffer);
    put_lines(model, &lines, inside, buffer);
}
