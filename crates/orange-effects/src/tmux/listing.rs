//! Lists every pane of a server with one call.

use orange_engine::evidence::Evidence;
use orange_engine::names::{RunId, TaskId};
use orange_engine::role::Role;

use super::call::Call;
use super::{PaneId, ServerIdentity, SessionId, Tmux, TmuxError, WindowId};
use crate::command::CommandExit;
use crate::process::ProcessIdentity;

/// The options that mark a pane as ours.
pub(super) const RUN: &str = "@orange_run";
pub(super) const TASK: &str = "@orange_task";
pub(super) const ROLE: &str = "@orange_role";

/// The separator `:` cannot occur in any field but the last: ids and numbers do not contain it, our
/// own ids are plain, and tmux replaces it with `_` in session names. A name may contain a newline,
/// so the format makes tmux replace control characters.
pub(super) const FORMAT: &str = "pane:#{session_id}:#{window_id}:#{pane_id}:#{pane_pid}:#{pane_dead}:\
                      #{pane_dead_status}:#{pane_dead_signal}:#{@orange_run}:#{@orange_task}:\
                      #{@orange_role}:#{s/[\x01-\x1f]/_/:session_name}:\
                      #{s/[\x01-\x1f]/_/:window_name}";
const FIELDS: usize = 13;

/// The server's description of itself.
pub(super) const SERVER: &str = "server:#{pid}:#{start_time}:#{version}";

/// A server's panes at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub server: ServerIdentity,
    /// Its tmux version.
    pub version: String,
    /// Every pane, ours or not.
    pub panes: Vec<ListedPane>,
}

/// A pane as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPane {
    pub session: SessionId,
    pub window: WindowId,
    pub pane: PaneId,
    /// The process that was started in it.
    pub pid: u32,
    pub state: PaneState,
    /// The run it was created for; a user's own pane has none.
    pub run: Option<RunId>,
    /// The task of its session.
    pub task: Option<TaskId>,
    /// The role of its agent.
    pub role: Option<Role>,
    pub session_name: String,
    pub window_name: String,
}

/// Whether a pane's process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaneState {
    Running,
    /// It has exited; without evidence if tmux does not know how.
    Ended(Option<Evidence>),
}

impl Listing {
    /// The pane with the mark of a run.
    pub fn of_run(&self, run: &RunId) -> Option<&ListedPane> {
        self.panes
            .iter()
            .find(|pane| pane.run.as_ref() == Some(run))
    }
}

impl Tmux {
    /// Lists the whole server.
    pub fn list(&self) -> Result<Listing, TmuxError> {
        self.list_after(Vec::new())
    }

    /// Like [`Tmux::list`], after other commands that print nothing; stops at the first that fails.
    pub(super) fn list_after(&self, mut calls: Vec<Call>) -> Result<Listing, TmuxError> {
        calls.extend([
            Call::new(["display-message", "-p", SERVER]),
            Call::new(["list-sessions", "-F", "session:#{session_id}"]),
            Call::new(["list-panes", "-a", "-F", FORMAT]),
        ]);
        let (finished, tmux) = self.run(&calls)?;
        let output = String::from_utf8_lossy(&finished.stdout.bytes).into_owned();
        let mut lines = output.lines();
        let server = lines.next().map(|line| self.server(line));
        let is_complete = match finished.ending {
            CommandExit::Code(0) => !finished.stdout.is_truncated,
            // A server without sessions has no panes to list, and reports that as a failure.
            CommandExit::Code(1) => output.lines().count() == 1,
            _ => false,
        };
        let Some(server) = server.filter(|_| is_complete) else {
            return Err(self.error_for(finished, &tmux));
        };
        let (server, version) = server?;
        let panes = lines.filter(|line| !line.starts_with("session:"));
        let panes =
            panes.map(|line| parse(line).ok_or_else(|| TmuxError::Garbled(line.to_owned())));
        Ok(Listing {
            server,
            version,
            panes: panes.collect::<Result<_, _>>()?,
        })
    }

    /// Parses the line with a server's identity and version.
    pub(super) fn server(&self, line: &str) -> Result<(ServerIdentity, String), TmuxError> {
        let garbled = || TmuxError::Garbled(line.to_owned());
        let fields: Vec<&str> = line.splitn(4, ':').collect();
        let ["server", pid, started, version] = fields[..] else {
            return Err(garbled());
        };
        let server = ServerIdentity {
            socket: self.socket().to_owned(),
            process: ProcessIdentity::of(pid.parse().map_err(|_| garbled())?)?,
            started: started.parse().map_err(|_| garbled())?,
        };
        Ok((server, version.to_owned()))
    }
}

/// Parses one line of a listing; `None` when it is malformed.
pub(super) fn parse(line: &str) -> Option<ListedPane> {
    let fields: Vec<&str> = line.splitn(FIELDS, ':').collect();
    let [
        "pane",
        session,
        window,
        pane,
        pid,
        dead,
        status,
        signal,
        run,
        task,
        role,
        session_name,
        window_name,
    ] = fields.as_slice()
    else {
        return None;
    };
    let state = match *dead {
        "0" | "" => PaneState::Running,
        "1" => parse_end(status, signal)?,
        _ => return None,
    };
    let non_empty = |text: &&str| {
        Some(*text)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    Some(ListedPane {
        session: session.parse().ok()?,
        window: window.parse().ok()?,
        pane: pane.parse().ok()?,
        pid: pid.parse().ok()?,
        state,
        run: non_empty(run).map(RunId::new),
        task: non_empty(task).map(TaskId::new),
        role: non_empty(role).map(|role| Role::from_name(&role)),
        session_name: (*session_name).to_owned(),
        window_name: (*window_name).to_owned(),
    })
}

/// How a process ended; `None` when the answer is malformed.
fn parse_end(status: &str, signal: &str) -> Option<PaneState> {
    let evidence = match (status, signal) {
        ("", "") => None,
        (_, "") => Some(Evidence::Exit {
            code: status.parse().ok()?,
        }),
        ("" | "0", _) => Some(Evidence::Signal {
            signal: signal.parse().ok()?,
        }),
        _ => return None,
    };
    Some(PaneState::Ended(evidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_field_by_field() {
        let listed = parse("pane:$3:@7:%12:99:0:::r1:t1:worker:app/x:a:b c").unwrap();
        assert_eq!(listed.pane.to_string(), "%12");
        assert_eq!(listed.state, PaneState::Running);
        assert_eq!(listed.run, Some(RunId::new("r1")));
        assert_eq!(listed.role, Some(Role::Worker));
        assert_eq!(listed.window_name, "a:b c");
        let ended = |line: &str| parse(line).map(|listed| listed.state);
        let exit = PaneState::Ended(Some(Evidence::Exit { code: 3 }));
        assert_eq!(ended("pane:$3:@7:%12:99:1:3:::::s:w"), Some(exit));
        let signal = PaneState::Ended(Some(Evidence::Signal { signal: 9 }));
        assert_eq!(ended("pane:$3:@7:%12:99:1::9::::s:w"), Some(signal));
        let not_yet = PaneState::Ended(None);
        assert_eq!(ended("pane:$3:@7:%12:99:1::::::s:w"), Some(not_yet));
    }

    #[test]
    fn a_malformed_line_is_not_a_pane() {
        for line in [
            "",
            "pane",
            "pane:$3:@7:%12:99:0:::r1:t1",
            "pane:3:@7:%12:99:0::::::s:w",
            "pane:$3:@7:%12:x:0::::::s:w",
            "pane:$3:@7:%12:99:2::::::s:w",
            "pane:$3:@7:%12:99:1:x:::::s:w",
            "other:$3:@7:%12:99:0::::::s:w",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
