//! Ends a run: its pane, and any processes it left running.

use std::path::Path;

use orange_engine::names::RunId;

use super::guard::ExpectedPane;
use super::listing::{ListedPane, Listing, PaneState};
use super::name::require_plain;
use super::{Pane, Tmux, TmuxError};
use crate::private_file;
use crate::process::{
    EndedProcesses, KillTimeouts, ProcessError, ProcessIdentity, end_run_processes, run_members,
};

/// A run to end.
#[derive(Clone, Copy, Debug)]
pub struct KillRequest<'a> {
    pub run: &'a RunId,
    /// The recorded pane of the run; its process belongs to the run even if it does not carry the
    /// run's id yet.
    pub recorded: Option<&'a Pane>,
    /// Where to save the pane's scrollback.
    pub scrollback: Option<&'a Path>,
    /// Processes to leave alone, such as the supervisor; this process and the server are always
    /// left alone.
    pub spared: &'a [u32],
    /// How long its processes may take to exit.
    pub timeouts: KillTimeouts,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillResult {
    /// How many panes were closed.
    pub panes: usize,
    /// The result for the run's processes.
    pub leftovers: Leftovers,
    /// Why the scrollback could not be saved, if it could not.
    pub scrollback: Option<String>,
}

/// What happened to the processes that a run left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftovers {
    /// No process is left; these were ended, including the agent's own.
    Ended(Vec<ProcessIdentity>),
    /// This system cannot list them, so they were not searched for.
    NotSearched(String),
}

impl Tmux {
    /// Ends a run, and returns only when nothing of it is left. A run that is already gone is not
    /// an error.
    ///
    /// The pane is found by the run's mark on whatever server is listening now, so that an
    /// unrecorded pane is found too. Its scrollback is saved first. Then every process that carries
    /// the run's id is ended, and every process that was tied to these before the pane was closed,
    /// even if tmux does not answer.
    pub fn kill(&self, kill: &KillRequest<'_>) -> Result<KillResult, TmuxError> {
        let run = kill.run;
        require_plain("run", run.as_str())?;
        let (listing, list_error) = match self.list() {
            Ok(listing) => (Some(listing), None),
            Err(TmuxError::NoServer(_)) => (None, None),
            Err(error) => (None, Some(error)),
        };
        let panes = listing.as_ref().map(|it| it.panes.as_slice());
        let panes = panes.unwrap_or_default().iter();
        let panes: Vec<&ListedPane> = panes.filter(|it| it.run.as_ref() == Some(run)).collect();
        let server = listing.as_ref().map(|it| it.server.process.pid);
        let spared: Vec<u32> = kill.spared.iter().copied().chain(server).collect();
        let recorded = kill.recorded.and_then(|pane| pane.process.clone());
        let roots = panes.iter().filter_map(|it| root(it)).chain(recorded);
        let roots: Vec<ProcessIdentity> = roots.collect();
        // Which processes are related can be seen only while the pane exists.
        let known = run_members(run, &roots, &spared);
        let close_result = match &listing {
            Some(listing) => self.close(run, listing, &panes, kill.scrollback),
            None => Ok(None),
        };
        let leftovers = leftovers(run, known, &spared, kill.timeouts)?;
        if let Some(error) = list_error {
            return Err(error);
        }
        // The server may exit with its last pane before it has answered, so only this check shows
        // whether the pane is closed.
        let closed_check = self.require_closed(run);
        let scrollback = match (close_result, closed_check) {
            (Ok(unsaved), Ok(())) => unsaved,
            (Err(_), Ok(())) => None,
            (Err(error), Err(_)) | (Ok(_), Err(error)) => return Err(error),
        };
        Ok(KillResult {
            panes: panes.len(),
            leftovers,
            scrollback,
        })
    }

    /// Closes panes; returns why the scrollback could not be saved, if it could not.
    fn close(
        &self,
        run: &RunId,
        listing: &Listing,
        panes: &[&ListedPane],
        scrollback: Option<&Path>,
    ) -> Result<Option<String>, TmuxError> {
        let mut unsaved = None;
        for listed in panes {
            let pane = listed.pane;
            let expected = ExpectedPane {
                server: &listing.server,
                pane,
                run,
            };
            if let Some(path) = scrollback {
                let saved = self.save_scrollback(expected, path);
                unsaved = saved.err().map(|error| error.to_string());
            }
            let _permit = self.permit_change();
            self.run_guarded(expected, &format!("kill-pane -t {pane}"))?;
        }
        Ok(unsaved)
    }

    /// Writes a pane's whole scrollback to a file.
    fn save_scrollback(&self, pane: ExpectedPane<'_>, path: &Path) -> Result<(), TmuxError> {
        let text = self.capture(pane)?;
        Ok(private_file::write(path, text.as_bytes())?)
    }

    fn require_closed(&self, run: &RunId) -> Result<(), TmuxError> {
        match self.list() {
            Err(TmuxError::NoServer(_)) => Ok(()),
            Err(error) => Err(error),
            Ok(listing) => match listing.of_run(run) {
                None => Ok(()),
                Some(listed) => Err(TmuxError::Garbled(format!(
                    "pane {} of run {run} still exists after it was closed",
                    listed.pane
                ))),
            },
        }
    }
}

fn root(listed: &ListedPane) -> Option<ProcessIdentity> {
    match listed.state {
        PaneState::Running => ProcessIdentity::of(listed.pid).ok(),
        PaneState::Ended(_) => None,
    }
}

fn leftovers(
    run: &RunId,
    known: Result<Vec<ProcessIdentity>, ProcessError>,
    spared: &[u32],
    timeouts: KillTimeouts,
) -> Result<Leftovers, ProcessError> {
    let ended = known.and_then(|known| end_run_processes(run, &known, spared, timeouts));
    match ended {
        Ok(EndedProcesses { processes }) => Ok(Leftovers::Ended(processes)),
        Err(error @ ProcessError::Unsupported(_)) => Ok(Leftovers::NotSearched(error.to_string())),
        Err(error) => Err(error),
    }
}
