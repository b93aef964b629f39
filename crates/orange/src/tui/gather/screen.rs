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

/// The longest poll interval while no agent is running: only a change in the database can then
/// change anything, and that wakes this thread.
const ENDED: Duration = Duration::from_secs(2);

/// How long to wait while no terminal is shown.
const IDLE: Duration = Duration::from_mins(1);

pub(super) fn watch(
    driver: &Driver,
    theme: Theme,
    receiver: &Receiver<GatherRequest>,
    sender: &Sender<Message>,
) {
    let mut viewer = driver.agents.screen_viewer();
    let mut watched: Option<(TaskId, usize)> = None;
    let mut last: Option<Result<Option<AgentScreen>, String>> = None;
    let mut timeout = IDLE;
    loop {
        let Some(received) = receive(receiver, timeout) else {
            return;
        };
        for request in received {
            match request {
                GatherRequest::Watch(viewport) => {
                    let is_watched = |(_, tab): &(TaskId, Tab)| *tab == Tab::Terminal;
                    let detail = viewport.detail.filter(is_watched);
                    let now = detail.map(|(id, _)| (id, viewport.scrollback));
                    if now != watched {
                        (watched, last) = (now, None);
                    }
                    timeout = SHORTEST;
                }
                GatherRequest::Reload(_) | GatherRequest::Refresh => timeout = SHORTEST,
            }
        }
        let Some((task, scrollback)) = &watched else {
            timeout = IDLE;
            continue;
        };
        let loaded = viewer.load(task, *scrollback);
        let loaded = loaded.map_err(|error| error.to_string());
        if last.as_ref() == Some(&loaded) {
            let is_running = matches!(&loaded, Ok(Some(screen)) if screen.is_running);
            let longest = if is_running { LONGEST } else { ENDED };
            timeout = (timeout + timeout / 2).min(longest);
            continue;
        }
        timeout = SHORTEST;
        let content = content(&loaded, theme);
        last = Some(loaded);
        let message = Message::Loaded(task.clone(), Tab::Terminal, content);
        if sender.send(message).is_err() {
            return;
        }
    }
}

fn content(loaded: &Result<Option<AgentScreen>, String>, theme: Theme) -> Content {
    match loaded {
        Err(why) => Content::Nothing(why.clone()),
        Ok(None) => Content::Nothing(String::from("no agent is running for this task")),
        Ok(Some(screen)) => {
            let mut style = Style::new();
            let lines = screen.lines.iter();
            let lines = lines.map(|line| ansi::line(line, &mut style, theme));
            let ended = if screen.is_running { "" } else { ", ended" };
            Content::Screen(Screen {
                lines: lines.collect(),
                cursor: screen.cursor,
                caption: format!("{}{ended}", screen.role),
                is_running: screen.is_running,
            })
        }
    }
}
