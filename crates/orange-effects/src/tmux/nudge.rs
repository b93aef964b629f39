//! Tells an agent in its pane that a message is waiting.
//!
//! The message itself is in the inbox. We paste one short line, and Enter is a separate call: if
//! both were sent together, some agents would lose the Enter or the line.

use std::fmt;
use std::time::Duration;

use orange_config::clock;

use super::call::Call;
use super::guard::ExpectedPane;
use super::name::require_plain;
use super::screen::Screen;
use super::{Pane, Tmux, TmuxError};

/// The longest nudge, in characters.
pub(super) const MAX_CHARS: usize = 200;

/// If the user typed this recently, they may still be typing.
const TYPING_WINDOW: Duration = Duration::from_secs(5);

/// Why nothing may be typed into a pane now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The user is scrolling in the pane, and keys would disturb that.
    Scrolled,
    /// The user is typing.
    Typing,
    /// The pane shows this question, which would receive the keys.
    Dialog(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Scrolled => formatter.write_str("you are scrolling in its terminal"),
            Obstacle::Typing => formatter.write_str("you are typing in its terminal"),
            Obstacle::Dialog(question) => {
                let question: String = question.chars().take(80).collect();
                write!(formatter, "its terminal asks `{question}`")
            }
        }
    }
}

/// The state of a pane before typing into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypingState {
    pub obstacle: Option<Obstacle>,
    pub screen: Screen,
}

impl Tmux {
    /// Pastes one line into the agent's input.
    pub fn paste(&self, pane: &Pane, line: &str) -> Result<(), TmuxError> {
        let is_line = !line.trim().is_empty()
            && line.chars().count() <= MAX_CHARS
            && !line.chars().any(char::is_control);
        if !is_line {
            let shown = line.escape_debug().take(MAX_CHARS).collect();
            return Err(TmuxError::NotALine(shown));
        }
        let buffer = format!("orange-{}", require_plain("run", pane.run.as_str())?);
        let set = Call::new(["set-buffer", "-b", &buffer, "--", line]);
        let paste = format!("paste-buffer -p -r -d -b {buffer} -t {}", pane.pane);
        let pasted = self.run_guarded_input(Some(set), pane.expected_pane(), &paste);
        if pasted.is_err() {
            // The line must not stay in the user's list of buffers.
            let _absent = self.call(&[Call::new(["delete-buffer", "-b", &buffer])]);
        }
        pasted
    }

    pub fn press_enter(&self, pane: &Pane) -> Result<(), TmuxError> {
        let press = format!("send-keys -t {} Enter", pane.pane);
        self.run_guarded_input(None, pane.expected_pane(), &press)
    }

    /// What prevents typing, and what the pane shows.
    pub fn typing_state(&self, pane: &Pane, line: &str) -> Result<TypingState, TmuxError> {
        let target = pane.pane;
        let query = format!(
            "display-message -p -t {target} '#{{pane_in_mode}} #{{cursor_y}}' ; \
             capture-pane -p -t {target}"
        );
        let output = self.run_guarded(pane.expected_pane(), &query)?;
        let (head, shown) = output.split_once('\n').unwrap_or((output.trim(), ""));
        let (mode, row) = head.split_once(' ').unwrap_or((head, ""));
        let screen = Screen::read(shown, row.parse().ok(), line);
        let obstacle = if mode != "0" {
            Some(Obstacle::Scrolled)
        } else if self.is_user_typing(pane)? {
            Some(Obstacle::Typing)
        } else {
            screen.dialog.clone().map(Obstacle::Dialog)
        };
        Ok(TypingState { obstacle, screen })
    }

    fn is_user_typing(&self, pane: &Pane) -> Result<bool, TmuxError> {
        let session = pane.session.to_string();
        // A program that watches the server is a client too, but nothing is typed in it.
        let format = "#{?client_control_mode,,#{client_activity}}";
        let output = self.call(&[Call::new(["list-clients", "-t", &session, "-F", format])])?;
        let now = clock::now().millis() / 1000;
        let recent = i64::try_from(TYPING_WINDOW.as_secs()).unwrap_or(i64::MAX);
        let mut times = output
            .lines()
            .filter_map(|line| line.trim().parse::<i64>().ok());
        Ok(times.any(|active| now.saturating_sub(active) <= recent))
    }
}

impl Pane {
    pub(super) fn expected_pane(&self) -> ExpectedPane<'_> {
        ExpectedPane {
            server: &self.server,
            pane: self.pane,
            run: &self.run,
        }
    }
}
