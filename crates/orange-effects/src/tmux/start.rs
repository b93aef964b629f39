//! Starts a run in its own pane.

use std::ffi::OsStr;
use std::path::Path;

use orange_engine::names::{BranchName, ProjectName, RunId, TaskId};
use orange_engine::role::Role;

use super::call::{Call, require_version};
use super::guard::ExpectedPane;
use super::listing::{ListedPane, Listing, PaneState, ROLE, RUN, TASK};
use super::name::{require_plain, session_name, window_name};
use super::{Pane, Socket, Tmux, TmuxError};
use crate::command::CommandExit;
use crate::process::{ProcessError, ProcessIdentity};

/// The `TERM` of panes on our own server; not every macOS has an entry for `tmux-256color`.
const TERMINAL: &str = if cfg!(target_os = "macos") {
    "screen-256color"
} else {
    "tmux-256color"
};

/// A run to start in a pane.
#[derive(Clone, Copy, Debug)]
pub struct StartRequest<'a> {
    pub run: &'a RunId,
    /// Its task; all runs of a task share a session.
    pub task: &'a TaskId,
    pub role: &'a Role,
    /// The project, for the session's name.
    pub project: &'a ProjectName,
    /// The branch, for the session's name.
    pub branch: &'a BranchName,
    /// The display name of the window.
    pub window: &'a str,
    /// The path of this program.
    pub orange: &'a Path,
    /// The file that the pane reads.
    pub run_file: &'a Path,
    /// Whether no agent of the task was started before, so that the server has nothing of it.
    pub is_first: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartResult {
    pub pane: Pane,
    /// Whether it already existed.
    pub already_existed: bool,
}

impl Tmux {
    /// Makes sure that the run has a pane. An existing one, dead or alive, is not created again.
    pub fn start(&self, start: &StartRequest<'_>) -> Result<StartResult, TmuxError> {
        self.prepare_socket()?;
        if start.is_first
            && let Some(started) = self.start_first(start)?
        {
            return Ok(started);
        }
        let before = match self.list() {
            Ok(listing) => Some(listing),
            Err(TmuxError::NoServer(_)) => None,
            Err(error) => return Err(error),
        };
        // What counts is the version of the running server, or of the tmux that will become one.
        require_version(match &before {
            Some(listing) => listing.version.clone(),
            None => self.installed_version()?,
        })?;
        if let Some(listing) = &before
            && let Some(started) = self.find_started(start, listing)?
        {
            return Ok(started);
        }
        let after = self.create_pane(start, before.as_ref())?;
        let listed = require_created(start, &after)?;
        if let Some(before) = before.filter(|it| it.server != after.server) {
            // The server was replaced in between, so the session may belong to another task.
            let expected = ExpectedPane {
                server: &after.server,
                pane: listed.pane,
                run: start.run,
            };
            self.run_guarded(expected, &format!("kill-pane -t {}", listed.pane))?;
            return Err(TmuxError::NoServer(before.server.socket));
        }
        let pane = self.locate_pane(start, &after, listed)?;
        Ok(StartResult {
            pane,
            already_existed: false,
        })
    }

    /// Creates the first pane of a task without looking at the server before, with one call. `None`
    /// if the server has refused, for whatever reason.
    fn start_first(&self, start: &StartRequest<'_>) -> Result<Option<StartResult>, TmuxError> {
        let Ok(after) = self.create_pane(start, None) else {
            return Ok(None);
        };
        let listed = require_created(start, &after)?;
        if let Err(error) = require_version(after.version.clone()) {
            let expected = ExpectedPane {
                server: &after.server,
                pane: listed.pane,
                run: start.run,
            };
            self.run_guarded(expected, &format!("kill-pane -t {}", listed.pane))?;
            return Err(error);
        }
        Ok(Some(StartResult {
            pane: self.locate_pane(start, &after, listed)?,
            already_existed: false,
        }))
    }

    /// The run in its pane, if the listing contains it: dead or alive, it was started.
    pub fn find_started(
        &self,
        start: &StartRequest<'_>,
        listing: &Listing,
    ) -> Result<Option<StartResult>, TmuxError> {
        let Some(listed) = listing.of_run(start.run) else {
            return Ok(None);
        };
        let pane = self.locate_pane(start, listing, listed)?;
        Ok(Some(StartResult {
            pane,
            already_existed: true,
        }))
    }

    /// The pane of a run. Names its session first if needed: the process that created the pane may
    /// have died before doing so.
    fn locate_pane(
        &self,
        start: &StartRequest<'_>,
        listing: &Listing,
        listed: &ListedPane,
    ) -> Result<Pane, TmuxError> {
        let listed = self.name_session(start, listed)?;
        Ok(Pane {
            run: start.run.clone(),
            run_file: start.run_file.to_owned(),
            process: process(&listed)?,
            server: listing.server.clone(),
            session: listed.session,
            window: listed.window,
            pane: listed.pane,
            session_name: listed.session_name,
            window_name: listed.window_name,
        })
    }

    /// Creates the pane and lists the server, with one call.
    fn create_pane(
        &self,
        start: &StartRequest<'_>,
        before: Option<&Listing>,
    ) -> Result<Listing, TmuxError> {
        let panes = before.map_or(&[][..], |it| &it.panes);
        let of_task = |it: &&ListedPane| it.task.as_ref() == Some(start.task);
        let calls = if let Some(sibling) = panes.iter().find(of_task) {
            window_calls(start, sibling)?
        } else {
            let mut calls = self.session_calls(start)?;
            let name = session_name(start.project, start.branch);
            if panes.iter().all(|it| it.session_name != name) {
                calls.push(rename(&format!("={}", start.run), &name));
            }
            calls
        };
        let _permit = self.permit_change();
        self.list_after(calls).or_else(|error| {
            // If another session has just taken the name, everything but the rename has succeeded.
            let after = self.list().ok();
            after
                .filter(|it| it.of_run(start.run).is_some())
                .ok_or(error)
        })
    }

    /// The calls that create a session and mark its pane with task, role and run. The new session
    /// is named after the run's id, so that no call can hit another session. The server executes
    /// the calls in one step.
    fn session_calls(&self, start: &StartRequest<'_>) -> Result<Vec<Call>, TmuxError> {
        let run = require_plain("run", start.run.as_str())?;
        let task = require_plain("task", start.task.as_str())?;
        let target = format!("={run}:");
        let mut calls = Vec::new();
        if matches!(self.socket, Socket::Private(_)) {
            // So that the server can still report that its last window was closed.
            calls.push(Call::new(["set-option", "-s", "exit-empty", "off"]));
            calls.push(Call::new(["set-option", "-g", "history-limit", "50000"]));
            // Agents run without an attached client, whatever the user's configuration says.
            calls.push(Call::new(["set-option", "-s", "exit-unattached", "off"]));
            calls.push(Call::new(["set-option", "-g", "destroy-unattached", "off"]));
            calls.push(Call::new([
                "set-option",
                "-g",
                "default-terminal",
                TERMINAL,
            ]));
        }
        if matches!(self.socket, Socket::Private(_)) {
            calls.extend(display_options(self.status_command.as_deref()));
        }
        let window = window_name(start.window);
        let create = ["new-session", "-d", "-x", "200", "-y", "50", "-c", "/"];
        let create = Call::new(create).with_arguments(["-s", run, "-n", &window]);
        calls.push(create.with_arguments(["--"]).with_arguments(command(start)));
        calls.push(Call::new(["set-option", "-t", &target, TASK, task]));
        calls.extend(marks(start, &target)?);
        Ok(calls)
    }

    /// Gives a new session its display name, plus the task's id if another session has that name.
    fn name_session(
        &self,
        start: &StartRequest<'_>,
        listed: &ListedPane,
    ) -> Result<ListedPane, TmuxError> {
        if listed.session_name != start.run.as_str() {
            return Ok(listed.clone());
        }
        let name = session_name(start.project, start.branch);
        let session = listed.session.to_string();
        let _permit = self.permit_change();
        for name in [name.clone(), format!("{name}@{}", start.task)] {
            let (finished, _) = self.run(&[rename(&session, &name)])?;
            if finished.ending == CommandExit::Code(0) {
                break;
            }
        }
        let renamed = self.list()?;
        Ok(require_created(start, &renamed)?.clone())
    }
}

impl Tmux {
    /// Renames the session of a task after its branch, if the name differs.
    pub fn rename_session(
        &self,
        task: &TaskId,
        project: &ProjectName,
        branch: &BranchName,
    ) -> Result<(), TmuxError> {
        let listing = self.list()?;
        let mut panes = listing.panes.iter();
        let Some(listed) = panes.find(|it| it.task.as_ref() == Some(task)) else {
            return Ok(());
        };
        let name = session_name(project, branch);
        let names = [name.clone(), format!("{name}@{task}")];
        if names.contains(&listed.session_name) {
            return Ok(());
        }
        let session = listed.session.to_string();
        let _permit = self.permit_change();
        for name in names {
            let (finished, _) = self.run(&[rename(&session, &name)])?;
            if finished.ending == CommandExit::Code(0) {
                break;
            }
        }
        Ok(())
    }
}

/// What a user who attaches sees: the task, its status, and how to leave. `F12` also works if this
/// tmux runs inside another one, where the prefix key would reach only the outer tmux.
fn display_options(status_command: Option<&str>) -> impl Iterator<Item = Call> {
    let status = status_command.map(|it| format!("· #({it} #{{{TASK}}}) "));
    let left = format!(" #{{{TASK}}} #S {}", status.unwrap_or_default());
    let options = [
        ("status", "on"),
        ("status-interval", "2"),
        ("status-left", &left),
        ("status-left-length", "80"),
        ("status-right", " F12: leave, the agent keeps running "),
        ("status-right-length", "60"),
    ];
    let options = options.map(|(name, value)| Call::new(["set-option", "-g", name, value]));
    let key = Call::new(["bind-key", "-n", "F12", "detach-client"]);
    options.into_iter().chain([key])
}

/// The calls that create a window, mark its pane and give the window its display name. Until the
/// last of them the window is named after the run's id, so that no call can hit another window.
fn window_calls(start: &StartRequest<'_>, sibling: &ListedPane) -> Result<Vec<Call>, TmuxError> {
    let run = require_plain("run", start.run.as_str())?;
    let session = sibling.session;
    let (place, target) = (format!("{session}:"), format!("{session}:={run}"));
    let create = Call::new(["new-window", "-d", "-c", "/", "-t", &place, "-n", run]);
    let mut calls = vec![create.with_arguments(["--"]).with_arguments(command(start))];
    calls.extend(marks(start, &target)?);
    let window = window_name(start.window);
    calls.push(Call::new(["rename-window", "-t", &target, "--", &window]));
    Ok(calls)
}

fn rename(session: &str, name: &str) -> Call {
    Call::new(["rename-session", "-t", session, "--", name])
}

fn require_created<'a>(
    start: &StartRequest<'_>,
    listing: &'a Listing,
) -> Result<&'a ListedPane, TmuxError> {
    let listed = listing.of_run(start.run);
    listed.ok_or_else(|| TmuxError::Garbled(format!("no pane for run {}", start.run)))
}

/// The command in the pane: separate arguments, so that no shell parses them.
fn command<'a>(start: &StartRequest<'a>) -> [&'a OsStr; 3] {
    let (orange, run_file) = (start.orange.as_os_str(), start.run_file.as_os_str());
    [orange, "exec-run".as_ref(), run_file]
}

fn marks(start: &StartRequest<'_>, target: &str) -> Result<Vec<Call>, TmuxError> {
    let run = require_plain("run", start.run.as_str())?;
    let task = require_plain("task", start.task.as_str())?;
    let role = require_plain("role", start.role.as_str())?;
    let on_window =
        |name: &str, value: &str| Call::new(["set-option", "-w", "-t", target, name, value]);
    let on_pane =
        |name: &str, value: &str| Call::new(["set-option", "-p", "-t", target, name, value]);
    Ok(vec![
        on_window("remain-on-exit", "on"),
        on_window("automatic-rename", "off"),
        on_window("allow-rename", "off"),
        on_pane(TASK, task),
        on_pane(ROLE, role),
        // Last, so that a pane with this mark is complete.
        on_pane(RUN, run),
    ])
}

/// The agent's process, unless it has already exited.
fn process(listed: &ListedPane) -> Result<Option<ProcessIdentity>, TmuxError> {
    if listed.state != PaneState::Running {
        return Ok(None);
    }
    match ProcessIdentity::of(listed.pid) {
        Ok(process) => Ok(Some(process)),
        Err(ProcessError::Gone(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
