//! Judges the checks of a pull request's head; reads why they failed.

use std::collections::BTreeSet;

use orange_effects::forge::error::ForgeError;
use orange_effects::forge::github::Repository;
use orange_effects::forge::github::details::Details;
use orange_effects::forge::github::runs::WorkflowRun;
use orange_effects::forge::host::RepositoryAddress;
use orange_effects::git::Git;
use orange_engine::forge::checks::{CheckOutcome, ChecksReading, ChecksVerdict, RepositoryChecks};
use orange_engine::forge::failure::FailedJob;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::PullRequest;
use orange_engine::names::CommitId;
use orange_engine::time::Timestamp;

use crate::forge::ForgeFailure;
use crate::forge::sessions::Session;

/// The folder whose files make GitHub run checks.
const WORKFLOWS: &str = ".github/workflows";

/// How many failed jobs an agent gets.
const MAX_JOBS: usize = 5;

/// What is needed to judge checks, in addition to the fetched details.
pub(crate) struct ChecksQuestion<'a> {
    pub(crate) address: &'a RepositoryAddress,
    pub(crate) git: &'a Git,
    pub(crate) pull_request: &'a PullRequest,
    /// When the head was first seen.
    pub(crate) head_since: Timestamp,
    pub(crate) now: Timestamp,
}

/// Judges the checks of the pull request's head.
pub(crate) fn judge(
    session: &mut Session,
    question: &ChecksQuestion<'_>,
    details: &Details,
) -> Result<Knowledge<ChecksVerdict>, ForgeFailure> {
    let pull_request = question.pull_request;
    let required = session.required_checks(question.address, &pull_request.base)?;
    let repository = if details.checks.is_empty() {
        repository_checks(question.git, pull_request)?
    } else {
        RepositoryChecks::Exist
    };
    let required = requirements(required, pull_request, repository);
    let reading = ChecksReading {
        commit: details.head.clone(),
        checks: details.checks.clone(),
        is_complete: details.are_checks_complete,
        rollup: details.rollup,
        required,
        repository,
        pushed: question.head_since,
    };
    Ok(reading.judge(&pull_request.head, question.now))
}

/// The checks that the base branch requires. Most tokens may not read the rules of a branch, so
/// other facts decide where they can.
fn requirements(
    required: Knowledge<BTreeSet<String>>,
    pull_request: &PullRequest,
    repository: RepositoryChecks,
) -> Knowledge<BTreeSet<String>> {
    match (required, pull_request.is_blocked) {
        // If the forge would merge the pull request now, no required check is missing.
        (Knowledge::Unknown, Knowledge::Known(false)) => Knowledge::None,
        // The forge never merges a draft, so a blocked draft says nothing about the rules. Required
        // checks are noticed when the draft is marked as ready, before it is merged.
        (Knowledge::Unknown, _)
            if pull_request.is_draft && repository == RepositoryChecks::Absent =>
        {
            Knowledge::None
        }
        (required, _) => required,
    }
}

/// Whether the repository has checks at all, by the files of its base branch.
fn repository_checks(
    git: &Git,
    pull_request: &PullRequest,
) -> Result<RepositoryChecks, ForgeFailure> {
    let base = git.base(&pull_request.base)?;
    Ok(if git.has_file(base.commit.as_str(), WORKFLOWS)? {
        RepositoryChecks::Exist
    } else {
        RepositoryChecks::Absent
    })
}

/// The runs of a commit that failed, which the forge can run again.
pub(crate) fn failed_runs(
    session: &mut Session,
    address: &RepositoryAddress,
    head: &CommitId,
) -> Result<Vec<WorkflowRun>, ForgeFailure> {
    let runs = session.repository(address).fetch_runs(head)?;
    let is_failed =
        |run: &WorkflowRun| matches!(run.outcome, CheckOutcome::Failed | CheckOutcome::Cancelled);
    Ok(runs.items.into_iter().filter(is_failed).collect())
}

/// The jobs that failed in these runs, each with the end of its log.
pub(crate) fn failed_jobs(
    session: &mut Session,
    address: &RepositoryAddress,
    runs: &[WorkflowRun],
) -> Result<Vec<FailedJob>, ForgeFailure> {
    let mut failed = Vec::new();
    let mut repository = session.repository(address);
    for run in runs {
        for job in repository.fetch_jobs(run.id)?.items {
            if job.outcome != CheckOutcome::Failed || failed.len() >= MAX_JOBS {
                continue;
            }
            failed.push(FailedJob {
                log: read_log(&mut repository, job.id)?,
                name: job.name,
                steps: job.failed_steps,
            });
        }
    }
    Ok(failed)
}

/// The end of a job's log; absent if it is gone or the token may not read it.
fn read_log(repository: &mut Repository<'_>, job: u64) -> Result<Option<String>, ForgeError> {
    match repository.fetch_job_log(job) {
        Ok(log) => Ok(Some(log.text)),
        Err(error) if error.is_temporary() => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use orange_engine::language::gates::PullRequestState;
    use orange_engine::names::BranchName;

    use super::*;

    fn pull_request(is_draft: bool, is_blocked: Knowledge<bool>) -> PullRequest {
        PullRequest {
            id: String::from("PR_1"),
            number: 1,
            state: PullRequestState::Open,
            is_draft,
            head: CommitId::new("abc"),
            base: BranchName::new("main"),
            mergeability: Knowledge::Unknown,
            is_blocked,
            review: Knowledge::Unknown,
            rollup: Knowledge::None,
            is_queued: false,
            updated: Timestamp::default(),
        }
    }

    #[test]
    fn a_draft_without_checks_waits_for_none() {
        use RepositoryChecks::{Absent, Exist};
        let unknown = || Knowledge::<BTreeSet<String>>::Unknown;
        for blocked in [Knowledge::Unknown, Knowledge::Known(true)] {
            let draft = pull_request(true, blocked);
            assert_eq!(requirements(unknown(), &draft, Absent), Knowledge::None);
            assert!(requirements(unknown(), &draft, Exist).is_unknown());
            let ready = pull_request(false, blocked);
            assert!(requirements(unknown(), &ready, Absent).is_unknown());
            let named = Knowledge::Known(BTreeSet::from([String::from("test")]));
            assert_eq!(requirements(named.clone(), &draft, Absent), named);
        }
        let free = pull_request(false, Knowledge::Known(false));
        assert_eq!(requirements(unknown(), &free, Exist), Knowledge::None);
    }
}
