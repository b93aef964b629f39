//! Tells git inside which refs of the real repository have changed.

use orange_config::clock;
use orange_engine::names::CommitId;

use super::answers::InsideTip;
use super::record::Record;
use super::{Inside, PrivateRepository};
use crate::command::CommandExit;
use crate::git::repository::name::branch_ref;
use crate::git::{Git, GitError};
use crate::private_file;

/// How much of an answer is read.
const LIMIT: usize = 64 * 1024;

/// What a refresh did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Nothing has changed since the last time.
    Current,
    /// git inside has the refs of the real repository. `branch` is the new commit of the task's
    /// branch, if that was moved outside.
    Told { branch: Option<CommitId> },
    /// The task's branch was moved outside, while git inside has commits on it that were not
    /// imported.
    Diverged { outside: CommitId, inside: CommitId },
    /// git inside failed with this message; the next refresh tries again.
    Failed(String),
}

impl Git {
    /// Tells git inside which refs of the real repository have changed, and where the task's branch
    /// is if it was moved outside. An agent's own refs stay, unless the real repository changed one
    /// of the same name.
    pub fn refresh_private(
        &self,
        repository: &PrivateRepository,
        inside: Inside<'_>,
    ) -> Result<Refresh, GitError> {
        let patience = self.caller.timeouts.lock;
        let _lock = PrivateRepository::lock_folder(&repository.folder, patience)?;
        let record = repository.record()?;
        let reference = branch_ref(&repository.branch)?;
        let (refs, told) = (self.shown_refs()?, repository.told_refs()?);
        let scripts = refs.updates_since(&told, &reference);
        let has_updates = scripts.iter().any(|it| !it.is_empty());
        if has_updates {
            let now = clock::now().millis().div_euclid(1000);
            self.keep_borrowed(&repository.task, &record.tip, &refs, now)?;
            let remote = refs.as_remote(&self.remote_name().unwrap_or_default());
            let packed = repository.upstream().join("packed-refs");
            private_file::write_unsynced(&packed, remote.to_packed().as_bytes())?;
            for script in scripts.into_iter().filter(|it| !it.is_empty()) {
                let words = ["update-ref", "-m", "orange: changed outside", "--stdin"];
                let call = inside(&words).input(script).limit(LIMIT);
                let output = call.run()?;
                if output.ending != CommandExit::Code(0) {
                    return Ok(Refresh::Failed(call.error_for(output).without_command()));
                }
            }
            repository.write_told_refs(&refs)?;
        }
        let moved = self.branch(&repository.branch)?.filter(|now| {
            let begun = record.import.as_ref();
            *now != record.tip && begun.is_none_or(|it| it.tip != *now)
        });
        match moved {
            Some(now) => self.follow_branch(repository, record, now, inside),
            None if has_updates => Ok(Refresh::Told { branch: None }),
            None => Ok(Refresh::Current),
        }
    }

    /// Moves the task's branch inside to where it is outside.
    fn follow_branch(
        &self,
        repository: &PrivateRepository,
        record: Record,
        now: CommitId,
        inside: Inside<'_>,
    ) -> Result<Refresh, GitError> {
        match repository.tip_inside(inside, self.id_digits())? {
            InsideTip::Commit(tip) if tip == record.tip || tip == now => {}
            InsideTip::Commit(inside) => {
                let outside = now;
                return Ok(Refresh::Diverged { outside, inside });
            }
            InsideTip::None => return Ok(Refresh::Failed(String::from("the branch is gone"))),
            InsideTip::Failed(message) => return Ok(Refresh::Failed(message)),
        }
        let reference = branch_ref(&repository.branch)?;
        let reason = "orange: moved outside";
        let update = ["update-ref", "-m", reason, &reference, now.as_str()];
        if let Some(message) = failure_of(inside, &update)? {
            return Ok(Refresh::Failed(message));
        }
        // While an operation is in progress, HEAD is on no branch, and the index is part of it.
        let head = inside(&["symbolic-ref", "--quiet", "HEAD"])
            .limit(LIMIT)
            .run()?;
        if head.stdout.bytes.trim_ascii_end() == reference.as_bytes()
            && let Some(message) = failure_of(inside, &["reset", "--quiet"])?
        {
            return Ok(Refresh::Failed(message));
        }
        repository.write_record(&Record {
            tip: now.clone(),
            import: None,
            ..record
        })?;
        Ok(Refresh::Told { branch: Some(now) })
    }
}

/// The message of a command that failed inside.
fn failure_of(inside: Inside<'_>, words: &[&str]) -> Result<Option<String>, GitError> {
    let call = inside(words).limit(LIMIT);
    let output = call.run()?;
    Ok(match output.ending {
        CommandExit::Code(0) => None,
        _ => Some(call.error_for(output).without_command()),
    })
}
