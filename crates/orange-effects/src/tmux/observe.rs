//! Determines whether a run is alive, from hard evidence only.
//!
//! tmux 3.3a sometimes misses the exit of a process that exits immediately: the pane is dead, and
//! tmux never reports how. The process is then a zombie waiting for tmux, and its status can still
//! be read.

use orange_engine::evidence::Evidence;

use super::listing::{ListedPane, Listing, PaneState};
use super::{Pane, Tmux, TmuxError};
use crate::process::{Liveness, processes_of_run, unreaped_exit};
use crate::run::exec_failure;

/// The observed state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    Alive,
    /// Its agent has provably exited.
    Dead(Evidence),
    /// The state could not be determined, for this reason; that proves nothing.
    Unknown(String),
}

impl Tmux {
    /// Checks one run. For many, call [`Tmux::list`] once and [`observe`] for each.
    pub fn observe(&self, pane: &Pane) -> Observation {
        observe(pane, &self.list())
    }
}

/// What a listing of the server says about a run.
pub fn observe(pane: &Pane, listing_result: &Result<Listing, TmuxError>) -> Observation {
    match listing_result {
        Ok(listing) if listing.server == pane.server => observe_on_server(pane, listing),
        Ok(_) => observe_without_server(pane, "its tmux server was replaced by another"),
        Err(TmuxError::NoServer(_)) => {
            observe_without_server(pane, "its tmux server does not answer")
        }
        // A server that is only slow still knows how the agent exited.
        Err(error) => match pane.server.process.liveness() {
            Liveness::Gone => observe_without_server(pane, &error.to_string()),
            _ => Observation::Unknown(error.to_string()),
        },
    }
}

fn observe_on_server(pane: &Pane, listing: &Listing) -> Observation {
    let found = listing.panes.iter().find(|listed| listed.pane == pane.pane);
    let Some(listed) = found else {
        return match agent_liveness(pane) {
            Liveness::Gone => Observation::Dead(Evidence::Closed),
            Liveness::Alive => unknown_with_processes(pane, "its pane was closed"),
            Liveness::Unknown(reason) => Observation::Unknown(reason),
        };
    };
    if listed.run.as_ref() != Some(&pane.run) {
        let message = format!("pane {} has lost the mark of run `{}`", pane.pane, pane.run);
        return Observation::Unknown(message);
    }
    match &listed.state {
        PaneState::Running => observe_in_pane(pane, listed),
        PaneState::Ended(Some(evidence)) => Observation::Dead(with_start_failure(pane, evidence)),
        PaneState::Ended(None) => read_unreported_exit(pane, listed),
    }
}

fn observe_in_pane(pane: &Pane, listed: &ListedPane) -> Observation {
    let Some(process) = &pane.process else {
        return Observation::Alive;
    };
    match process.liveness() {
        Liveness::Gone if process.pid == listed.pid => read_unreported_exit(pane, listed),
        // Another process was started in the pane.
        Liveness::Gone => Observation::Dead(Evidence::Closed),
        _ if process.pid != listed.pid => {
            unknown_with_processes(pane, "its pane runs something else")
        }
        // Where the system cannot tell, trust tmux.
        Liveness::Alive | Liveness::Unknown(_) => Observation::Alive,
    }
}

/// The evidence when tmux does not report how the agent exited.
fn read_unreported_exit(pane: &Pane, listed: &ListedPane) -> Observation {
    match unreaped_exit(listed.pid, pane.server.process.pid) {
        Some(evidence) => Observation::Dead(with_start_failure(pane, &evidence)),
        None => Observation::Unknown(format!(
            "the agent in pane {} has exited, and tmux does not report how",
            pane.pane
        )),
    }
}

fn observe_without_server(pane: &Pane, reason: &str) -> Observation {
    match agent_liveness(pane) {
        Liveness::Gone => Observation::Dead(Evidence::Environment),
        Liveness::Alive => unknown_with_processes(pane, reason),
        Liveness::Unknown(unknown) => Observation::Unknown(format!("{reason}; {unknown}")),
    }
}

fn unknown_with_processes(pane: &Pane, reason: &str) -> Observation {
    Observation::Unknown(format!(
        "{reason}, but processes of run `{}` remain",
        pane.run
    ))
}

/// Whether the agent's process runs. If it was never recorded, all processes are searched for the
/// run's id.
fn agent_liveness(pane: &Pane) -> Liveness {
    if let Some(process) = &pane.process {
        return process.liveness();
    }
    if pane.server.process.is_of_another_boot() {
        return Liveness::Gone;
    }
    match processes_of_run(&pane.run) {
        Ok(found) if found.is_empty() => Liveness::Gone,
        Ok(_) => Liveness::Alive,
        Err(error) => Liveness::Unknown(error.to_string()),
    }
}

/// Replaces an exit code if the agent's program was missing, because that says more than the code.
fn with_start_failure(pane: &Pane, evidence: &Evidence) -> Evidence {
    let is_missing = || exec_failure(&pane.run_file).is_some_and(|failure| failure.is_missing);
    match evidence {
        Evidence::Exit { .. } if is_missing() => Evidence::MissingProgram,
        evidence => evidence.clone(),
    }
}
