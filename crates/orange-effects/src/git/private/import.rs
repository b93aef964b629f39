//! Imports the commits of a task's branch into the real repository.
//!
//! git inside packs them; git outside judges the pack in a directory of its own, and only then does
//! the real repository get it and its branch move. Nothing else that an agent wrote is read. An
//! import that was killed is completed or repeated by the next one.

use std::collections::BTreeSet;

use orange_engine::names::{BranchName, CommitId};

use super::answers::InsideTip;
use super::incoming::Verdict;
use super::record::{BegunImport, Record};
use super::{Inside, PrivateRepository};
use crate::git::repository::name::branch_ref;
use crate::git::{Git, GitError, Worktree};

/// What to import.
#[derive(Clone, Copy)]
pub struct ImportRequest<'a> {
    pub repository: &'a PrivateRepository,
    pub inside: Inside<'a>,
    /// The default branch, whose commits are not sent again.
    pub default: Option<&'a BranchName>,
    /// Upper bound on the size of the pack, in bytes.
    pub max_bytes: u64,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Import {
    /// The branch has no other commit than the real one.
    Unchanged(CommitId),
    /// The branch moved. `previous` is what it pointed to; after a rebase it is no ancestor of
    /// `commit`, and only the reflog of the branch still has it.
    Imported {
        previous: CommitId,
        commit: CommitId,
    },
    /// Nothing was imported; the branch is where it was.
    Refused(ImportRefusal),
}

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportRefusal {
    /// Inside there is no such branch any more.
    NoBranch,
    /// The branch was moved outside, or deleted, since the last import.
    Moved {
        expected: CommitId,
        found: Option<CommitId>,
    },
    /// The branch names something that is no commit.
    NotACommit(CommitId),
    /// The pack exceeds the size limit, in bytes.
    TooLarge { limit: u64 },
    /// git does not accept the objects, or some are missing.
    Invalid(String),
    /// git inside failed.
    Inside(String),
}

impl Worktree<'_> {
    /// Imports the task's branch from its private repository, and makes the index of this worktree
    /// that of the imported commit.
    pub fn import_private(&self, request: &ImportRequest<'_>) -> Result<Import, GitError> {
        let repository = request.repository;
        let patience = self.git().caller.timeouts.lock;
        let _lock = PrivateRepository::lock_folder(&repository.folder, patience)?;
        let (record, completed) = self.complete_import(repository)?;
        let digits = self.git().id_digits();
        let tip = match repository.tip_inside(request.inside, digits)? {
            InsideTip::Commit(tip) => tip,
            InsideTip::None => return Ok(Import::Refused(ImportRefusal::NoBranch)),
            InsideTip::Failed(message) => {
                return Ok(Import::Refused(ImportRefusal::Inside(message)));
            }
        };
        if tip == record.tip {
            return Ok(match completed {
                Some(previous) => Import::Imported {
                    previous,
                    commit: tip,
                },
                None => Import::Unchanged(tip),
            });
        }
        let found = self.git().branch(&repository.branch)?;
        if found.as_ref() != Some(&record.tip) {
            let expected = record.tip;
            return Ok(Import::Refused(ImportRefusal::Moved { expected, found }));
        }
        self.import_commits(request, record, tip)
    }

    fn import_commits(
        &self,
        request: &ImportRequest<'_>,
        record: Record,
        tip: CommitId,
    ) -> Result<Import, GitError> {
        let (git, repository) = (self.git(), request.repository);
        let known = git.known_commits(&record.tip, request.default)?;
        let incoming = git.incoming(&repository.task)?;
        let incoming = match incoming.receive(git, request, &tip, &known)? {
            Verdict::Accepted(accepted) => accepted,
            Verdict::Refused(refusal) => return Ok(Import::Refused(refusal)),
        };
        let previous = record.tip.clone();
        let begun = Record {
            import: Some(BegunImport {
                tip: tip.clone(),
                pack: incoming.pack().map(str::to_owned),
            }),
            ..record
        };
        repository.write_record(&begun)?;
        incoming.move_into(git)?;
        if !git.advance_branch(&repository.branch, &tip, &previous)? {
            let found = git.branch(&repository.branch)?;
            if found.as_ref() != Some(&tip) {
                git.finish_pack(&begun)?;
                let expected = previous;
                return Ok(Import::Refused(ImportRefusal::Moved { expected, found }));
            }
        }
        self.complete_import(repository)?;
        Ok(Import::Imported {
            previous,
            commit: tip,
        })
    }

    /// Completes the import that was begun, if the branch has moved; else forgets it. Also returns
    /// where the branch was before an import that is now complete.
    fn complete_import(
        &self,
        repository: &PrivateRepository,
    ) -> Result<(Record, Option<CommitId>), GitError> {
        let record = repository.record()?;
        let Some(begun) = record.import.clone() else {
            return Ok((record, None));
        };
        let now = self.git().branch(&repository.branch)?;
        let has_moved = now.as_ref() == Some(&begun.tip);
        if has_moved {
            self.set_index_to(&begun.tip)?;
        }
        self.git().finish_pack(&record)?;
        self.git().clear_incoming(&repository.task)?;
        let previous = has_moved.then(|| record.tip.clone());
        let tip = if has_moved { begun.tip } else { record.tip };
        let done = Record {
            tip,
            import: None,
            ..record
        };
        repository.write_record(&done)?;
        Ok((done, previous))
    }
}

impl Git {
    /// Commits that the real repository has and keeps, with everything before them.
    fn known_commits(
        &self,
        tip: &CommitId,
        default: Option<&BranchName>,
    ) -> Result<BTreeSet<CommitId>, GitError> {
        let mut names = Vec::new();
        if let Some(branch) = default {
            names.extend(self.names_of(branch)?);
        }
        let refs = self.refs(&names)?;
        Ok(refs.commits.into_values().chain([tip.clone()]).collect())
    }

    /// Moves a branch if it is still at `from`; returns whether it was.
    fn advance_branch(
        &self,
        branch: &BranchName,
        to: &CommitId,
        from: &CommitId,
    ) -> Result<bool, GitError> {
        let name = branch_ref(branch)?;
        let update = ["update-ref", "-m", "orange: import", &name];
        let call = self
            .call(update)
            .with_arguments([to.as_str(), from.as_str()]);
        match call.succeed() {
            Ok(()) => Ok(true),
            Err(_) if self.branch(branch)?.as_ref() != Some(from) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
