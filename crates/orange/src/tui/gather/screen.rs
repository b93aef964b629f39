//! Watches the terminal of the selected task's agent.

use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use orange_driver::{AgentScreen, Driver};
use orange_engine::names::TaskId;
use ratatui::style::Style;

use super::{GatherRequest, receive};
use crate::tui::ansi;
use crate::tui::model::detail::{Content, Screen, Tab};
use crate::tui::model::message::Message;
use crate::tui::theme::Theme;

/// Poll intervals: the shortest while the screen changes, the longest while it does not.
const SHORTEST: Duration = Duration::from_millis(60);
const LONGEST: Duration = Duration::from_millis(400);

/// The longest poll interval after the agent has ended: then only a commit changes anything, and a
/// commit wakes this thread.
const ENDED: Duration = Duration::from_secs(2);

/// How long to wait while no terminal is shown.
const IDLE: Duration = Duration::from_mins(1);

pub(super) fn watch(
    driver: &Driver,
    theme: Theme,
    wishes: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut onlooker = driver.agents.screen_viewer();
    let mut watched: Option<(TaskId, usize)> = None;
    let mut last: Option<Result<Option<AgentScreen>, String>> = None;
    let mut rest = IDLE;
    loop {
        let Some(wished) = receive(wishes, rest) else {
            return;
        };
        for wish in wished {
            match wish {
                GatherRequest::Watch(aim) => {
                    let is_watched = |(_, tab): &(TaskId, Tab)| *tab == Tab::Terminal;
                    let detail = aim.detail.filter(is_watched);
                    let now = detail.map(|(id, _)| (id, aim.scrollback));
                    if now != watched {
                        (watched, last) = (now, None);
                    }
                    rest = SHORTEST;
                }
                GatherRequest::Reload(_) | GatherRequest::Refresh => rest = SHORTEST,
            }
        }
        let Some((task, before)) = &watched else {
            rest = IDLE;
            continue;
        };
        let shown = onlooker.load(task, *before);
        let shown = shown.map_err(|error| error.to_string());
        if last.as_ref() == Some(&shown) {
            let is_running = matches!(&shown, Ok(Some(screen)) if screen.is_running);
            let longest = if is_running { LONGEST } else { ENDED };
            rest = (rest + rest / 2).min(longest);
            continue;
        }
        rest = SHORTEST;
        let content = content(&shown, theme);
        last = Some(shown);
        let message = Message::Loaded(task.clone(), Tab::Terminal, content);
        if sender.send(message).is_err() {
            return;
        }
    }
}

fn content(shown: &Result<Option<AgentScreen>, String>, theme: Theme) -> Content {
    match shown {
        Err(why) => Content::Nothing(why.clone()),
        Ok(None) => Content::Nothing(String::from("no agent is running for this task")),
        Ok(Some(screen)) => {
            let mut style = Style::new();
            let lines = screen.lines.iter();
            let lines = lines.map(|line| ansi::line(line, &mut style, theme));
            let ended = if screen.is_running { "" } else { ", exited" };
            Content::Screen(Screen {
                lines: lines.collect(),
                cursor: screen.cursor,
                caption: format!("{}{ended}", screen.role),
            })
        }
    }
}
