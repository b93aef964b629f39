//! Finds leftovers of killed processes, lost databases and finished tasks.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use orange_engine::names::{ProjectName, TaskId};
use orange_store::{Store, StoreError, WorkspaceRecord, WorkspaceState};
use rustix::process::{Pid, test_kill_process};

use super::{Checkup, Health};
use crate::DriverError;
use crate::admin::Admin;
use crate::steps::pinned_workflow;

/// How many names a finding lists.
const MAX_NAMES: usize = 5;

/// One kind of leftover: the names found, and a description.
struct Leftovers {
    names: Vec<String>,
    description: &'static str,
    fix: String,
}

impl Admin {
    /// Looks for things that nothing uses any more. Adds one finding per kind, or one that says
    /// there are none.
    pub(crate) fn check_leftovers(&self, found: &mut Vec<Checkup>) {
        let mut left = vec![self.drafts()];
        left.extend(self.set_aside_files());
        // Another check reports problems with the database.
        if let Ok(store) = Store::open_read_only(&self.context.home) {
            match self.find_leftovers(&store) {
                Ok(more) => left.extend(more),
                Err(error) => {
                    let unknown = Checkup::new("leftovers", Health::Unknown, error.to_string());
                    found.push(
                        unknown.with_fix("run `orange task list`; its error says what to do"),
                    );
                }
            }
        }
        left.retain(|it| !it.names.is_empty());
        if left.is_empty() {
            found.push(Checkup::new("leftovers", Health::Ok, "none"));
        }
        for Leftovers {
            names,
            description,
            fix,
        } in left
        {
            let shown: Vec<&str> = names.iter().map(String::as_str).take(MAX_NAMES).collect();
            let more = match names.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!("{description}: `{}`{more}", shown.join("`, `"));
            found.push(Checkup::new("leftovers", Health::Warning, text).with_fix(fix));
        }
    }

    fn find_leftovers(&self, store: &Store) -> Result<Vec<Leftovers>, DriverError> {
        let orphans = self.agents.orphans(store)?;
        let orphans = orphans
            .iter()
            .map(|it| format!("{} of {}", it.run, it.task));
        let mut left = vec![
            Leftovers {
                names: orphans.collect(),
                description: "runs that no task needs, but whose pane or process is still there",
                fix: String::from("run `orange serve --detach` to end them"),
            },
            self.unknown_tasks(store)?,
            self.lost_worktrees(store)?,
        ];
        left.extend(self.leftover_workspaces(store)?);
        Ok(left)
    }

    /// Tasks whose worktree is gone.
    fn lost_worktrees(&self, store: &Store) -> Result<Leftovers, DriverError> {
        let mut names = Vec::new();
        for project in self.context.all_projects()? {
            for record in store.workspaces(&project.name)? {
                if let WorkspaceState::Bound(task) = &record.state
                    && !record.path.exists()
                {
                    names.push(task.to_string());
                }
            }
        }
        Ok(Leftovers {
            names,
            description: "tasks whose worktree is gone",
            fix: String::from(
                "run `orange task cancel TASK`, then `orange task reopen TASK`, which makes a new one",
            ),
        })
    }

    /// Texts that were being written when the editor, or the process waiting for it, was killed.
    fn drafts(&self) -> Leftovers {
        let is_abandoned = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let pid = name
                .strip_prefix("draft-")
                .and_then(|it| it.strip_suffix(".md"));
            let pid = pid.and_then(|it| Pid::from_raw(it.parse().ok()?));
            pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
        };
        let drafts = entries(self.context.home.path())
            .into_iter()
            .filter(is_abandoned);
        let names = texts(drafts);
        let fix = match names.first() {
            Some(first) => format!("read it with `less {first}`, then remove it"),
            None => String::new(),
        };
        Leftovers {
            names,
            description: "drafts that a killed editor left",
            fix,
        }
    }

    /// What is in the folder of files that were moved aside. Whole worktrees are there if their
    /// repository was gone. Earlier versions of orange also moved the git directories of submodules
    /// there; these may have the only copy of a commit.
    fn set_aside_files(&self) -> [Leftovers; 3] {
        let folder = self.context.home.set_aside();
        // The name of a submodule can contain slashes, so its git directory can be at any depth
        // below `modules`.
        let has_repository = |it: &PathBuf| it.join("modules").is_dir();
        let (repositories, files): (Vec<PathBuf>, Vec<PathBuf>) =
            entries(&folder).into_iter().partition(has_repository);
        let is_worktree = |it: &PathBuf| it.join(".git").symlink_metadata().is_ok();
        let (worktrees, files): (Vec<PathBuf>, Vec<PathBuf>) =
            files.into_iter().partition(is_worktree);
        let files = texts(files.into_iter());
        let quoted = |path: &str| format!("'{}'", path.replace('\'', r"'\''"));
        let rm = if repositories.is_empty() && worktrees.is_empty() {
            quoted(&folder.display().to_string())
        } else {
            let files: Vec<String> = files.iter().map(|it| quoted(it)).collect();
            files.join(" ")
        };
        [
            Leftovers {
                names: files,
                description: "files that git ignores, moved aside when a worktree was cleaned or \
                              removed",
                fix: format!("if you need none of them, run `rm -r {rm}`"),
            },
            Leftovers {
                names: texts(worktrees.into_iter()),
                description: "worktrees, moved aside because their repository was gone",
                fix: String::from(
                    "they may have the only copy of uncommitted work: look at each of them before \
                     you delete it",
                ),
            },
            Leftovers {
                names: texts(repositories.into_iter()),
                description: "repositories of submodules, moved aside when a worktree was removed",
                fix: String::from(
                    "they may have commits that are nowhere else: for each git directory \
                     DIR below `modules`, see `git --work-tree=. --git-dir=DIR log HEAD --all --not \
                     --remotes`",
                ),
            },
        ]
    }

    /// Task directories that the database does not know.
    fn unknown_tasks(&self, store: &Store) -> Result<Leftovers, DriverError> {
        let mut unknown = Vec::new();
        for path in entries(&self.context.home.tasks())
            .iter()
            .flat_map(|it| entries(it))
        {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            match store.require(&TaskId::new(name)) {
                Err(StoreError::UnknownTask { .. }) if path.is_dir() => unknown.push(path),
                Err(StoreError::UnknownTask { .. }) | Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Leftovers {
            names: texts(unknown.into_iter()),
            description: "task directories that are not in the database",
            fix: String::from("run `orange rebuild --move-aside` to read them again"),
        })
    }

    /// Worktrees that are unused, unusable or unknown.
    fn leftover_workspaces(&self, store: &Store) -> Result<Vec<Leftovers>, DriverError> {
        let (mut ended, mut retired, mut incomplete, mut unknown) =
            (vec![], vec![], vec![], vec![]);
        for path in entries(&self.context.home.workspaces()) {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            if name.starts_with('.') {
                continue;
            }
            let project = name.rsplit_once("--").map_or(name, |(project, _)| project);
            let records = store.workspaces(&ProjectName::new(project))?;
            match records.into_iter().find(|it| it.path == path) {
                None => unknown.push(path),
                Some(it) if it.state == WorkspaceState::Retired => retired.push(path),
                Some(it) if !path.join(".git").exists() && it.state == WorkspaceState::Free => {
                    incomplete.push(path);
                }
                Some(it) if has_finished_holder(store, &it)? => ended.push(path),
                Some(_) => {}
            }
        }
        let gc = || String::from("run `orange workspace gc` to see what blocks them");
        let check_hint = |paths: &[PathBuf]| match paths.first() {
            Some(first) => {
                let first = first.display();
                format!("check it with `ls -la {first}`, then run `mv {first} {first}.old`")
            }
            None => String::new(),
        };
        let fixes = [gc(), gc(), check_hint(&incomplete), check_hint(&unknown)];
        let descriptions = [
            "worktrees that finished tasks still hold",
            "worktrees that were retired from the pool",
            "worktrees that were not created completely",
            "directories among the worktrees that are not in the pool",
        ];
        let kinds = [ended, retired, incomplete, unknown]
            .into_iter()
            .zip(descriptions)
            .zip(fixes);
        let left = kinds.map(|((paths, what), fix)| Leftovers {
            names: texts(paths.into_iter()),
            description: what,
            fix,
        });
        Ok(left.collect())
    }
}

/// Whether a workspace is held by a finished task with no pending effects.
fn has_finished_holder(store: &Store, record: &WorkspaceRecord) -> Result<bool, DriverError> {
    let (WorkspaceState::Bound(task) | WorkspaceState::Reserved(task)) = &record.state else {
        return Ok(false);
    };
    let stored = store.require(task)?;
    let is_over = pinned_workflow(&stored)?.is_terminal(&stored.task.status);
    Ok(is_over && stored.task.pending.is_empty())
}

/// The sorted entries of a folder; empty when it cannot be listed.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = listed.filter_map(|it| Some(it.ok()?.path())).collect();
    paths.sort();
    paths
}

fn texts(paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
    paths.map(|path| path.display().to_string()).collect()
}
