//! Starts a run in a pane of its own.

use std::ffi::OsStr;
use std::path::Path;

use orange_engine::names::{BranchName, ProjectName, RunId, TaskId};
use orange_engine::role::Role;

use super::call::{Call, require_version};
use super::guard::Meant;
use super::listing::{Listed, Listing, PaneState, ROLE, RUN, TASK};
use super::name::{require_plain, session_name, window_name};
use super::{Pane, Socket, Tmux, TmuxError};
use crate::command::Ending;
use crate::process::{ProcessError, ProcessIdentity};

/// What panes of our own server say that they are; not every macOS knows the better name.
const TERMINAL: &str = if cfg!(target_os = "macos") {
    "screen-256color"
} else {
    "tmux-256color"
};

/// A run that is to live in a pane.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    pub run: &'a RunId,
    /// Its task; all runs of a task share a session.
    pub task: &'a TaskId,
    pub role: &'a Role,
    /// The project, for the session's name.
    pub project: &'a ProjectName,
    /// The branch, for the session's name.
    pub branch: &'a BranchName,
    /// What people call the window.
    pub window: &'a str,
    /// This program.
    pub orange: &'a Path,
    /// What the pane reads.
    pub run_file: &'a Path,
}

/// A run in its pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// Where it lives.
    pub pane: Pane,
    /// Whether it was there before.
    pub was_there: bool,
}

impl Tmux {
    /// Makes sure that the run has a pane. One that is there, dead or alive, is not made again.
    pub fn start(&self, start: &Start<'_>) -> Result<Started, TmuxError> {
        self.require_place()?;
        let before = match self.list() {
            Ok(listing) => Some(listing),
            Err(TmuxError::NoServer(_)) => None,
            Err(error) => return Err(error),
        };
        // The server that is there will do it, or the installed one will be it.
        require_version(match &before {
            Some(listing) => listing.version.clone(),
            None => self.installed_version()?,
        })?;
        if let Some(listing) = &before
            && let Some(started) = self.started(start, listing)?
        {
            return Ok(started);
        }
        let after = self.add(start, before.as_ref())?;
        let listed = require_made(start, &after)?;
        if let Some(before) = before.filter(|it| it.server != after.server) {
            // The server was replaced in between, so the session may be anybody's.
            let meant = Meant {
                server: &after.server,
                pane: listed.pane,
                run: start.run,
            };
            self.guarded(meant, &format!("kill-pane -t {}", listed.pane))?;
            return Err(TmuxError::NoServer(before.server.socket));
        }
        let pane = self.place(start, &after, listed)?;
        Ok(Started {
            pane,
            was_there: false,
        })
    }

    /// The run in its pane, if a look at the server shows it: dead or alive, it was started.
    pub fn started(
        &self,
        start: &Start<'_>,
        listing: &Listing,
    ) -> Result<Option<Started>, TmuxError> {
        let Some(listed) = listing.of_run(start.run) else {
            return Ok(None);
        };
        let pane = self.place(start, listing, listed)?;
        let was_there = true;
        Ok(Some(Started { pane, was_there }))
    }

    /// Where a run lives that was made; who made it may have died before it had its name.
    fn place(
        &self,
        start: &Start<'_>,
        listing: &Listing,
        listed: &Listed,
    ) -> Result<Pane, TmuxError> {
        let listed = self.named(start, listed)?;
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

    /// Makes the pane and looks at the server, by one call.
    fn add(&self, start: &Start<'_>, before: Option<&Listing>) -> Result<Listing, TmuxError> {
        let panes = before.map_or(&[][..], |it| &it.panes);
        let of_task = |it: &&Listed| it.task.as_ref() == Some(start.task);
        let calls = if let Some(sibling) = panes.iter().find(of_task) {
            add_window(start, sibling)?
        } else {
            let mut calls = self.add_session(start)?;
            let name = session_name(start.project, start.branch);
            if panes.iter().all(|it| it.session_name != name) {
                calls.push(rename(&format!("={}", start.run), &name));
            }
            calls
        };
        self.list_after(calls).or_else(|error| {
            // Somebody may have taken the name just now; then all the rest has happened.
            let after = self.list().ok();
            after
                .filter(|it| it.of_run(start.run).is_some())
                .ok_or(error)
        })
    }

    /// The session is called by the run's id until it has its mark, so that the mark cannot meet
    /// another one; all of it is one step of the server.
    fn add_session(&self, start: &Start<'_>) -> Result<Vec<Call>, TmuxError> {
        let run = require_plain("run", start.run.as_str())?;
        let task = require_plain("task", start.task.as_str())?;
        let target = format!("={run}:");
        let mut calls = Vec::new();
        if matches!(self.socket, Socket::Private(_)) {
            // A server that stays when its last window is closed can say that it was closed.
            calls.push(Call::new(["set-option", "-s", "exit-empty", "off"]));
            calls.push(Call::new(["set-option", "-g", "history-limit", "50000"]));
            calls.push(Call::new([
                "set-option",
                "-g",
                "default-terminal",
                TERMINAL,
            ]));
        }
        let window = window_name(start.window);
        let make = ["new-session", "-d", "-x", "200", "-y", "50", "-c", "/"];
        let make = Call::new(make).and(["-s", run, "-n", &window]);
        calls.push(make.and(["--"]).and(command(start)));
        calls.push(Call::new(["set-option", "-t", &target, TASK, task]));
        calls.extend(marks(start, &target)?);
        Ok(calls)
    }

    /// Gives a new session its name for people; another session may have it already.
    fn named(&self, start: &Start<'_>, listed: &Listed) -> Result<Listed, TmuxError> {
        if listed.session_name != start.run.as_str() {
            return Ok(listed.clone());
        }
        let name = session_name(start.project, start.branch);
        let session = listed.session.to_string();
        for name in [name.clone(), format!("{name}@{}", start.task)] {
            let (finished, _) = self.run(&[rename(&session, &name)])?;
            if finished.ending == Ending::Code(0) {
                break;
            }
        }
        let renamed = self.list()?;
        Ok(require_made(start, &renamed)?.clone())
    }
}

impl Tmux {
    /// Names the session of a task after its branch, where it has another name.
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
        for name in names {
            let (finished, _) = self.run(&[rename(&session, &name)])?;
            if finished.ending == Ending::Code(0) {
                break;
            }
        }
        Ok(())
    }
}

/// The window is called by the run's id until it has its mark, for the same reason.
fn add_window(start: &Start<'_>, sibling: &Listed) -> Result<Vec<Call>, TmuxError> {
    let run = require_plain("run", start.run.as_str())?;
    let session = sibling.session;
    let (place, target) = (format!("{session}:"), format!("{session}:={run}"));
    let make = Call::new(["new-window", "-d", "-c", "/", "-t", &place, "-n", run]);
    let mut calls = vec![make.and(["--"]).and(command(start))];
    calls.extend(marks(start, &target)?);
    let window = window_name(start.window);
    calls.push(Call::new(["rename-window", "-t", &target, "--", &window]));
    Ok(calls)
}

fn rename(session: &str, name: &str) -> Call {
    Call::new(["rename-session", "-t", session, "--", name])
}

fn require_made<'a>(start: &Start<'_>, listing: &'a Listing) -> Result<&'a Listed, TmuxError> {
    let made = listing.of_run(start.run);
    made.ok_or_else(|| TmuxError::Garbled(format!("no pane for run {}", start.run)))
}

/// What runs in the pane: words of their own, so that no shell reads them.
fn command<'a>(start: &Start<'a>) -> [&'a OsStr; 3] {
    let (orange, run_file) = (start.orange.as_os_str(), start.run_file.as_os_str());
    [orange, "exec-run".as_ref(), run_file]
}

fn marks(start: &Start<'_>, target: &str) -> Result<Vec<Call>, TmuxError> {
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
        // Last, so that a pane with this mark has everything.
        on_pane(RUN, run),
    ])
}

/// The agent's process, unless it has ended already.
fn process(listed: &Listed) -> Result<Option<ProcessIdentity>, TmuxError> {
    if listed.state != PaneState::Running {
        return Ok(None);
    }
    match ProcessIdentity::of(listed.pid) {
        Ok(process) => Ok(Some(process)),
        Err(ProcessError::Gone(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
