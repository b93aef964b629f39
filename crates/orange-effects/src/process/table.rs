//! Finds the processes that belong to a run.
//!
//! A run's processes carry `ORANGE_RUN_ID`. A process that dropped the variable is found as long as
//! a parent, a process group or a session ties it to a process that kept the variable. A process
//! that dropped the variable, left its session and lost its parent before the first scan cannot be
//! found this way.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use orange_config::{ORANGE_HOME, ORANGE_RUN_ID};
use orange_engine::names::RunId;

use super::{ProcessError, ProcessIdentity, Stat, system};

/// What a process's variables say about its run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    This,
    Other,
    None,
}

/// Every process that carries the run's id.
pub fn processes_of_run(run: &RunId) -> Result<Vec<ProcessIdentity>, ProcessError> {
    let table = system::table()?;
    let marked = table.iter().filter(|stat| mark(stat, run) == Mark::This);
    let found: BTreeSet<u32> = marked.map(|stat| stat.pid).collect();
    identities(&table, &found)
}

/// Every run whose id a living process carries, with the orange home which that process names.
pub fn marked_runs() -> Result<BTreeSet<(RunId, Option<OsString>)>, ProcessError> {
    let own = std::process::id();
    let table = system::table()?.into_iter();
    let living = table.filter(|stat| !stat.has_ended && stat.pid != own);
    let found = living.filter_map(|stat| {
        let environment = system::environment(stat.pid)?;
        let run = std::str::from_utf8(value(&environment, ORANGE_RUN_ID)?).ok()?;
        let home = value(&environment, ORANGE_HOME).map(OsStr::from_bytes);
        Some((RunId::new(run), home.map(OsStr::to_owned)))
    });
    Ok(found.collect())
}

/// Every living process whose environment has this variable, with its value.
pub fn processes_with_variable(
    name: &str,
) -> Result<Vec<(ProcessIdentity, OsString)>, ProcessError> {
    let table = system::table()?;
    let values: BTreeMap<u32, OsString> = table
        .iter()
        .filter_map(|stat| {
            let environment = system::environment(stat.pid)?;
            let value = OsStr::from_bytes(value(&environment, name)?);
            Some((stat.pid, value.to_owned()))
        })
        .collect();
    let found = identities(&table, &values.keys().copied().collect())?;
    let found = found.into_iter();
    let found = found.filter_map(|it| values.get(&it.pid).cloned().map(|value| (it, value)));
    Ok(found.collect())
}

/// Every process of a run that can be found, except this one and `spared`.
///
/// `roots` are processes known to belong to the run, such as the one in its pane.
pub fn run_members(
    run: &RunId,
    roots: &[ProcessIdentity],
    spared: &[u32],
) -> Result<Vec<ProcessIdentity>, ProcessError> {
    let table = system::table()?;
    let own = std::process::id();
    let marks: Vec<Mark> = table.iter().map(|stat| mark(stat, run)).collect();
    let is_candidate = |index: usize, stat: &Stat| {
        stat.pid > 1
            && stat.pid != own
            && !spared.contains(&stat.pid)
            && marks.get(index) != Some(&Mark::Other)
    };
    let roots: BTreeSet<(u32, u64)> = roots
        .iter()
        .filter(|root| !root.is_of_another_boot())
        .filter_map(|root| Some((root.pid, root.start?)))
        .collect();
    let is_root = |stat: &Stat| roots.contains(&(stat.pid, stat.start));
    let mut found: BTreeSet<u32> = BTreeSet::new();
    for (index, stat) in table.iter().enumerate() {
        if is_candidate(index, stat) && (marks.get(index) == Some(&Mark::This) || is_root(stat)) {
            found.insert(stat.pid);
        }
    }
    let pids: BTreeSet<u32> = table.iter().map(|stat| stat.pid).collect();
    loop {
        let before = found.len();
        let of_run = || table.iter().filter(|stat| found.contains(&stat.pid));
        let groups: BTreeSet<u32> = of_run().map(|stat| stat.group).collect();
        let sessions: BTreeSet<u32> = of_run().map(|stat| stat.session).collect();
        // A group or session belongs to the run when its leader does, or when its leader is gone
        // and a process of the run is in it. A user's terminal has its own leader, and a leader
        // outside this container has no pid here.
        let is_own = |leader: u32, tied: &BTreeSet<u32>| {
            found.contains(&leader)
                || (leader > 1 && !pids.contains(&leader) && tied.contains(&leader))
        };
        let tied = table.iter().enumerate().filter(|(index, stat)| {
            is_candidate(*index, stat)
                && (found.contains(&stat.parent)
                    || is_own(stat.group, &groups)
                    || is_own(stat.session, &sessions))
        });
        let tied: Vec<u32> = tied.map(|(_, stat)| stat.pid).collect();
        found.extend(tied);
        if found.len() == before {
            return identities(&table, &found);
        }
    }
}

/// Whether a process was started with the run's id.
pub(super) fn is_marked(pid: u32, run: &RunId) -> bool {
    let environment = system::environment(pid).unwrap_or_default();
    value(&environment, ORANGE_RUN_ID) == Some(run.as_str().as_bytes())
}

/// Every living process that this one, its children, or theirs have started.
#[cfg(target_os = "linux")]
pub(super) fn descendants() -> Result<Vec<ProcessIdentity>, ProcessError> {
    let table = system::table()?;
    let mut found = BTreeSet::from([std::process::id()]);
    loop {
        let before = found.len();
        let below = table.iter().filter(|stat| found.contains(&stat.parent));
        let below: Vec<u32> = below.map(|stat| stat.pid).collect();
        found.extend(below);
        if found.len() == before {
            found.remove(&std::process::id());
            return identities(&table, &found);
        }
    }
}

/// Every process whose name starts with `name` and whose working directory is `folder` or below it.
/// If we may not read the working directory of a process, it counts too, because it might be there.
pub fn processes_in(folder: &Path, name: &str) -> Result<Vec<ProcessIdentity>, ProcessError> {
    named_processes(folder, name, true)
}

/// Like [`processes_in`], without processes whose working directory we may not read: those belong to
/// other users.
pub fn own_processes_in(folder: &Path, name: &str) -> Result<Vec<ProcessIdentity>, ProcessError> {
    named_processes(folder, name, false)
}

fn named_processes(
    folder: &Path,
    name: &str,
    includes_unreadable: bool,
) -> Result<Vec<ProcessIdentity>, ProcessError> {
    let table = system::table()?;
    let is_match = |stat: &&Stat| {
        let (process_name, directory) = system::name_and_directory(stat.pid);
        let is_in_folder = match directory {
            Ok(directory) => directory.starts_with(folder),
            Err(error) => includes_unreadable && error.kind() == io::ErrorKind::PermissionDenied,
        };
        process_name.starts_with(name.as_bytes()) && is_in_folder
    };
    let found = table.iter().filter(is_match).map(|stat| stat.pid);
    identities(&table, &found.collect())
}

fn identities(table: &[Stat], found: &BTreeSet<u32>) -> Result<Vec<ProcessIdentity>, ProcessError> {
    let boot = system::boot()?;
    let living = table
        .iter()
        .filter(|stat| found.contains(&stat.pid) && !stat.has_ended);
    let identity = |stat: &Stat| ProcessIdentity {
        pid: stat.pid,
        start: Some(stat.start),
        boot: boot.clone(),
    };
    Ok(living.map(identity).collect())
}

fn mark(stat: &Stat, run: &RunId) -> Mark {
    let environment = system::environment(stat.pid).unwrap_or_default();
    match value(&environment, ORANGE_RUN_ID) {
        None => Mark::None,
        Some(value) if value == run.as_str().as_bytes() => Mark::This,
        Some(_) => Mark::Other,
    }
}

/// The value of a variable.
pub(super) fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut entries = environment.split(|byte| *byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}
