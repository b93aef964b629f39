//! Which commit is submitted for review and merge.
//!
//! A merge takes exactly the commit that was reviewed. An edge with a git gate submits the branch's
//! commit; an edge with a PASS verdict records which role approved which commit. Further work
//! discards the submission, so an old PASS never covers new commits.

use super::plan_builder::{NeededFacts, PlanBuilder};
use crate::document::reading::Verdict;
use crate::input::{Cause, FactNeeded, GitFacts, NamedCommit, Request, RequestKind};
use crate::language::gates::{GateKind, GitCondition, SectionGate};
use crate::language::verbs::Verb;
use crate::language::workflow::{Edge, Kind, Trigger};
use crate::names::{CommitId, Status};
use crate::refusal::CommitKind;
use crate::refusal::GateFailure;
use crate::role::Role;
use crate::task::Submission;

/// The submission of a task after it takes an edge.
pub(super) fn submission_after(
    steps: &PlanBuilder<'_>,
    edge: &Edge,
    to: &Status,
    trigger: Trigger,
    by: &Role,
) -> Result<Option<Submission>, NeededFacts> {
    let kept = steps.task.submission.clone();
    // The merge was already decided for a commit, so the submission stays as it is.
    if matches!(trigger, Trigger::Merged | Trigger::PrMerged) {
        return Ok(kept);
    }
    let verdict_gate = |verdict: Verdict| {
        edge.gates.iter().find_map(move |gate| match &gate.kind {
            GateKind::Section(gate) if gate.verdict == Some(verdict) => Some(gate),
            _ => None,
        })
    };
    let pass_gate = verdict_gate(Verdict::Pass);
    let is_git_gate = |kind: &GateKind| matches!(kind, GateKind::Git(_));
    if pass_gate.is_none() && !edge.gates.iter().any(|gate| is_git_gate(&gate.kind)) {
        let kind = steps.workflow.state(to).map(|state| state.kind);
        let work_continues = matches!(kind, Some(Kind::Agent | Kind::Queued));
        let failed_by = verdict_gate(Verdict::Fail).map(|gate| judged_by(steps, gate, by));
        let kept = kept.filter(|_| !work_continues);
        return Ok(kept.map(|kept| match failed_by {
            Some(role) => Submission {
                failed_by: Some(role),
                passed_by: None,
                ..kept
            },
            None => kept,
        }));
    }
    let Some(git) = steps.facts().and_then(|facts| facts.git.as_ref()) else {
        return Err(vec![FactNeeded::Git]);
    };
    Ok(Some(Submission {
        commit: git.head.clone(),
        passed_by: pass_gate.map(|gate| judged_by(steps, gate, by)),
        failed_by: None,
    }))
}

/// The role behind a verdict: the role that submitted it, else the role that takes the edge.
fn judged_by(steps: &PlanBuilder<'_>, gate: &SectionGate, by: &Role) -> Role {
    let record = steps.task.sections.get(&gate.section);
    let mut allowed = gate.from_role.iter();
    let submitter = allowed.find(|role| record.is_some_and(|it| it.submitted_by.contains(role)));
    submitter.unwrap_or(by).clone()
}

/// Why the branch cannot be judged or merged as it is: its head is not the commit that the request
/// names or, if the request names none, not the submitted commit.
pub(super) fn check_moved(steps: &PlanBuilder<'_>, git: &GitFacts) -> Option<GateFailure> {
    let submission = steps.task.submission.as_ref();
    let named = requested_commit(steps);
    let expected = named.or(submission.map(|it| &it.commit))?;
    let commit_kind = match (named, submission) {
        (Some(_), _) => CommitKind::Named,
        (
            None,
            Some(Submission {
                passed_by: Some(_), ..
            }),
        ) => CommitKind::Reviewed,
        (None, _) => CommitKind::Submitted,
    };
    (git.head != *expected).then(|| GateFailure::BranchMoved {
        branch: steps.task.branch.clone(),
        from: expected.clone(),
        to: git.head.clone(),
        commits: named_commit(git, expected).and_then(|it| it.commits_since),
        commit_kind,
    })
}

/// The commit that the requested merge would take, if known.
pub(super) fn merge_candidate(
    steps: &PlanBuilder<'_>,
    request: &Request,
    verb: Verb,
) -> Option<CommitId> {
    if verb != Verb::Merge {
        return None;
    }
    let submitted = steps.task.submission.as_ref().map(|it| &it.commit);
    let git = steps.facts().and_then(|facts| facts.git.as_ref());
    let named = request.head.as_ref().or(submitted);
    named.or(git.map(|git| &git.head)).cloned()
}

pub(super) fn requested_commit<'a>(steps: &PlanBuilder<'a>) -> Option<&'a CommitId> {
    request(steps)?.head.as_ref()
}

/// Whether a failing git condition does not matter because the request merges one specific commit:
/// whatever is not part of that commit is left out, and the answer lists it.
pub(super) fn is_irrelevant(
    condition: GitCondition,
    git: &GitFacts,
    steps: &PlanBuilder<'_>,
) -> bool {
    let is_merge = request(steps).is_some_and(|it| {
        matches!(
            it.kind,
            RequestKind::Merge { .. } | RequestKind::Verb(Verb::Merge)
        )
    });
    let named = requested_commit(steps);
    let submitted = steps.task.submission.as_ref().map(|it| &it.commit);
    is_merge
        && match condition {
            GitCondition::Clean => merges_only_named(steps),
            // A commit that is already in the default branch is recorded as merged.
            GitCondition::CommitsAhead => named
                .or(submitted)
                .and_then(|commit| named_commit(git, commit))
                .is_some_and(|it| it.is_in_base),
            GitCondition::BranchNotDefault | GitCondition::TaskFileUntracked => false,
        }
}

/// Whether the request merges one specific commit and leaves out everything else.
pub(super) fn merges_only_named(steps: &PlanBuilder<'_>) -> bool {
    let kind = request(steps).map(|request| &request.kind);
    matches!(
        kind,
        Some(RequestKind::Merge {
            only_head: true,
            ..
        })
    ) && requested_commit(steps).is_some()
}

pub(super) fn named_commit<'a>(git: &'a GitFacts, commit: &CommitId) -> Option<&'a NamedCommit> {
    git.named.as_ref().filter(|named| named.commit == *commit)
}

fn request<'a>(steps: &PlanBuilder<'a>) -> Option<&'a Request> {
    match steps.cause? {
        Cause::Request(request) => Some(request),
        Cause::Observation(_) => None,
    }
}
