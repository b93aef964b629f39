//! One lasting client that asks the server without starting programs.
//!
//! A connection is to one life of a server: when that ends, so does the connection, and what was
//! said on it is about no other. The client gets no output of panes and has no size.

use std::io;
use std::thread;

use super::listing::SERVER;
use super::roll::{FORMAT, parse};
use super::{Roll, ServerIdentity, Tmux, TmuxError};
use crate::command::{Conversation, Lines};

/// What the server says of itself that means windows came or went.
const CHANGES: [&str; 4] = [
    "%sessions-changed",
    "%session-changed",
    "%window-close",
    "%unlinked-window-close",
];

/// What is heard on a connection.
#[derive(Debug)]
pub enum Heard {
    /// Everybody, as it was asked for; or why the answer is none.
    Roll(Result<Roll, TmuxError>),
    /// Windows or sessions came or went.
    Changed,
    /// The connection is over.
    Ended,
}

/// A connection to a server. It ends when it is dropped.
#[derive(Debug)]
pub struct Control {
    conversation: Conversation,
}

impl Tmux {
    /// Connects; whatever is heard is told to `tell`, from a thread of its own.
    ///
    /// A client has to have a session, so that there is nothing to connect to without one.
    pub fn control(&self, tell: impl Fn(Heard) + Send + 'static) -> Result<Control, TmuxError> {
        let mut conversation = self.lasting_client()?.converse()?;
        let failed = |error: io::Error| TmuxError::Disconnected(error.to_string());
        // A client that has ended already tells so to who listens.
        let _ended = conversation.say(&format!("display-message -p '{SERVER}'"));
        let lines = conversation.lines();
        let tmux = self.clone();
        thread::Builder::new()
            .name(String::from("tmux"))
            .spawn(move || {
                if let Some(lines) = lines {
                    listen(&tmux, lines, &tell);
                }
                tell(Heard::Ended);
            })
            .map_err(failed)?;
        Ok(Control { conversation })
    }
}

impl Control {
    /// Ends the connection without waiting for its end.
    pub fn leave(&mut self) {
        self.conversation.fall_silent();
    }

    /// Whether the client has ended.
    pub fn has_ended(&mut self) -> bool {
        self.conversation.has_ended()
    }

    /// Asks who is in which pane; the answer is heard.
    pub fn call_the_roll(&mut self) -> Result<(), TmuxError> {
        let said = self
            .conversation
            .say(&format!("list-panes -a -F '{FORMAT}'"));
        said.map_err(|error| TmuxError::Disconnected(error.to_string()))
    }
}

fn listen(tmux: &Tmux, mut lines: Lines, tell: &impl Fn(Heard)) {
    let mut reader = Reader::default();
    let mut server = None;
    while let Ok(Some(line)) = lines.read() {
        let heard = match reader.take(&String::from_utf8_lossy(&line)) {
            None => None,
            Some(Said::Notice(notice)) => changes(&notice).then_some(Heard::Changed),
            Some(Said::Answer(lines)) => answered(tmux, &lines, &mut server),
            Some(Said::Refusal(words)) => Some(Heard::Roll(Err(TmuxError::Garbled(words)))),
        };
        if let Some(heard) = heard {
            tell(heard);
        }
    }
}

fn changes(notice: &str) -> bool {
    let name = notice.split(' ').next();
    name.is_some_and(|name| CHANGES.contains(&name))
}

/// What an answer is about is seen by its first line; attaching is answered with nothing.
fn answered(tmux: &Tmux, lines: &[String], server: &mut Option<ServerIdentity>) -> Option<Heard> {
    let first = lines.first()?;
    let roll = if first.starts_with("server:") {
        match tmux.server(first) {
            Ok((found, _version)) => {
                *server = Some(found);
                return None;
            }
            Err(error) => Err(error),
        }
    } else {
        let garbled = |line: &String| TmuxError::Garbled(line.clone());
        let panes = lines.iter();
        let panes = panes.map(|line| parse(line).ok_or_else(|| garbled(line)));
        panes.collect::<Result<Vec<_>, _>>().and_then(|panes| {
            let server = server.clone().ok_or_else(|| garbled(first))?;
            Ok(Roll { server, panes })
        })
    };
    Some(Heard::Roll(roll))
}

/// What a client in control mode says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Answer(Vec<String>),
    Refusal(String),
    Notice(String),
}

/// Puts lines together: an answer stands between two lines with the same mark, and may itself
/// hold lines that look like anything.
#[derive(Debug, Default)]
pub(super) struct Reader {
    answer: Option<(String, Vec<String>)>,
}

impl Reader {
    pub(super) fn take(&mut self, line: &str) -> Option<Said> {
        let Some((mark, lines)) = &mut self.answer else {
            return match line.strip_prefix("%begin ") {
                Some(mark) => {
                    self.answer = Some((mark.to_owned(), Vec::new()));
                    None
                }
                None => Some(Said::Notice(line.to_owned())),
            };
        };
        let ends = |word: &str| line.strip_prefix(word) == Some(mark.as_str());
        let said: fn(Vec<String>) -> Said = if ends("%end ") {
            Said::Answer
        } else if ends("%error ") {
            |lines| Said::Refusal(lines.join(" "))
        } else {
            lines.push(line.to_owned());
            return None;
        };
        let (_, lines) = self.answer.take()?;
        Some(said(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> Vec<Said> {
        let mut reader = Reader::default();
        lines.iter().filter_map(|line| reader.take(line)).collect()
    }

    #[test]
    fn an_answer_may_hold_anything_but_its_own_end() {
        let said = heard(&[
            "%begin 1 7 1",
            "%exit",
            "%end 1 6 1",
            "",
            "%end 1 7 1",
            "%sessions-changed",
        ]);
        let lines = ["%exit", "%end 1 6 1", ""].map(str::to_owned).to_vec();
        let notice = Said::Notice(String::from("%sessions-changed"));
        assert_eq!(said, [Said::Answer(lines), notice]);
    }

    #[test]
    fn a_refusal_is_no_answer() {
        let said = heard(&["%begin 1 7 1", "no such", "thing", "%error 1 7 1"]);
        assert_eq!(said, [Said::Refusal(String::from("no such thing"))]);
    }
}
