//! The rescues of a repository: what there is, and of what they are made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use orange_engine::names::{BranchName, CommitId, TaskId};
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::name::task_part;
use super::{Git, GitError, Operation};

/// Where rescues are.
const REFS: &str = "refs/orange/rescue";

/// Where the files of operations in progress are, in the commit of the state.
pub(super) const STATE: &str = "state";

/// Where the stages of unresolved paths are, in the commit of the state.
pub(super) const STAGES: &str = "stages";

/// How often another number is tried when somebody else took one.
const TRIES: u32 = 100;

/// To what a rescue belonged. It is the commit's message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The task.
    pub task: TaskId,
    /// The branch that was checked out, or which an operation in progress was about.
    pub branch: Option<BranchName>,
    /// The commit of HEAD; a branch without a commit has none.
    pub head: Option<CommitId>,
    /// What was in progress.
    pub operations: Vec<Operation>,
}

/// Unsaved work, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// Its number within the task.
    pub number: u32,
    /// The commit that holds it.
    pub commit: CommitId,
    /// To what it belonged.
    pub about: About,
}

/// The commits that a rescue is made of, besides its own tree.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub index: String,
    pub state: Option<String>,
}

impl About {
    pub(super) fn message(&self) -> Result<String, GitError> {
        let json = serde_json::to_string(self);
        let json = json.map_err(|error| self.unreadable(&error.to_string()))?;
        Ok(format!(
            "orange: unsaved work of task {}\n\n{json}\n",
            self.task
        ))
    }

    fn unreadable(&self, reason: &str) -> GitError {
        GitError::NotSaved {
            reference: format!("{REFS}/{}", self.task),
            reason: reason.to_owned(),
        }
    }
}

impl Rescued {
    /// The ref that keeps it.
    pub fn reference(&self) -> String {
        format!("{REFS}/{}/{}", self.about.task, self.number)
    }
}

impl Git {
    /// The rescues of a task, the oldest first.
    pub fn rescues(&self, task: &TaskId) -> Result<Vec<Rescued>, GitError> {
        self.rescues_below(&format!("{REFS}/{}/", task_part(task)?))
    }

    /// The rescues of every task.
    pub fn all_rescues(&self) -> Result<Vec<Rescued>, GitError> {
        self.rescues_below(&format!("{REFS}/"))
    }

    /// One rescue.
    pub fn rescued(&self, task: &TaskId, number: u32) -> Result<Rescued, GitError> {
        let found = self.rescues(task)?.into_iter();
        let mut found = found.filter(|rescued| rescued.number == number);
        found.next().ok_or_else(|| GitError::NoRescue {
            task: task.to_string(),
            number,
        })
    }

    /// The paths that a rescue changes, compared with the commit it belonged to.
    pub fn rescued_paths(&self, rescued: &Rescued) -> Result<Vec<PathBuf>, GitError> {
        let before = self.tree_before(rescued)?;
        let (work, index) = self.trees_of(rescued)?;
        let all: BTreeSet<&PathBuf> = before
            .keys()
            .chain(work.keys())
            .chain(index.keys())
            .collect();
        let changed = all.into_iter().filter(|path| {
            let was = before.get(*path);
            work.get(*path) != was || index.get(*path) != was
        });
        Ok(changed.cloned().collect())
    }

    fn rescues_below(&self, prefix: &str) -> Result<Vec<Rescued>, GitError> {
        let format = "--format=%(refname)%00%(objectname)%00%(contents:body)%00";
        let call = self.call(["for-each-ref", format, prefix]);
        let bytes = call.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        let parts: Vec<&str> = text.split('\0').map(str::trim).collect();
        let mut found = Vec::new();
        for row in parts.chunks_exact(3) {
            let [name, commit, body] = row else { continue };
            let number = name
                .rsplit('/')
                .next()
                .and_then(|number| number.parse().ok());
            // A ref of somebody else's making is none of ours.
            let (Some(number), Ok(about)) = (number, serde_json::from_str::<About>(body)) else {
                continue;
            };
            let rescued = Rescued {
                number,
                commit: CommitId::new(commit),
                about,
            };
            if rescued.reference() == *name {
                found.push(rescued);
            }
        }
        found.sort_by(|one, other| {
            let key = |it: &Rescued| (it.about.task.clone(), it.number);
            key(one).cmp(&key(other))
        });
        Ok(found)
    }

    /// Gives a commit its ref, unless the newest rescue of the task is the same.
    pub(super) fn keep_rescue(&self, about: About, commit: CommitId) -> Result<Rescued, GitError> {
        let known = self.rescues(&about.task)?;
        let mut number = known.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        let mut rescued = Rescued {
            number,
            commit,
            about,
        };
        if let Some(newest) = known.last() {
            if newest.about == rescued.about && self.is_same_rescue(newest, &rescued)? {
                return Ok(newest.clone());
            }
        }
        let nothing = self.no_id();
        for _try in 0..TRIES {
            rescued.number = number;
            let name = rescued.reference();
            let call = self.call([
                "update-ref",
                "--create-reflog",
                "-m",
                "orange: rescue",
                &name,
            ]);
            let written = call.and([rescued.commit.as_str(), &nothing]).succeed();
            let ask = self.call(["rev-parse", "--verify", "--quiet", &name]);
            match (ask.text(), written) {
                (Ok(now), _) if now == rescued.commit.as_str() => return Ok(rescued),
                // Somebody else took the number.
                (Ok(_), _) => number += 1,
                (Err(_), Err(error)) => return Err(error),
                (Err(error), Ok(())) => return Err(error),
            }
        }
        Err(rescued.about.unreadable("no number is free"))
    }

    fn is_same_rescue(&self, one: &Rescued, other: &Rescued) -> Result<bool, GitError> {
        let trees = |rescued: &Rescued| -> Result<Vec<String>, GitError> {
            let parts = self.rescue_parts(rescued)?;
            let commits = [
                Some(rescued.commit.to_string()),
                Some(parts.index),
                parts.state,
            ];
            let names = commits
                .into_iter()
                .flatten()
                .map(|it| format!("{it}^{{tree}}"));
            let text = self.call(["rev-parse"]).and(names).text()?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(trees(one)? == trees(other)?)
    }

    /// The commits that a rescue is made of.
    pub(super) fn rescue_parts(&self, rescued: &Rescued) -> Result<Parts, GitError> {
        let call = self.call([
            "rev-list",
            "--max-count=1",
            "--parents",
            rescued.commit.as_str(),
        ]);
        let text = call.text()?;
        let mut parents = text.split(' ').skip(1);
        let head = rescued.about.head.as_ref().map(CommitId::as_str);
        let is_whole = head.is_none_or(|head| parents.next() == Some(head));
        let index = parents.next().filter(|_| is_whole);
        let index = index
            .ok_or_else(|| call.garbled(text.as_bytes()))?
            .to_owned();
        let state = parents.next().map(str::to_owned);
        Ok(Parts { index, state })
    }

    pub(super) fn tree_before(&self, rescued: &Rescued) -> Result<super::entry::Tree, GitError> {
        match &rescued.about.head {
            Some(head) => self.tree(head.as_str()),
            None => Ok(super::entry::Tree::new()),
        }
    }

    /// The trees of the worktree and of the index.
    pub(super) fn trees_of(
        &self,
        rescued: &Rescued,
    ) -> Result<(super::entry::Tree, super::entry::Tree), GitError> {
        let parts = self.rescue_parts(rescued)?;
        Ok((
            self.tree(rescued.commit.as_str())?,
            self.tree(&parts.index)?,
        ))
    }

    /// The stages of unresolved paths that a commit of the state keeps.
    pub(super) fn unmerged_in(
        &self,
        state: &str,
    ) -> Result<BTreeSet<(PathBuf, u8, Entry)>, GitError> {
        let mut found = BTreeSet::new();
        for (path, entry) in self.tree(state)? {
            let Ok(rest) = path.strip_prefix(STAGES) else {
                continue;
            };
            let mut components = rest.components();
            let stage = components
                .next()
                .map(|it| it.as_os_str().to_string_lossy().into_owned());
            let stage = stage.and_then(|stage| stage.parse().ok());
            let path: &Path = components.as_path();
            if let Some(stage) = stage {
                found.insert((path.to_owned(), stage, entry));
            }
        }
        Ok(found)
    }
}
