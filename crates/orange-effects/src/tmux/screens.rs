//! Reads what panes show, with colours, through one long-lived client.
//!
//! A connection belongs to one server process, so a pane's id stays unique while the connection
//! lasts; the pane's own mark is checked all the same.

use std::io;

use super::control::{ControlMessage, Reader};
use super::listing::SERVER;
use super::{Pane, ServerIdentity, Tmux, TmuxError};
use crate::command::{Conversation, Lines};
use crate::process::Liveness;

/// The first field of the answer about a pane.
const MARK: &str = "screen";

/// A long-lived client that reads what panes show; dropping this value ends the client.
#[derive(Debug)]
pub struct Screens {
    conversation: Conversation,
    lines: Lines,
    reader: Reader,
    server: ServerIdentity,
}

/// What a pane shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneScreen {
    /// Its lines, from the top, with colour escape sequences.
    pub lines: Vec<String>,
    pub is_running: bool,
    /// Column and line of the cursor, if it is visible.
    pub cursor: Option<(u16, u16)>,
}

impl Tmux {
    /// Connects; without a session there is nothing to connect to.
    pub fn screens(&self) -> Result<Screens, TmuxError> {
        let _permit = self.permit_connection()?;
        let mut conversation = self.long_lived_client()?.converse()?;
        let ended = || TmuxError::Disconnected(String::from("tmux sent no answer"));
        let mut lines = conversation.lines().ok_or_else(ended)?;
        let mut reader = Reader::default();
        loop {
            match next(&mut lines, &mut reader)? {
                ControlMessage::Answer(answer) => {
                    if let Some(first) = answer.first() {
                        let (server, _) = self.server(first)?;
                        return Ok(Screens {
                            conversation,
                            lines,
                            reader,
                            server,
                        });
                    }
                    // This is the empty answer to attaching. A server without sessions could answer
                    // an earlier question before it refuses to attach.
                    let sent = conversation.send_line(&format!("display-message -p '{SERVER}'"));
                    sent.map_err(|error| disconnect_error(&error))?;
                }
                // A server without sessions lets no client attach.
                ControlMessage::Refusal(message) => return Err(TmuxError::Disconnected(message)),
                ControlMessage::Notice(_) => {}
            }
        }
    }
}

impl Screens {
    /// What a pane shows, with this many lines of scrollback; `None` when the pane is gone or
    /// belongs to another server process.
    pub fn screen(
        &mut self,
        pane: &Pane,
        scrollback: usize,
    ) -> Result<Option<PaneScreen>, TmuxError> {
        if pane.server.process != self.server.process {
            // A connection to a server that has exited shows nothing of its successor.
            return match self.server.process.liveness() {
                Liveness::Gone => Err(TmuxError::Disconnected(String::from(
                    "its server has exited",
                ))),
                _ => Ok(None),
            };
        }
        let id = pane.pane;
        let query = format!(
            "display-message -p -t {id} '{MARK}:#{{@orange_run}}:#{{pane_dead}}:#{{cursor_flag}}:\
             #{{cursor_x}}:#{{cursor_y}}' ; capture-pane -e -p -S -{scrollback} -t {id}"
        );
        let sent = self.conversation.send_line(&query);
        sent.map_err(|error| disconnect_error(&error))?;
        let header = match self.answer()? {
            Ok(header) => header.concat(),
            // The pane is gone, and tmux did not run the second command.
            Err(_) => return Ok(None),
        };
        let Ok(lines) = self.answer()? else {
            return Ok(None);
        };
        let fields: Vec<&str> = header.split(':').collect();
        let [MARK, run, dead, cursor_flag, column, line] = fields[..] else {
            return Err(TmuxError::Garbled(header));
        };
        if run != pane.run.as_str() {
            return Ok(None);
        }
        let cursor = (column.parse().ok()).zip(line.parse().ok());
        Ok(Some(PaneScreen {
            lines,
            is_running: dead != "1",
            cursor: cursor.filter(|_| cursor_flag == "1" && scrollback == 0),
        }))
    }

    fn answer(&mut self) -> Result<Result<Vec<String>, String>, TmuxError> {
        loop {
            match next(&mut self.lines, &mut self.reader)? {
                ControlMessage::Answer(lines) => return Ok(Ok(lines)),
                ControlMessage::Refusal(message) => return Ok(Err(message)),
                ControlMessage::Notice(_) => {}
            }
        }
    }
}

fn next(lines: &mut Lines, reader: &mut Reader) -> Result<ControlMessage, TmuxError> {
    loop {
        let line = lines.read().map_err(|error| disconnect_error(&error))?;
        let Some(line) = line else {
            return Err(TmuxError::Disconnected(String::from(
                "the server closed it",
            )));
        };
        if let Some(message) = reader.take(&String::from_utf8_lossy(&line)) {
            return Ok(message);
        }
    }
}

fn disconnect_error(error: &io::Error) -> TmuxError {
    TmuxError::Disconnected(error.to_string())
}
