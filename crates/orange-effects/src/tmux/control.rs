//! One long-lived client that queries the server without starting programs.
//!
//! A connection belongs to one server process. When that process exits, the connection ends, and
//! what it reported applies to no other server. The client receives no pane output and has no size.

use std::io;
use std::thread;

use super::connecting::Permit;
use super::listing::SERVER;
use super::pane_snapshot::{FORMAT, parse};
use super::{PaneSnapshot, ServerIdentity, Tmux, TmuxError};
use crate::command::{Conversation, Lines};

/// The server's notifications that windows were opened or closed.
const CHANGES: [&str; 4] = [
    "%sessions-changed",
    "%session-changed",
    "%window-close",
    "%unlinked-window-close",
];

/// What a connection reports.
#[derive(Debug)]
pub enum ControlEvent {
    /// The requested list of panes, or why there is none.
    Panes(Result<PaneSnapshot, TmuxError>),
    /// Windows or sessions were opened or closed.
    Changed,
    /// The connection has ended.
    Ended,
}

/// A connection to a server; dropping this value ends the connection.
#[derive(Debug)]
pub struct Control {
    conversation: Conversation,
}

impl Tmux {
    /// Connects; a separate thread passes every event to `on_event`.
    ///
    /// A client needs a session, so without one there is nothing to connect to.
    pub fn control(
        &self,
        on_event: impl Fn(ControlEvent) + Send + 'static,
    ) -> Result<Control, TmuxError> {
        let permit = self.permit_connection()?;
        let mut conversation = self.long_lived_client()?.converse()?;
        let failed = |error: io::Error| TmuxError::Disconnected(error.to_string());
        // If the client has already exited, the reading thread reports that.
        let _ignored = conversation.send_line(&format!("display-message -p '{SERVER}'"));
        let lines = conversation.lines();
        let tmux = self.clone();
        thread::Builder::new()
            .name(String::from("tmux"))
            .spawn(move || {
                if let Some(lines) = lines {
                    listen(&tmux, lines, permit, &on_event);
                }
                on_event(ControlEvent::Ended);
            })
            .map_err(failed)?;
        Ok(Control { conversation })
    }
}

impl Control {
    /// Closes the connection without waiting for the client to exit.
    pub fn disconnect(&mut self) {
        self.conversation.close_input();
    }

    pub fn has_ended(&mut self) -> bool {
        self.conversation.has_ended()
    }

    /// Requests the list of panes; the answer arrives as an event.
    pub fn request_panes(&mut self) -> Result<(), TmuxError> {
        let sent = self
            .conversation
            .send_line(&format!("list-panes -a -F '{FORMAT}'"));
        sent.map_err(|error| TmuxError::Disconnected(error.to_string()))
    }
}

fn listen(tmux: &Tmux, mut lines: Lines, permit: Permit, on_event: &impl Fn(ControlEvent)) {
    let mut reader = Reader::default();
    let mut server = None;
    // Once the client prints its first line, it is connected.
    let mut permit = Some(permit);
    while let Ok(Some(line)) = lines.read() {
        drop(permit.take());
        let event = match reader.take(&String::from_utf8_lossy(&line)) {
            None => None,
            Some(ControlMessage::Notice(notice)) => {
                is_change(&notice).then_some(ControlEvent::Changed)
            }
            Some(ControlMessage::Answer(lines)) => parse_answer(tmux, &lines, &mut server),
            Some(ControlMessage::Refusal(message)) => {
                Some(ControlEvent::Panes(Err(TmuxError::Garbled(message))))
            }
        };
        if let Some(event) = event {
            on_event(event);
        }
    }
}

fn is_change(notice: &str) -> bool {
    let name = notice.split(' ').next();
    name.is_some_and(|name| CHANGES.contains(&name))
}

/// Parses an answer; its first line tells what it is about, and the answer to attaching is empty.
fn parse_answer(
    tmux: &Tmux,
    lines: &[String],
    server: &mut Option<ServerIdentity>,
) -> Option<ControlEvent> {
    let first = lines.first()?;
    let snapshot = if first.starts_with("server:") {
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
            Ok(PaneSnapshot { server, panes })
        })
    };
    Some(ControlEvent::Panes(snapshot))
}

/// A message from a client in control mode.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ControlMessage {
    Answer(Vec<String>),
    Refusal(String),
    Notice(String),
}

/// Assembles messages from lines. An answer is enclosed by two lines with the same mark, and the
/// lines between them may look like marks or notices.
#[derive(Debug, Default)]
pub(super) struct Reader {
    answer: Option<(String, Vec<String>)>,
}

impl Reader {
    pub(super) fn take(&mut self, line: &str) -> Option<ControlMessage> {
        let Some((mark, lines)) = &mut self.answer else {
            return match line.strip_prefix("%begin ") {
                Some(mark) => {
                    self.answer = Some((mark.to_owned(), Vec::new()));
                    None
                }
                None => Some(ControlMessage::Notice(line.to_owned())),
            };
        };
        let ends = |word: &str| line.strip_prefix(word) == Some(mark.as_str());
        let messages: fn(Vec<String>) -> ControlMessage = if ends("%end ") {
            ControlMessage::Answer
        } else if ends("%error ") {
            |lines| ControlMessage::Refusal(lines.join(" "))
        } else {
            lines.push(line.to_owned());
            return None;
        };
        let (_, lines) = self.answer.take()?;
        Some(messages(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_messages(lines: &[&str]) -> Vec<ControlMessage> {
        let mut reader = Reader::default();
        lines.iter().filter_map(|line| reader.take(line)).collect()
    }

    #[test]
    fn an_answer_may_contain_anything_but_its_end_marker() {
        let messages = read_messages(&[
            "%begin 1 7 1",
            "%exit",
            "%end 1 6 1",
            "",
            "%end 1 7 1",
            "%sessions-changed",
        ]);
        let lines = ["%exit", "%end 1 6 1", ""].map(str::to_owned).to_vec();
        let notice = ControlMessage::Notice(String::from("%sessions-changed"));
        assert_eq!(messages, [ControlMessage::Answer(lines), notice]);
    }

    #[test]
    fn an_error_is_not_an_answer() {
        let messages = read_messages(&["%begin 1 7 1", "no such", "thing", "%error 1 7 1"]);
        assert_eq!(
            messages,
            [ControlMessage::Refusal(String::from("no such thing"))]
        );
    }
}
