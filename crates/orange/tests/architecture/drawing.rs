//! Drawing code and key handling touch nothing outside.
//!
//! The dashboard responds immediately because the drawing code never waits. Every file of `tui/` is
//! held to that, except those that gather, listen and carry out; the other files may not name
//! those, so that there is no way around this check.

use crate::source::Source;
use crate::verdict::Violation;

const TUI: &str = "crates/orange/src/tui/";

/// The parts of `tui/` that gather, listen and carry out.
const OTHERS: &[&str] = &[
    "draft_saver.rs",
    "perform.rs",
    "frames.rs",
    "gather/",
    "input.rs",
    "mod.rs",
    "panic_hook.rs",
    "run.rs",
    "screen.rs",
    "supervisor_thread.rs",
    "tests/",
];

const WORLD: &[&[&str]] = &[
    &["std", "env"],
    &["std", "fs"],
    &["std", "io"],
    &["std", "net"],
    &["std", "os"],
    &["std", "process"],
    &["std", "sync"],
    &["std", "thread"],
    &["std", "time", "Instant"],
    &["std", "time", "SystemTime"],
    &["ratatui", "crossterm", "execute"],
    &["ratatui", "crossterm", "terminal"],
    &["ratatui", "crossterm", "event", "poll"],
    &["ratatui", "crossterm", "event", "read"],
    &["ratatui", "Terminal"],
    &["notify"],
    &["rusqlite"],
    &["rustix"],
    &["signal_hook"],
];

/// The parts of the rest of the program that are data or pure calculation.
const DATA: &[&[&str]] = &[
    &["orange_config", "Background"],
    &["orange_driver", "AgentState"],
    &["orange_driver", "DiffSize"],
    &["orange_driver", "MergeForecast"],
    &["orange_driver", "MergeObstacle"],
    &["orange_driver", "PullRequestHeadline"],
    &["orange_driver", "PullRequestSnapshot"],
    &["orange_driver", "TaskSummary"],
    &["orange_driver", "Tool"],
    &["orange_driver", "ListChange"],
    &["orange_driver", "WorkspaceInfo"],
    &["orange_driver", "AgentTerminal"],
    &["orange_driver", "TaskRow"],
    &["crate", "output", "display_width"],
    &["crate", "output", "truncate"],
    &["crate", "output", "escape_controls"],
];

pub fn gathering_files() -> impl Iterator<Item = String> {
    OTHERS.iter().map(|other| format!("{TUI}{other}"))
}

/// Where a file that draws, or provides data for a frame, names the outside world.
pub fn check(source: &Source) -> Vec<Violation> {
    let Some(inside) = source.path.strip_prefix(TUI) else {
        return Vec::new();
    };
    let is_other = |other: &&str| match other.strip_suffix('/') {
        Some(_) => inside.starts_with(*other),
        None => inside == *other,
    };
    if OTHERS.iter().any(is_other) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for path in &source.paths {
        let rule = if WORLD.iter().any(|target| path.leads_to(target)) {
            "drawing code does no I/O: gather it, and send it as a message"
        } else if leads_to_gathering(&path.segments) {
            "drawing code must not use the code that gathers, listens or acts"
        } else if is_foreign(&path.segments) && !DATA.iter().any(|data| path.leads_to(data)) {
            "drawing code may use only data types (the list is in drawing.rs)"
        } else {
            continue;
        };
        let rule = format!("`{}`: {rule}", path.text());
        found.push(Violation::new(&source.path, path.line, rule));
    }
    found
}

fn leads_to_gathering(segments: &[String]) -> bool {
    let [first, second, third, ..] = segments else {
        return false;
    };
    let is_own = first == "crate" && second == "tui";
    let name = |other: &str| other.trim_end_matches(".rs").trim_end_matches('/') == third;
    is_own && OTHERS.iter().any(|other| name(other))
}

/// Whether a path leads to another part of the program.
fn is_foreign(segments: &[String]) -> bool {
    match segments {
        [first, second, ..] if first == "crate" => second != "tui",
        [first, ..] => first.starts_with("orange_") && first != "orange_engine",
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::lines_of;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        lines_of(&check(&Source::new(path, text)))
    }

    const VIEW: &str = "crates/orange/src/tui/view/list.rs";

    #[test]
    fn every_use_outside_is_found() {
        for planted in [
            "use std::fs;",
            "fn f() { std::fs::read(x); }",
            "use std::process::Command;",
            "use std::sync::Mutex;",
            "fn f() { std::thread::sleep(x); }",
            "use orange_driver::Driver;",
            "fn f(driver: &orange_driver::Driver) {}",
            "use orange_driver::{DiffSize, ScreenViewer};",
            "use orange_config::clock;",
            "use orange_config::Home;",
            "use orange_driver::crash_points::reached;",
            "use crate::output::terminal;",
            "use crate::tui::gather::Gatherers;",
            "use super::super::perform;",
            "fn f() { super::super::run::x(); }",
            "use ratatui::crossterm::event::read;",
            "fn f() { ratatui::crossterm::terminal::size(); }",
            "use rusqlite::Connection;",
        ] {
            assert_eq!(lines(VIEW, &format!("//! A.\n{planted}")), [2], "{planted}");
        }
    }

    #[test]
    fn data_and_other_modules_are_exempt() {
        let text = "use orange_driver::{AgentState, TaskRow};\nuse crate::output::display_width;\n\
                    use crate::tui::model::Model;\nuse super::super::fit::put;\n\
                    use ratatui::crossterm::event::KeyEvent;\nuse std::collections::BTreeMap;";
        assert_eq!(lines(VIEW, text).len(), 0);
        for other in OTHERS {
            let path = format!("{TUI}{other}");
            let path = if other.ends_with('/') {
                path + "x.rs"
            } else {
                path
            };
            assert_eq!(
                lines(&path, "use orange_driver::Driver;").len(),
                0,
                "{path}"
            );
        }
        assert_eq!(
            lines("crates/orange/src/tui/run_on.rs", "use std::fs;"),
            [1]
        );
    }
}
