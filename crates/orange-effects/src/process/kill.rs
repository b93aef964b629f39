//! Ends the processes of a run, including those that ignore SIGTERM.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::RunId;
use rustix::process::Signal;

use super::{
    Liveness, ProcessError, ProcessIdentity, processes_with_variable, run_members, system,
};

/// How long a run's processes may take to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillTimeouts {
    /// After `SIGTERM`.
    pub after_term: Duration,
    /// After `SIGKILL`.
    pub after_kill: Duration,
}

impl Default for KillTimeouts {
    fn default() -> Self {
        Self {
            after_term: Duration::from_secs(2),
            after_kill: Duration::from_secs(5),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedProcesses {
    /// The processes that were found alive, ordered by pid.
    pub processes: Vec<ProcessIdentity>,
}

/// Sends one process `SIGTERM`, as `kill` does.
pub fn terminate(process: &ProcessIdentity) -> Result<(), ProcessError> {
    system::signal(process, Signal::TERM)
}

/// Ends every process of a run that can be found, and whatever they start meanwhile.
///
/// `known` are processes of the run that were recorded earlier: once its parent is dead, a process
/// that dropped its variables can no longer be tied to the run. This process and `spared` are left
/// alone.
pub fn end_run_processes(
    run: &RunId,
    known: &[ProcessIdentity],
    spared: &[u32],
    timeouts: KillTimeouts,
) -> Result<EndedProcesses, ProcessError> {
    let own = std::process::id();
    let is_spared =
        |process: &&ProcessIdentity| process.pid == own || spared.contains(&process.pid);
    let known = known.iter().filter(|it| !is_spared(it)).cloned();
    let search = |all: &BTreeSet<ProcessIdentity>| {
        let seeds: Vec<ProcessIdentity> = all.iter().cloned().collect();
        run_members(run, &seeds, spared)
    };
    end_found(known.collect(), search, timeouts)
}

/// Kills everything below this process, and whatever is started meanwhile. The caller adopts the
/// processes that lose their parent, and reaps them with `reap`. Returns whether none is left.
#[cfg(target_os = "linux")]
pub(crate) fn kill_descendants(timeout: Duration, mut reap: impl FnMut()) -> bool {
    Deadline::after(timeout).wait_for(|| {
        reap();
        let Ok(found) = super::table::descendants() else {
            return false;
        };
        // One that is stopped starts no other.
        for signal in [Signal::STOP, Signal::KILL] {
            for process in &found {
                let _gone = system::signal(process, signal);
            }
        }
        found.is_empty()
    })
}

/// Ends every process whose environment has this variable with this value, and whatever they start
/// meanwhile; this process is left alone.
pub fn end_with_variable(
    name: &str,
    value: &OsStr,
    timeouts: KillTimeouts,
) -> Result<EndedProcesses, ProcessError> {
    let own = std::process::id();
    let search = |_: &BTreeSet<ProcessIdentity>| {
        let found = processes_with_variable(name)?.into_iter();
        let found =
            found.filter(|(process, found_value)| found_value == value && process.pid != own);
        Ok(found.map(|(process, _)| process).collect())
    };
    end_found(BTreeSet::new(), search, timeouts)
}

fn end_found(
    mut all: BTreeSet<ProcessIdentity>,
    search: impl Fn(&BTreeSet<ProcessIdentity>) -> Result<Vec<ProcessIdentity>, ProcessError>,
    timeouts: KillTimeouts,
) -> Result<EndedProcesses, ProcessError> {
    for (signal, time) in [
        (Signal::TERM, timeouts.after_term),
        (Signal::KILL, timeouts.after_kill),
    ] {
        all.extend(search(&all)?);
        let deadline = Deadline::after(time);
        let mut signalled: BTreeSet<ProcessIdentity> = BTreeSet::new();
        let mut failure = None;
        let all_ended = deadline.wait_for(|| {
            let living: Vec<_> = all
                .iter()
                .filter(|it| it.liveness() != Liveness::Gone)
                .collect();
            for process in &living {
                if signalled.insert((*process).clone())
                    && let Err(error) = system::signal(process, signal)
                {
                    failure = Some(error);
                }
            }
            if failure.is_some() || !living.is_empty() {
                return failure.is_some();
            }
            // A full scan takes time, so it is done only once the known processes are gone.
            match search(&all) {
                Ok(found) if found.is_empty() => true,
                Ok(found) => {
                    all.extend(found);
                    false
                }
                Err(error) => {
                    failure = Some(error);
                    true
                }
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if all_ended {
            let processes = all.into_iter().collect();
            return Ok(EndedProcesses { processes });
        }
    }
    let living = all.iter().filter(|it| it.liveness() != Liveness::Gone);
    Err(ProcessError::Survived(living.map(|it| it.pid).collect()))
}
