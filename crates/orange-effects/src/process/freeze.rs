//! Stops the processes of a run where they are, and continues them.
//!
//! tmux continues the process of a pane at once when it is stopped, so a run can be frozen only if
//! its agent is below that process: in a sandbox, or if its run file asks for it. The process of the
//! pane is left alone, and so are calls of orange: one that is stopped in a transaction would lock
//! the database for every other process. What a call records has no effect while the run is frozen.
//!
//! Parents are stopped first and continued last. None of them sees that a child has stopped, which a
//! shell would report, and `sandbox-init` would undo.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_engine::names::RunId;
use rustix::process::Signal;

use super::table::is_marked;
use super::{Liveness, ProcessError, ProcessIdentity, Stat, run_members, system};

/// The processes around an agent in a sandbox, which are its parents and no calls.
const AROUND: [&[u8]; 2] = [b"sandbox-init", b"sandbox-confine"];

/// The processes of a run, and what runs in its pane.
#[derive(Clone, Copy, Debug)]
pub struct RunProcesses<'a> {
    pub run: &'a RunId,
    /// The process of the run's pane.
    pub pane: &'a ProcessIdentity,
    /// The program of orange, by which its calls are known.
    pub orange: &'a Path,
}

/// Why a run could not be frozen or thawed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreezeError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// tmux would continue it at once.
    #[error(
        "cannot freeze run `{run}`: its agent is the process of its pane; start it in a sandbox, or \
         as a run that can be frozen"
    )]
    NotFreezable { run: RunId },
    /// Some processes did not stop or continue in time.
    #[error(
        "cannot {verb} run `{run}`: processes {pids:?} do not react; check with `ps -o pid,stat,args`"
    )]
    Unmoved {
        verb: &'static str,
        run: RunId,
        pids: Vec<u32>,
    },
}

/// Stops every process of the run and returns them; none if the run has ended.
///
/// A run that is frozen stays so, and what was started meanwhile is stopped too.
pub fn freeze(
    processes: RunProcesses<'_>,
    timeout: Duration,
) -> Result<Vec<ProcessIdentity>, FreezeError> {
    let RunProcesses { run, pane, .. } = processes;
    if pane.liveness() == Liveness::Alive && is_marked(pane.pid, run) {
        let run = run.clone();
        return Err(FreezeError::NotFreezable { run });
    }
    processes.signal_until(Signal::STOP, timeout)
}

/// Continues every process of the run that is stopped, and returns the run's processes.
pub fn thaw(
    processes: RunProcesses<'_>,
    timeout: Duration,
) -> Result<Vec<ProcessIdentity>, FreezeError> {
    processes.signal_until(Signal::CONT, timeout)
}

/// A process, and whether it is stopped.
struct Member {
    process: ProcessIdentity,
    depth: usize,
    is_stopped: bool,
}

impl RunProcesses<'_> {
    /// Sends the signal, and looks again until a look finds nothing that needs it: a process may
    /// have started another one between the two.
    fn signal_until(
        &self,
        signal: Signal,
        timeout: Duration,
    ) -> Result<Vec<ProcessIdentity>, FreezeError> {
        let stops = signal == Signal::STOP;
        let mut result = Ok(Vec::new());
        let is_done = Deadline::after(timeout).wait_for(|| {
            result = self.members();
            let Ok(members) = &mut result else {
                return true;
            };
            members.sort_by_key(|it| it.depth);
            if !stops {
                members.reverse();
            }
            let mut others = members
                .iter()
                .filter(|it| it.is_stopped != stops)
                .peekable();
            let is_done = others.peek().is_none();
            for member in others {
                if let Err(error) = system::signal(&member.process, signal) {
                    result = Err(error);
                    return true;
                }
            }
            is_done
        });
        let members = result?;
        if is_done {
            return Ok(members.into_iter().map(|it| it.process).collect());
        }
        let others = members.into_iter().filter(|it| it.is_stopped != stops);
        Err(FreezeError::Unmoved {
            verb: if stops { "freeze" } else { "thaw" },
            run: self.run.clone(),
            pids: others.map(|it| it.process.pid).collect(),
        })
    }

    /// The processes of the run, without that of the pane and without calls of orange.
    fn members(&self) -> Result<Vec<Member>, ProcessError> {
        let found = run_members(self.run, std::slice::from_ref(self.pane), &[])?;
        let found = found.into_iter().filter(|it| it.pid != self.pane.pid);
        let found: Vec<ProcessIdentity> = found.filter(|it| !self.is_call(it.pid)).collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let table = system::table()?;
        let table: BTreeMap<u32, &Stat> = table.iter().map(|stat| (stat.pid, stat)).collect();
        let members = found.into_iter().filter_map(|process| {
            let stat = table.get(&process.pid)?;
            let is_same = process.start == Some(stat.start) && !stat.has_ended;
            // One that a debugger holds runs no further than the debugger, which is of the run too.
            (is_same && !stat.is_traced).then(|| Member {
                depth: depth(stat.pid, &table),
                is_stopped: stat.is_stopped,
                process,
            })
        });
        Ok(members.collect())
    }

    /// Whether a process is a call of orange.
    fn is_call(&self, pid: u32) -> bool {
        let orange = fs::metadata(self.orange);
        let (Ok(orange), Some((program, verb))) = (orange, system::program_and_verb(pid)) else {
            return false;
        };
        let is_orange = (program.dev(), program.ino()) == (orange.dev(), orange.ino());
        is_orange && !AROUND.contains(&verb.as_slice())
    }
}

/// How many processes are above this one.
fn depth(pid: u32, table: &BTreeMap<u32, &Stat>) -> usize {
    let mut above = BTreeSet::new();
    let mut at = pid;
    while let Some(stat) = table.get(&at)
        && above.insert(at)
    {
        at = stat.parent;
    }
    above.len()
}
