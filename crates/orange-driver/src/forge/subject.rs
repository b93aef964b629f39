//! A task and its pull request, as a look judges them.

use std::path::Path;

use orange_effects::forge::host::RepositoryAddress;
use orange_effects::git::{Git, GitError};
use orange_engine::Task;
use orange_engine::forge::checks::ChecksVerdict;
use orange_engine::forge::feedback::FeedbackItem;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{
    ConcernKind, PullRequest, PullRequestConcern, PullRequestLink,
};
use orange_engine::forge::readiness::{Concern, Situation};
use orange_engine::names::{BranchName, CommitId};

use crate::forge::ForgeFailure;

/// A task and its pull request, with everything that a look needs.
pub(super) struct Subject<'a> {
    pub(super) task: &'a Task,
    pub(super) address: RepositoryAddress,
    pub(super) git: Git,
    pub(super) link: PullRequestLink,
    pub(super) default: BranchName,
}

/// What was found out about an open pull request.
pub(super) struct Judgement {
    pub(super) checks: Knowledge<ChecksVerdict>,
    pub(super) open_threads: Knowledge<usize>,
    /// The points that an agent should deal with.
    pub(super) points: Knowledge<Vec<FeedbackItem>>,
}

impl Judgement {
    pub(super) fn concern(&self, own: &CommitId, pull_request: &PullRequest) -> Knowledge<Concern> {
        let open_points = match &self.points {
            Knowledge::Unknown => Knowledge::Unknown,
            Knowledge::None => Knowledge::Known(0),
            Knowledge::Known(points) => Knowledge::Known(points.len()),
        };
        let situation = Situation {
            head: own,
            pull_request,
            checks: self.checks.clone(),
            open_points,
            allow_no_checks: true,
        };
        situation.concern()
    }
}

impl Subject<'_> {
    /// The commit whose work the merge brought into the remote's default branch, or why git does
    /// not confirm that: the forge's word is no proof.
    pub(super) fn confirm_merge(
        &self,
        own: Option<&CommitId>,
        worktree: Option<&Path>,
    ) -> Result<Result<CommitId, String>, ForgeFailure> {
        let (link, default, task) = (&self.link, &self.default, self.task);
        let work = match self.merged_work(own) {
            Ok(work) => work,
            // It stays so until the user acts, unless the remote was out of reach.
            Err(
                ForgeFailure::Git(GitError::Unreachable { reason, .. })
                | ForgeFailure::Unclear(reason),
            ) if own.is_none() => {
                let (branch, id) = (&task.branch, &task.id);
                return Ok(Err(format!(
                    "{link} was merged on the forge, but `{branch}` is gone and git cannot confirm \
                     it: {reason}; run `orange forge look {id}` to try again, or, if `{default}` \
                     has the work, `orange task cancel {id}`"
                )));
            }
            Err(failure) => return Err(failure),
        };
        let tip = self.git.fetch_tip(default)?;
        let is_in_base = |commit: &CommitId| match &tip {
            Some(tip) => self.git.contains_work(tip, commit),
            None => Ok(false),
        };
        if !is_in_base(&work)? {
            return Ok(Err(format!(
                "{link} was merged on the forge, but the remote's `{default}` does not have \
                 {work}; compare them with `git log {default}..{work}`"
            )));
        }
        let Some(path) = worktree.filter(|path| own.is_none() && path.exists()) else {
            return Ok(Ok(work));
        };
        let head = self.git.worktree(path)?.head()?;
        // One whose branch was deleted below it has no commit.
        let is_merged = head.commit().map_or(Ok(true), is_in_base)?;
        if is_merged {
            return Ok(Ok(work));
        }
        let (branch, path) = (&task.branch, path.display());
        Ok(Err(format!(
            "{link} was merged and `{branch}` is gone, but its worktree has commits that the \
             remote's `{default}` does not have; see them with `git -C {path} log {default}..HEAD`"
        )))
    }

    /// The commit whose work is in the base branch if the pull request was really merged.
    fn merged_work(&self, own: Option<&CommitId>) -> Result<CommitId, ForgeFailure> {
        if self.link.is_outside {
            return Ok(self.git.fetch_pull_request(self.link.number)?);
        }
        if let Some(own) = own {
            return Ok(own.clone());
        }
        // If the branch was deleted after the merge, git keeps its commits for a while.
        let submission = self.task.submission.as_ref().map(|it| &it.commit);
        let is_here = |commit: &CommitId| {
            let found = self.git.commit_named(commit.as_str());
            found.map(|it| it.is_some())
        };
        if let Some(submitted) = submission
            && is_here(submitted)?
        {
            return Ok(submitted.clone());
        }
        let head = self.git.fetch_pull_request(self.link.number)?;
        match submission {
            Some(submitted) if is_here(submitted)? => Ok(submitted.clone()),
            Some(submitted) => Err(ForgeFailure::Unclear(format!(
                "the submitted commit {} is neither here nor in the pull request",
                submitted.short()
            ))),
            None => Ok(head),
        }
    }

    /// What an open pull request of others means for the task that reviews it: its author
    /// has to correct it, so orange tells the user and gives nothing to an agent.
    pub(super) fn outside_concern(
        &self,
        own: &CommitId,
        pull_request: &PullRequest,
        judgement: &Judgement,
        notice: &mut Option<String>,
    ) -> Option<PullRequestConcern> {
        let (link, id) = (&self.link, &self.task.id);
        if pull_request.head != *own {
            *notice = Some(format!(
                "{link} has new commits that this task did not review; to review them, run \
                 `orange task cancel {id}`, then `orange new --pr {}`",
                link.number
            ));
            return None;
        }
        let Knowledge::Known(concern) = judgement.concern(own, pull_request) else {
            return None;
        };
        let problem = match &concern {
            Concern::Conflicting => "it has a conflict",
            Concern::Failing(_) => "its checks fail",
            Concern::Feedback(_) => "reviewers have open points",
            concern => {
                return concern.is_settled().then(|| PullRequestConcern {
                    kind: ConcernKind::Settled,
                    details: Vec::new(),
                    file: None,
                });
            }
        };
        *notice = Some(format!(
            "{link} belongs to others, and {problem}; tell its author on GitHub"
        ));
        None
    }
}
