//! Where a run is: converts between tmux panes and stored records.

use std::path::{Path, PathBuf};

use orange_effects::process::ProcessIdentity;
use orange_effects::tmux::{ListedPane, Listing, Pane, PaneState, ServerIdentity};
use orange_engine::names::{ProjectName, RunId, TaskId};
use orange_store::{RunPlace, RunRecord, TaskDirectory};

use crate::DriverError;
use crate::context::Context;

impl Context {
    pub(crate) fn run_directory(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
    ) -> Result<PathBuf, DriverError> {
        Ok(TaskDirectory::new(&self.home, project, task)?.run(run)?)
    }

    /// The directory with the files that start a run, inside its run directory.
    pub(crate) fn launch_directory(
        &self,
        project: &ProjectName,
        task: &TaskId,
        run: &RunId,
    ) -> Result<PathBuf, DriverError> {
        Ok(self.run_directory(project, task, run)?.join("launch"))
    }
}

/// The file that a pane reads to start its run.
pub(crate) fn run_file(launch_directory: &Path) -> PathBuf {
    launch_directory.join("run.json")
}

/// The file with the hash of a run's secret, which proves that an event comes from the run's hooks.
pub(crate) fn proof_file(launch_directory: &Path) -> PathBuf {
    launch_directory.join("proof.sha256")
}

/// The file with a pane's output, saved when the pane was closed.
pub(crate) fn output_file(launch_directory: &Path) -> PathBuf {
    launch_directory.with_file_name("output.txt")
}

/// The file with what a headless run has printed.
pub(crate) fn result_file(launch_directory: &Path) -> PathBuf {
    launch_directory.with_file_name("result.jsonl")
}

/// The folder in which a headless run leaves its report; all that is in it comes from the agent.
pub(crate) fn report_folder(run_directory: &Path) -> PathBuf {
    run_directory.join("from-agent")
}

/// The report of a headless run.
pub(crate) fn report_file(run_directory: &Path) -> PathBuf {
    report_folder(run_directory).join("report.json")
}

/// The file with the state of the repository before a run that may only read it.
pub(crate) fn repository_file(run_directory: &Path) -> PathBuf {
    run_directory.join("repository.json")
}

pub(crate) fn place_of(pane: &Pane) -> RunPlace {
    let server = &pane.server;
    RunPlace {
        socket: server.socket.clone(),
        server: orange_store::ProcessIdentity {
            pid: server.process.pid,
            started: format!("{} {}", ticks(&server.process), server.started),
        },
        session: pane.session.to_string(),
        window: pane.window.to_string(),
        pane: pane.pane.to_string(),
        process: match &pane.process {
            Some(process) => orange_store::ProcessIdentity {
                pid: process.pid,
                started: ticks(process),
            },
            None => orange_store::ProcessIdentity {
                pid: 0,
                started: String::new(),
            },
        },
        boot_id: server.process.boot.clone().unwrap_or_default(),
    }
}

/// Whether a process is the one that a run was started in.
pub(crate) fn is_process(run: &RunRecord, process: &ProcessIdentity) -> bool {
    let Some(place) = &run.place else {
        return false;
    };
    let known = &place.process;
    known.pid == process.pid && known.started == ticks(process) && is_of_boot(place, process)
}

/// Whether a process is the tmux server that a run was started on.
pub(crate) fn is_server(place: &RunPlace, socket: &Path, process: &ProcessIdentity) -> bool {
    let known = &place.server;
    let started = known.started.split_once(' ').map(|(ticks, _)| ticks);
    place.socket == socket
        && known.pid == process.pid
        && started == Some(&ticks(process))
        && is_of_boot(place, process)
}

fn is_of_boot(place: &RunPlace, process: &ProcessIdentity) -> bool {
    place.boot_id == process.boot.clone().unwrap_or_default()
}

fn ticks(process: &ProcessIdentity) -> String {
    let start = process.start;
    start.map_or_else(|| String::from("-"), |start| start.to_string())
}

/// The recorded pane; `None` when the record cannot be parsed.
pub(crate) fn recorded_pane(record: &RunRecord, run_file: &Path) -> Option<Pane> {
    let place = record.place.as_ref()?;
    let boot = Some(place.boot_id.clone()).filter(|boot| !boot.is_empty());
    let identity = |pid: u32, start: &str| ProcessIdentity {
        pid,
        start: start.parse().ok(),
        boot: boot.clone(),
    };
    let (server_start, started) = place.server.started.split_once(' ')?;
    let process = &place.process;
    Some(Pane {
        run: record.id.clone(),
        run_file: run_file.to_owned(),
        server: ServerIdentity {
            socket: place.socket.clone(),
            process: identity(place.server.pid, server_start),
            started: started.parse().ok()?,
        },
        session: place.session.parse().ok()?,
        window: place.window.parse().ok()?,
        pane: place.pane.parse().ok()?,
        process: (process.pid != 0).then(|| identity(process.pid, &process.started)),
        session_name: String::new(),
        window_name: String::new(),
    })
}

/// The pane that a server shows for a run whose pane was never recorded.
pub(crate) fn find_pane(listing: &Listing, run: &RunId, run_file: &Path) -> Option<Pane> {
    let listed: &ListedPane = listing.of_run(run)?;
    let process = match listed.state {
        PaneState::Running => ProcessIdentity::of(listed.pid).ok(),
        PaneState::Ended(_) => None,
    };
    Some(Pane {
        run: run.clone(),
        run_file: run_file.to_owned(),
        server: listing.server.clone(),
        session: listed.session,
        window: listed.window,
        pane: listed.pane,
        process,
        session_name: listed.session_name.clone(),
        window_name: listed.window_name.clone(),
    })
}
