//! Tells an agent in its pane that a message waits.
//!
//! The message itself is in the inbox. What is typed is one short line, as a paste, and Enter is a
//! call of its own: sent together, some agents lose the Enter or the line.

use std::time::Duration;

use super::call::Call;
use super::guard::Meant;
use super::name::require_plain;
use super::{Pane, Tmux, TmuxError};
use crate::clock;

/// The longest nudge.
pub(super) const LONGEST: usize = 200;

/// How many of the last lines with something on them may hold the input box.
const LAST_LINES: usize = 12;

/// A person who typed this recently may be typing still.
const TYPING: Duration = Duration::from_secs(5);

/// What agents draw before the place where a person types.
const PROMPTS: [char; 7] = ['>', '❯', '›', '»', '$', '%', '#'];

impl Tmux {
    /// Pastes one line into the agent's input.
    pub fn paste(&self, pane: &Pane, line: &str) -> Result<(), TmuxError> {
        let is_line = !line.trim().is_empty()
            && line.chars().count() <= LONGEST
            && !line.chars().any(char::is_control);
        if !is_line {
            let shown = line.escape_debug().take(LONGEST).collect();
            return Err(TmuxError::NotALine(shown));
        }
        let buffer = format!("orange-{}", require_plain("run", pane.run.as_str())?);
        let set = Call::new(["set-buffer", "-b", &buffer, "--", line]);
        let paste = format!("paste-buffer -p -r -d -b {buffer} -t {}", pane.pane);
        let pasted = self.guarded_input(Some(set), pane.meant(), &paste);
        if pasted.is_err() {
            // The line must not wait in a person's list of buffers.
            let _absent = self.call(&[Call::new(["delete-buffer", "-b", &buffer])]);
        }
        pasted
    }

    /// Presses Enter.
    pub fn press_enter(&self, pane: &Pane) -> Result<(), TmuxError> {
        let press = format!("send-keys -t {} Enter", pane.pane);
        self.guarded_input(None, pane.meant(), &press)
    }

    /// Whether a line that was pasted is provably still in the input box, with nobody typing.
    pub fn is_unsent(&self, pane: &Pane, line: &str) -> Result<bool, TmuxError> {
        if self.somebody_types(pane)? {
            return Ok(false);
        }
        let capture = format!("capture-pane -p -J -t {}", pane.pane);
        let screen = self.guarded(pane.meant(), &capture)?;
        Ok(is_in_input_box(&screen, line))
    }

    fn somebody_types(&self, pane: &Pane) -> Result<bool, TmuxError> {
        let session = pane.session.to_string();
        // A program that watches the server is a client too, but nobody types in it.
        let format = "#{?client_control_mode,,#{client_activity}}";
        let said = self.call(&[Call::new(["list-clients", "-t", &session, "-F", format])])?;
        let now = clock::now().millis() / 1000;
        let recent = i64::try_from(TYPING.as_secs()).unwrap_or(i64::MAX);
        let mut times = said
            .lines()
            .filter_map(|line| line.trim().parse::<i64>().ok());
        Ok(times.any(|active| now.saturating_sub(active) <= recent))
    }
}

impl Pane {
    pub(super) fn meant(&self) -> Meant<'_> {
        Meant {
            server: &self.server,
            pane: self.pane,
            run: &self.run,
        }
    }
}

/// Whether a screen shows the line in the input box, rather than in what was said before.
///
/// It does when the last prompt near the end has exactly this line behind it, and then comes the
/// edge of a box or nothing. A sent message has an empty input box, a placeholder, a dialog or the
/// agent's words below. Whatever is not certain is a no.
pub fn is_in_input_box(screen: &str, line: &str) -> bool {
    let shown: Vec<&str> = screen.lines().filter(|it| !it.trim().is_empty()).collect();
    let last = shown.get(shown.len().saturating_sub(LAST_LINES)..);
    let last = last.unwrap_or_default().iter().map(|it| undrawn(it));
    let last: Vec<&str> = last.collect();
    let Some(start) = last.iter().rposition(|it| it.starts_with(PROMPTS)) else {
        return false;
    };
    // The edge of a box has nothing left when what is drawn is taken away.
    let typed = last.iter().skip(start).take_while(|it| !it.is_empty());
    let typed: String = typed.copied().collect();
    let wanted = squeezed(line);
    !wanted.is_empty() && squeezed(typed.trim_start_matches(PROMPTS)) == wanted
}

/// A line without the box that is drawn around it.
fn undrawn(line: &str) -> &str {
    let is_drawn = |it: char| ('\u{2500}'..='\u{259f}').contains(&it) || it == '|';
    line.trim_matches(|it: char| it.is_whitespace() || is_drawn(it))
}

/// A text without its spaces: where a line is broken depends on the width.
fn squeezed(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUDGE: &str = "Message from orange: run orange inbox and do what it says.";

    #[test]
    fn lesson_25_a_nudge_that_waits_is_seen() {
        for screen in [
            "some talk\n\n> Message from orange: run orange inbox and do what it says.\n",
            "╭──────────╮\n│ > Message from orange: run orange       │\n│   inbox and do what it says. │\n╰──────────╯\n  ? for shortcuts\n",
            "❯ Message from orange: run orange inbox and do what it says.\n──────\n  ⏵⏵ accept edits on",
            "$ Message from orange: run orange inbox and do what it says.",
        ] {
            assert!(is_in_input_box(screen, NUDGE), "{screen}");
        }
    }

    #[test]
    fn lesson_26_a_nudge_that_was_sent_or_a_dialog_gets_no_second_enter() {
        for screen in [
            "",
            "nothing of ours",
            "> Message from orange: run orange inbox and do what it says.\n\n● Reading…\n\n> \n",
            "› Message from orange: run orange inbox and do what it says.\n\n› Ask for anything",
            "> Message from orange: run orange inbox and do what it says.\n\nUpdate available\n❯ 1. Install\n  2. Skip",
            "Message from orange: run orange inbox and do what it says.",
            "> half a thought Message from orange: run orange inbox and do what it says.",
            "> [Pasted text #1 +12 lines]",
            "> Message from orange: run orange inbox and do what it says.\nInstall it? [Y/n]",
            "> Message from orange: run orange inbox and do what it says. And more.",
        ] {
            assert!(!is_in_input_box(screen, NUDGE), "{screen}");
        }
        assert!(!is_in_input_box("> ", ""));
        let far_above = format!("> {NUDGE}\n{}", "line\n".repeat(20));
        assert!(!is_in_input_box(&far_above, NUDGE));
    }
}
