//! Whether a run is alive, from hard evidence only.
//!
//! tmux 3.3a now and then misses the end of a process that ends at once: the pane is dead, and how
//! it ended is never said. The process then waits for tmux as a zombie, which still tells.

use orange_engine::evidence::Evidence;

use super::listing::{Listed, Listing, PaneState};
use super::{Pane, Tmux, TmuxError};
use crate::process::{Life, carrying, unnoticed_end};
use crate::run::exec_failure;

/// What a look at a run shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// Its agent runs.
    Alive,
    /// Its agent has provably ended.
    Dead(Evidence),
    /// Nobody can tell, and why; this changes nothing.
    Unknown(String),
}

impl Tmux {
    /// Looks at one run. For many, [`Tmux::list`] once and [`observe`] each.
    pub fn observe(&self, pane: &Pane) -> Observation {
        observe(pane, &self.list())
    }
}

/// What one look at the server says about a run.
pub fn observe(pane: &Pane, look: &Result<Listing, TmuxError>) -> Observation {
    match look {
        Ok(listing) if listing.server == pane.server => on_its_server(pane, listing),
        Ok(_) => without_its_server(pane, "its tmux server was replaced by another"),
        Err(TmuxError::NoServer(_)) => without_its_server(pane, "its tmux server does not answer"),
        // A server that is only slow still knows how the agent ended.
        Err(error) => match pane.server.process.life() {
            Life::Gone => without_its_server(pane, &error.to_string()),
            _ => Observation::Unknown(error.to_string()),
        },
    }
}

fn on_its_server(pane: &Pane, listing: &Listing) -> Observation {
    let found = listing.panes.iter().find(|listed| listed.pane == pane.pane);
    let Some(listed) = found else {
        return match life(pane) {
            Life::Gone => Observation::Dead(Evidence::Closed),
            Life::Alive => still_there(pane, "its pane was closed"),
            Life::Unknown(why) => Observation::Unknown(why),
        };
    };
    if listed.run.as_ref() != Some(&pane.run) {
        let message = format!("pane {} has lost the mark of run `{}`", pane.pane, pane.run);
        return Observation::Unknown(message);
    }
    match &listed.state {
        PaneState::Running => in_its_pane(pane, listed),
        PaneState::Ended(Some(evidence)) => Observation::Dead(refined(pane, evidence)),
        PaneState::Ended(None) => unnoticed(pane, listed),
    }
}

fn in_its_pane(pane: &Pane, listed: &Listed) -> Observation {
    let Some(process) = &pane.process else {
        return Observation::Alive;
    };
    match process.life() {
        Life::Gone if process.pid == listed.pid => unnoticed(pane, listed),
        // Somebody started something else in the pane.
        Life::Gone => Observation::Dead(Evidence::Closed),
        _ if process.pid != listed.pid => still_there(pane, "its pane runs something else"),
        // Where the system does not tell, tmux does.
        Life::Alive | Life::Unknown(_) => Observation::Alive,
    }
}

/// What is known when tmux does not say how the agent ended.
fn unnoticed(pane: &Pane, listed: &Listed) -> Observation {
    match unnoticed_end(listed.pid, pane.server.process.pid) {
        Some(evidence) => Observation::Dead(refined(pane, &evidence)),
        None => Observation::Unknown(format!(
            "the agent in pane {} has ended, tmux does not say how",
            pane.pane
        )),
    }
}

fn without_its_server(pane: &Pane, why: &str) -> Observation {
    match life(pane) {
        Life::Gone => Observation::Dead(Evidence::Environment),
        Life::Alive => still_there(pane, why),
        Life::Unknown(unknown) => Observation::Unknown(format!("{why}; {unknown}")),
    }
}

fn still_there(pane: &Pane, why: &str) -> Observation {
    Observation::Unknown(format!("{why}, but processes of run `{}` remain", pane.run))
}

/// Whether the agent's process runs. Where it was never looked at, its mark is looked for.
fn life(pane: &Pane) -> Life {
    if let Some(process) = &pane.process {
        return process.life();
    }
    if pane.server.process.is_of_another_boot() {
        return Life::Gone;
    }
    match carrying(&pane.run) {
        Ok(found) if found.is_empty() => Life::Gone,
        Ok(_) => Life::Alive,
        Err(error) => Life::Unknown(error.to_string()),
    }
}

/// An exit before the agent began says more than its code.
fn refined(pane: &Pane, evidence: &Evidence) -> Evidence {
    let is_missing = || exec_failure(&pane.run_file).is_some_and(|failure| failure.is_missing);
    match evidence {
        Evidence::Exit { .. } if is_missing() => Evidence::MissingProgram,
        evidence => evidence.clone(),
    }
}
