//! A task and its pull request, as a look judges them.

use orange_effects::forge::host::RepositoryAddress;
use orange_effects::git::Git;
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
    /// The commit whose work is in the base branch if the pull request was really merged.
    pub(super) fn merged_work(&self, own: Option<CommitId>) -> Result<CommitId, ForgeFailure> {
        if self.link.is_outside {
            return Ok(self.git.fetch_pull_request(self.link.number)?);
        }
        if let Some(own) = own {
            return Ok(own);
        }
        // If the branch was deleted after the merge, git keeps its commits for a while.
        if let Some(submission) = &self.task.submission
            && self.git.commit_named(submission.commit.as_str())?.is_some()
        {
            return Ok(submission.commit.clone());
        }
        Ok(self.git.fetch_pull_request(self.link.number)?)
    }

    /// Whether the remote's default branch has this work. Asks git, because the forge's answer is
    /// no proof.
    pub(super) fn is_in_base(&self, work: &CommitId) -> Result<bool, ForgeFailure> {
        let Some(tip) = self.git.fetch_tip(&self.default)? else {
            return Ok(false);
        };
        Ok(self.git.contains_work(&tip, work)?)
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
