//! Opens a pull request on the user's request; the status stays.

use super::{RequestDecision, blocked_by};
use crate::decision::Decision;
use crate::effect::{CreatePr, Effect};
use crate::input::FactNeeded;
use crate::language::gates::GitCondition;
use crate::language::hooks::OnError;
use crate::refusal::{Attempt, Blocker, GateFailure};

impl RequestDecision<'_> {
    /// Plans to push the branch's commit, and to find or open its pull request. A commit that
    /// contains TASK.md is not pushed: others would read it.
    pub(super) fn open_pull_request(mut self, draft: Option<bool>) -> Decision {
        let attempt = Attempt::OpenPullRequest;
        if let Some(missing) = self.check_human().or_else(|| self.check_not_ended()) {
            return self.refuse(attempt, blocked_by(missing));
        }
        let Some(git) = self.steps.facts().and_then(|facts| facts.git.as_ref()) else {
            return self.steps.need(vec![FactNeeded::Git]);
        };
        let branch = self.steps.task.branch.clone();
        if !git.met_conditions.contains(&GitCondition::CommitsAhead) {
            return self.refuse(attempt, blocked_by(Blocker::NothingToPush { branch }));
        }
        let required = [
            GitCondition::BranchNotDefault,
            GitCondition::TaskFileUntracked,
        ];
        let mut required = required.into_iter();
        if let Some(condition) = required.find(|it| !git.met_conditions.contains(it)) {
            let failure = GateFailure::Git { condition };
            return self.refuse(attempt, blocked_by(Blocker::GateFailed { failure }));
        }
        self.steps
            .cancel_pending(|effect, _| matches!(effect, Effect::CreatePr(_) | Effect::ReadyPr));
        let plan = self.steps.next_version();
        let create = Effect::CreatePr(CreatePr {
            branch,
            head: Some(git.head.clone()),
            title: self.steps.task.summary.clone(),
            draft,
            labels: Vec::new(),
        });
        self.steps.plan_effect(plan, create, OnError::Stop);
        if draft == Some(false) {
            self.steps.plan_effect(plan, Effect::ReadyPr, OnError::Stop);
        }
        self.steps.finish()
    }
}
