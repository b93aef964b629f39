//! Pull requests: opening them, and what they need to be merged.

use std::cell::Cell;

use super::World;
use super::queue::QueueEntry;
use super::repository::Permission;
use super::review::{Review, Thread};
use crate::git::{git, try_git};

#[derive(Clone, Debug)]
pub struct Merge {
    pub at: i64,
    pub by: String,
    /// The commit on the base branch.
    pub sha: String,
}

/// The part of a pull request that an issue does not have.
#[derive(Clone, Debug)]
pub struct Pull {
    pub id: u64,
    /// The repository of the head; it may have been deleted since.
    pub head_repository: u64,
    pub head_ref: String,
    pub head_sha: String,
    pub base_ref: String,
    pub base_sha: String,
    pub draft: bool,
    pub merge: Option<Merge>,
    pub reviews: Vec<Review>,
    pub threads: Vec<Thread>,
    pub queued: Option<QueueEntry>,
    /// How many more reads answer that mergeability is unknown.
    pub unknown_reads: Cell<u32>,
}

/// Why a pull request cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    NotAllowed,
    NoHead,
    NoBase,
    NoCommits { base: String, head: String },
    Exists { label: String },
}

/// A pull request to open.
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    pub author: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    pub head_repository: u64,
    pub head: &'a str,
    pub base: &'a str,
    pub draft: bool,
}

impl World {
    /// Opens a pull request and starts its workflows.
    pub fn open_pull(&mut self, repository: u64, draft: &Draft) -> Result<u64, OpenError> {
        self.sync();
        let (Some(base), Some(head)) = (
            self.repository_by_id(repository),
            self.repository_by_id(draft.head_repository),
        ) else {
            return Err(OpenError::NoHead);
        };
        if self.permission(head, draft.author) < Permission::Write {
            return Err(OpenError::NotAllowed);
        }
        let head_sha = head
            .branches
            .get(draft.head)
            .cloned()
            .ok_or(OpenError::NoHead)?;
        let base_sha = base
            .branches
            .get(draft.base)
            .cloned()
            .ok_or(OpenError::NoBase)?;
        let mut pulls = base
            .issues
            .iter()
            .filter(|it| it.is_open)
            .filter_map(|it| it.pull.as_ref());
        let is_same = |it: &Pull| {
            it.head_repository == head.id && it.head_ref == draft.head && it.base_ref == draft.base
        };
        if pulls.any(is_same) {
            let label = format!("{}:{}", head.owner, draft.head);
            return Err(OpenError::Exists { label });
        }
        let (base_path, head_path) = (base.path.clone(), head.path.clone());
        if base.id != head.id {
            let source = head_path.to_string_lossy().into_owned();
            git(&base_path, &["fetch", "-q", &source, &head_sha]);
        }
        if try_git(
            &base_path,
            &["merge-base", "--is-ancestor", &head_sha, &base_sha],
        )
        .is_ok()
        {
            let (base, head) = (draft.base.to_owned(), draft.head.to_owned());
            return Err(OpenError::NoCommits { base, head });
        }
        let pull = Pull {
            id: self.new_id(),
            head_repository: draft.head_repository,
            head_ref: draft.head.to_owned(),
            head_sha: head_sha.clone(),
            base_ref: draft.base.to_owned(),
            base_sha,
            draft: draft.draft,
            merge: None,
            reviews: Vec::new(),
            threads: Vec::new(),
            queued: None,
            unknown_reads: Cell::new(self.unknown_reads),
        };
        let number = self.add_issue(
            repository,
            draft.author,
            draft.title,
            draft.body,
            Some(pull),
        );
        git(
            &base_path,
            &["update-ref", &format!("refs/pull/{number}/head"), &head_sha],
        );
        self.start_ci(repository, number);
        Ok(number)
    }

    /// Marks a pull request as a draft or as ready.
    pub fn set_draft(&mut self, repository: u64, number: u64, draft: bool, by: &str) {
        self.change_issue(repository, number, |issue, at, id| {
            let changed = issue.pull.as_mut().filter(|it| it.draft != draft);
            if let Some(pull) = changed {
                pull.draft = draft;
                let name = if draft {
                    "convert_to_draft"
                } else {
                    "ready_for_review"
                };
                issue.record(super::issue::event(id, name, by, at));
            }
        });
    }
}
