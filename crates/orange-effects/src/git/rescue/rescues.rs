//! The rescues of a repository, and their content.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::git::repository::discover::git_directory;
use crate::git::repository::name::task_part;
use crate::git::repository::refs::has_no_ref_below;
use crate::git::repository::settings::Settings;
use crate::git::worktree::entry::{Entry, Tree};
use crate::git::{Git, GitError, Operation};

/// Where the refs of rescues are.
pub(crate) const REFS: &str = "refs/orange/rescue";

/// The directory with the operations' files, in the commit that holds the state of operations.
pub(crate) const STATE: &str = "state";

/// The directory with unresolved stages, in the commit that holds the state of operations.
pub(crate) const STAGES: &str = "stages";

/// How many commits on no branch are listed at most.
const MAX_COMMITS: usize = 100;

/// How many numbers are tried when one is already taken.
const TRIES: u32 = 100;

/// What a rescue belongs to. It is stored in the commit's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RescueOrigin {
    pub task: TaskId,
    /// The branch that was checked out, or that an operation in progress was about.
    pub branch: Option<BranchName>,
    /// The commit of HEAD; a branch without a commit has none.
    pub head: Option<CommitId>,
    /// The operations in progress.
    pub operations: Vec<Operation>,
    /// The rescue that the same release saved before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<CommitId>,
}

/// Rescued work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// Its number within the task.
    pub number: u32,
    /// The commit that contains it.
    pub commit: CommitId,
    /// What it belongs to.
    pub about: RescueOrigin,
    parents: Vec<String>,
}

/// Everything in a rescue.
pub(crate) struct Content {
    /// The files of the commit that it is based on.
    pub before: Tree,
    /// The files, byte for byte.
    pub work: Tree,
    pub index: Tree,
    /// The stages of paths that a merge left unresolved.
    pub unmerged: BTreeSet<(PathBuf, u8, Entry)>,
}

impl Content {
    /// The paths that differ from the commit that it is based on.
    pub fn paths(&self) -> BTreeSet<PathBuf> {
        let trees = [&self.before, &self.work, &self.index];
        let all: BTreeSet<&PathBuf> = trees.into_iter().flat_map(Tree::keys).collect();
        let differs = |path: &&PathBuf| {
            let base_entry = self.before.get(*path);
            self.work.get(*path) != base_entry || self.index.get(*path) != base_entry
        };
        all.into_iter().filter(differs).cloned().collect()
    }
}

impl RescueOrigin {
    pub(crate) fn message(&self) -> Result<String, GitError> {
        let json = serde_json::to_string(self);
        let json = json.map_err(|error| self.unreadable(&error.to_string()))?;
        Ok(format!(
            "orange: unsaved work of task {}\n\n{json}\n",
            self.task
        ))
    }

    pub(crate) fn unreadable(&self, reason: &str) -> GitError {
        GitError::NotSaved {
            reference: format!("{REFS}/{}", self.task),
            reason: reason.to_owned(),
        }
    }
}

impl Rescue {
    pub(crate) fn new(commit: CommitId, about: RescueOrigin, parents: Vec<String>) -> Self {
        Self {
            number: 0,
            commit,
            about,
            parents,
        }
    }

    /// The commits of the index and of the operations in progress.
    fn parts(&self) -> Option<(&str, Option<&str>)> {
        let mut parents = self.parents.iter().map(String::as_str);
        let head = self.about.head.as_ref().map(CommitId::as_str);
        let has_head = head.is_none_or(|head| parents.next() == Some(head));
        let index = parents.next().filter(|_| has_head)?;
        Some((index, parents.next()))
    }

    /// Its ref.
    pub fn reference(&self) -> String {
        format!("{REFS}/{}/{}", self.about.task, self.number)
    }
}

/// Whether a task may have rescues, by the files of the repository: quicker than to open it.
pub fn may_have_rescues(checkout: &Path, task: &TaskId) -> bool {
    let (Some(directory), Ok(part)) = (git_directory(checkout), task_part(task)) else {
        return true;
    };
    match Settings::read(&directory.join("config")) {
        Ok(settings) => !has_no_ref_below(&directory, &settings, &format!("{REFS}/{part}/")),
        Err(_) => true,
    }
}

impl Git {
    /// The rescues of a task, the oldest first.
    pub fn rescues(&self, task: &TaskId) -> Result<Vec<Rescue>, GitError> {
        self.rescues_below(&format!("{REFS}/{}/", task_part(task)?))
    }

    /// The rescues of every task.
    pub fn all_rescues(&self) -> Result<Vec<Rescue>, GitError> {
        self.rescues_below(&format!("{REFS}/"))
    }

    /// The task of each rescue and when it was made, the oldest first.
    pub fn rescue_times(&self) -> Result<Vec<(String, Timestamp)>, GitError> {
        let prefix = format!("{REFS}/");
        if self.has_no_ref_below(&prefix) {
            return Ok(Vec::new());
        }
        let format = "--format=%(committerdate:unix) %(refname)";
        let call = self.call(["for-each-ref", "--sort=committerdate", format, &prefix]);
        let text = String::from_utf8_lossy(&call.bytes()?).into_owned();
        let times = text.lines().filter_map(|line| {
            let (seconds, name) = line.split_once(' ')?;
            let (task, _) = name.strip_prefix(&prefix)?.split_once('/')?;
            let seconds: i64 = seconds.parse().ok()?;
            Some((
                task.to_owned(),
                Timestamp::from_millis(seconds.saturating_mul(1000)),
            ))
        });
        Ok(times.collect())
    }

    /// When a commit was made.
    pub fn commit_time(&self, commit: &CommitId) -> Result<Timestamp, GitError> {
        let words = ["rev-list", "--no-walk", "--timestamp", commit.as_str()];
        let call = self.call(words);
        let text = call.text()?;
        let seconds = text.split(' ').next().and_then(|it| it.parse::<i64>().ok());
        let seconds = seconds.ok_or_else(|| call.malformed_output(text.as_bytes()))?;
        Ok(Timestamp::from_millis(seconds.saturating_mul(1000)))
    }

    pub fn require_rescue(&self, task: &TaskId, number: u32) -> Result<Rescue, GitError> {
        let found = self.rescues(task)?.into_iter();
        let mut found = found.filter(|rescued| rescued.number == number);
        found.next().ok_or_else(|| GitError::NoRescue {
            task: task.to_string(),
            number,
        })
    }

    /// All rescues that the release of a rescue has saved up to it, the oldest first. A release
    /// saves more than once if the files that it removes hid others, as a `.gitignore` does.
    pub fn rescues_of_release(&self, rescued: &Rescue) -> Result<Vec<Rescue>, GitError> {
        let known = self.rescues(&rescued.about.task)?;
        Ok(release_of(&known, rescued))
    }

    /// The paths that a rescue changes, compared with the commit it is based on.
    pub fn rescue_paths(&self, rescued: &Rescue) -> Result<Vec<PathBuf>, GitError> {
        Ok(self.content(rescued)?.paths().into_iter().collect())
    }

    /// The commits that a rescue is based on and that are on no branch: id and subject, the newest
    /// first.
    pub fn commits_on_no_branch(&self, rescued: &Rescue) -> Result<Vec<String>, GitError> {
        let Some(head) = &rescued.about.head else {
            return Ok(Vec::new());
        };
        let limit = format!("--max-count={MAX_COMMITS}");
        let words = ["log", "--format=%h %s", &limit, head.as_str()];
        let call = self.call(words);
        let text = call.with_arguments(["--not", "--branches", "--remotes", "--tags"]);
        Ok(text.text()?.lines().map(str::to_owned).collect())
    }

    /// The commits of a rescue's branch that neither the task's branch nor the default branch
    /// contains: id and subject, the newest first. The task's own branch has none, and neither has
    /// a branch that is gone or was moved away from the rescue.
    pub fn commits_on_other_branch(
        &self,
        rescued: &Rescue,
        own: &BranchName,
        default: Option<&BranchName>,
    ) -> Result<Vec<String>, GitError> {
        let (Some(branch), Some(head)) = (&rescued.about.branch, &rescued.about.head) else {
            return Ok(Vec::new());
        };
        let tip = self.branch(branch)?;
        let has_head = match &tip {
            Some(tip) => self.contains(tip, head)?,
            None => false,
        };
        if branch == own || !has_head {
            return Ok(Vec::new());
        }
        self.commits_beside(head, own, default, MAX_COMMITS)
    }

    /// The commits up to a commit that neither a task's branch nor the default branch contains: id
    /// and subject, the newest first.
    pub(crate) fn commits_beside(
        &self,
        commit: &CommitId,
        own: &BranchName,
        default: Option<&BranchName>,
        limit: usize,
    ) -> Result<Vec<String>, GitError> {
        let mut names = self.names_of(own)?;
        if let Ok(default) = self.default_branch(default) {
            names.extend(self.names_of(&default)?);
        }
        let known = self.refs(&names)?.commits;
        let limit = format!("--max-count={limit}");
        let call = self.call(["log", "--format=%h %s", &limit, commit.as_str(), "--not"]);
        let call = call.with_arguments(known.values().map(CommitId::as_str));
        Ok(call.text()?.lines().map(str::to_owned).collect())
    }

    fn rescues_below(&self, prefix: &str) -> Result<Vec<Rescue>, GitError> {
        if self.has_no_ref_below(prefix) {
            return Ok(Vec::new());
        }
        let format = "--format=%(refname)%00%(objectname)%00%(parent)%00%(contents:body)%00";
        let call = self.call(["for-each-ref", format, prefix]);
        let bytes = call.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        let parts: Vec<&str> = text.split('\0').map(str::trim).collect();
        let mut found = Vec::new();
        for row in parts.chunks_exact(4) {
            let [name, commit, parents, body] = row else {
                continue;
            };
            let number = name
                .rsplit('/')
                .next()
                .and_then(|number| number.parse().ok());
            // A ref that orange did not create is not a rescue.
            let (Some(number), Ok(about)) = (number, serde_json::from_str::<RescueOrigin>(body))
            else {
                continue;
            };
            let rescued = Rescue {
                number,
                commit: CommitId::new(commit),
                about,
                parents: parents.split(' ').map(str::to_owned).collect(),
            };
            if rescued.reference() == *name {
                found.push(rescued);
            }
        }
        found.sort_by(|one, other| {
            let key = |it: &Rescue| (it.about.task.clone(), it.number);
            key(one).cmp(&key(other))
        });
        Ok(found)
    }

    /// Creates the ref of a rescue. If the newest release of the task has saved the same, returns
    /// that rescue instead and marks it as not restored, because its work is about to leave the
    /// worktree again.
    pub(crate) fn create_rescue_ref(&self, mut rescued: Rescue) -> Result<Rescue, GitError> {
        let known = self.rescues(&rescued.about.task)?;
        let mut number = known.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        let newest = known.last().map(|newest| release_of(&known, newest));
        for newest in newest.unwrap_or_default() {
            if newest.about == rescued.about && self.is_same_rescue(&newest, &rescued)? {
                self.mark_unrestored(&newest)?;
                return Ok(newest);
            }
        }
        let nothing = self.null_id();
        for _try in 0..TRIES {
            rescued.number = number;
            let name = rescued.reference();
            let call = self.call(["update-ref", "-m", "orange: rescue", &name]);
            let written = call
                .with_arguments([rescued.commit.as_str(), &nothing])
                .succeed();
            let current = self.call(["rev-parse", "--verify", "--quiet", &name]);
            match (current.text(), written) {
                (Ok(now), _) if now == rescued.commit.as_str() => return Ok(rescued),
                // The number is already taken.
                (Ok(_), _) => number += 1,
                (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
            }
        }
        Err(rescued.about.unreadable("no number is free"))
    }

    fn is_same_rescue(&self, one: &Rescue, other: &Rescue) -> Result<bool, GitError> {
        let names = |rescued: &Rescue| {
            let (index, state) = rescued.parts()?;
            let commits = [Some(rescued.commit.as_str()), Some(index), state];
            let names = commits.into_iter().flatten();
            Some(names.map(|it| format!("{it}^{{tree}}")).collect::<Vec<_>>())
        };
        let (Some(one), Some(other)) = (names(one), names(other)) else {
            return Ok(false);
        };
        let trees = self
            .call(["rev-parse"])
            .with_arguments(one.iter().chain(&other))
            .text()?;
        let trees: Vec<&str> = trees.lines().collect();
        Ok(one.len() == other.len() && trees.get(..one.len()) == trees.get(one.len()..))
    }

    /// Everything in a rescue.
    pub(crate) fn content(&self, rescued: &Rescue) -> Result<Content, GitError> {
        let parts = rescued.parts();
        let (index, state) =
            parts.ok_or_else(|| rescued.about.unreadable("orange did not write it"))?;
        Ok(Content {
            before: match &rescued.about.head {
                Some(head) => self.tree(head.as_str())?,
                None => Tree::new(),
            },
            work: self.tree(rescued.commit.as_str())?,
            index: self.tree(index)?,
            unmerged: match state {
                Some(state) => self.unmerged_in(state)?,
                None => BTreeSet::new(),
            },
        })
    }

    /// Everything in a rescue, as it is restored.
    ///
    /// If a release was interrupted while it removed files that it had saved, its next rescue lacks
    /// them. They were not deleted, so they are taken from the earlier rescue.
    pub(crate) fn content_to_restore(&self, rescued: &Rescue) -> Result<Content, GitError> {
        let mut content = self.content(rescued)?;
        for earlier in self.rescues_of_release(rescued)?.iter().rev().skip(1) {
            for (path, entry) in self.content(earlier)?.work {
                content.work.entry(path).or_insert(entry);
            }
        }
        Ok(content)
    }

    /// The stages of unresolved paths in a commit of the state.
    fn unmerged_in(&self, state: &str) -> Result<BTreeSet<(PathBuf, u8, Entry)>, GitError> {
        let mut found = BTreeSet::new();
        for (path, entry) in self.tree(state)? {
            let Ok(rest) = path.strip_prefix(STAGES) else {
                continue;
            };
            let mut components = rest.components();
            let stage = components.next().and_then(|it| it.as_os_str().to_str());
            let stage = stage.and_then(|stage| stage.parse().ok());
            if let Some(stage) = stage {
                found.insert((components.as_path().to_owned(), stage, entry));
            }
        }
        Ok(found)
    }
}

/// The rescues that the release of one of them has saved up to it, the oldest first.
fn release_of(known: &[Rescue], rescued: &Rescue) -> Vec<Rescue> {
    let mut found = vec![rescued.clone()];
    let mut earlier = rescued.about.earlier.as_ref();
    while let Some(rescued) = earlier.and_then(|id| known.iter().find(|it| it.commit == *id)) {
        found.push(rescued.clone());
        earlier = rescued.about.earlier.as_ref();
    }
    found.reverse();
    found
}
