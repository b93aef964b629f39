//! Finds or opens the pull request of a branch, and changes it.
//!
//! Every change can safely be requested twice, because it looks at the forge before it acts.

use orange_effects::forge::error::{ForgeError, Trouble};
use orange_effects::forge::github::mutations::{create_linked_branch, enqueue, mark_ready};
use orange_effects::forge::github::pull_requests::{MergeMethod, NewPullRequest};
use orange_effects::forge::github::repository::RepositoryFacts;
use orange_effects::forge::github::runs::WorkflowRun;
use orange_effects::forge::host::RepositoryAddress;
use orange_effects::forge::redact::Redactor;
use orange_engine::effect::MergeStrategy;
use orange_engine::forge::issue::IssueLink;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{PullRequest, PullRequestLink};
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId};
use orange_store::steps::reach;

use crate::forge::checks::failed_runs;
use crate::forge::look::{find_link, glance};
use crate::forge::sessions::Session;
use crate::forge::{Forge, ForgeFailure};

/// The colour of a label that orange creates.
pub(super) const LABEL_COLOR: &str = "ededed";

/// A pull request that should exist.
pub(crate) struct Opening<'a> {
    pub(crate) address: &'a RepositoryAddress,
    pub(crate) branch: &'a BranchName,
    pub(crate) base: &'a BranchName,
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    pub(crate) draft: bool,
    pub(crate) labels: &'a [String],
}

/// The result of a request to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeProgress {
    /// The forge says that the pull request is merged; git has to confirm this.
    Merged,
    /// The pull request waits in the forge's merge queue.
    Queued,
}

impl Forge {
    /// Finds the open pull request of a branch, or opens one.
    pub(crate) fn ensure_pull_request(
        &self,
        opening: &Opening<'_>,
    ) -> Result<PullRequestLink, ForgeFailure> {
        self.with_session(&opening.address.host, |session| {
            let redactor = self.redactor(session)?;
            let link = match find_link(session, opening.address, opening.branch)? {
                Some(link) => link,
                None => open(session, opening, &redactor)?,
            };
            let mut labels = Vec::new();
            for label in opening.labels {
                let label = redactor.title(label);
                let mut repository = session.repository(opening.address);
                repository.ensure_label(&label, LABEL_COLOR, &redactor.title(""))?;
                labels.push(label);
            }
            if !labels.is_empty() {
                let mut repository = session.repository(opening.address);
                repository.add_labels(link.number, &labels)?;
            }
            Ok(link)
        })
    }

    /// Creates a branch that the forge links to an issue.
    pub(crate) fn link_branch(
        &self,
        address: &RepositoryAddress,
        issue: &IssueLink,
        branch: &BranchName,
        start: &CommitId,
    ) -> Result<(), ForgeFailure> {
        self.with_session(&address.host, |session| {
            reach("before a post");
            let linked = create_linked_branch(&mut session.client, &issue.id, start, branch);
            reach("after a post");
            Ok(linked?)
        })
    }

    /// Marks a pull request as ready for review.
    pub(crate) fn mark_ready(
        &self,
        address: &RepositoryAddress,
        link: &PullRequestLink,
    ) -> Result<(), ForgeFailure> {
        self.with_session(&address.host, |session| {
            let found = glance(session, link)?;
            if found.is_draft && found.state == PullRequestState::Open {
                reach("before a post");
                let marked = mark_ready(&mut session.client, &link.id);
                reach("after a post");
                marked?;
            }
            Ok(())
        })
    }

    /// Runs the failed checks of a commit again, unless that was done before.
    pub(crate) fn rerun_checks(
        &self,
        address: &RepositoryAddress,
        head: &CommitId,
    ) -> Result<(), ForgeFailure> {
        self.with_session(&address.host, |session| {
            let first = |run: &WorkflowRun| run.attempt == 1;
            let runs = failed_runs(session, address, head)?;
            for run in runs.iter().filter(|it| first(it)) {
                reach("before a post");
                let asked = session.repository(address).rerun_failed_jobs(run.id);
                reach("after a post");
                asked?;
            }
            // While the old attempt is visible, a look would take it for a new failure.
            let runs = failed_runs(session, address, head)?;
            match runs.iter().find(|it| first(it)) {
                None => Ok(()),
                Some(run) => Err(ForgeFailure::Unseen(format!("run {} again", run.name))),
            }
        })
    }

    /// Asks the forge to merge exactly this commit.
    pub(crate) fn merge_pull_request(
        &self,
        address: &RepositoryAddress,
        link: &PullRequestLink,
        head: &CommitId,
        strategy: MergeStrategy,
        was_queued: bool,
    ) -> Result<MergeProgress, ForgeFailure> {
        self.with_session(&address.host, |session| {
            let found = glance(session, link)?;
            if let Some(progress) = progress(link, head, &found)? {
                return Ok(progress);
            }
            // The checks of the queue failed, or a person removed the pull request from it. A
            // second attempt without a change would be removed again, and would hold up the others
            // in the queue.
            if was_queued {
                return Err(ForgeFailure::Unclear(format!(
                    "{link} left the merge queue without a merge; its page says why"
                )));
            }
            if found.is_draft {
                mark_ready(&mut session.client, &link.id)?;
            }
            let mut repository = session.repository(address);
            let method = method(strategy, &repository.fetch_repository()?);
            reach("before a post");
            let merged = repository.merge_pull_request(link.number, head, method, None);
            reach("after a post");
            match merged {
                Ok(_) => Ok(MergeProgress::Merged),
                Err(error) => after_error(session, link, head, error),
            }
        })
    }

    /// A redactor that removes the token, and the values of variables that look like secrets.
    pub(crate) fn redactor(&self, session: &mut Session) -> Result<Redactor, ForgeFailure> {
        let token = session.client.token();
        let token = token.map_err(ForgeFailure::Token)?;
        Ok(self.context.redactor(Some(token), &[]))
    }
}

fn open(
    session: &mut Session,
    opening: &Opening<'_>,
    redactor: &Redactor,
) -> Result<PullRequestLink, ForgeFailure> {
    let new = NewPullRequest {
        title: redactor.title(opening.title),
        body: redactor.body(opening.body),
        head: opening.branch.to_string(),
        base: opening.base.to_string(),
        draft: opening.draft,
    };
    reach("before a post");
    let created = session
        .repository(opening.address)
        .create_pull_request(&new);
    reach("after a post");
    match created {
        Ok(created) => Ok(PullRequestLink {
            number: created.number,
            url: super::repository::pull_request_url(opening.address, created.number),
            is_outside: false,
            id: created.id,
        }),
        Err(error) if error.is_already_there() || error.may_have_taken_effect() => {
            let found = find_link(session, opening.address, opening.branch)?;
            found.ok_or_else(|| ForgeFailure::Unseen(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the pull request is merged or queued; `None` if the merge still has to be requested.
fn progress(
    link: &PullRequestLink,
    head: &CommitId,
    found: &PullRequest,
) -> Result<Option<MergeProgress>, ForgeFailure> {
    match found.state {
        PullRequestState::Merged => return Ok(Some(MergeProgress::Merged)),
        PullRequestState::Closed => {
            let reason = format!("{link} is closed; open it again on the forge");
            return Err(ForgeFailure::Unclear(reason));
        }
        PullRequestState::Open => {}
    }
    if found.head != *head {
        let now = &found.head;
        let reason = format!("{link} is at {now}, not at {head}, which was to be merged");
        return Err(ForgeFailure::Unclear(reason));
    }
    Ok(found.is_queued.then_some(MergeProgress::Queued))
}

/// Finds out the result of a merge request that failed or got no answer.
fn after_error(
    session: &mut Session,
    link: &PullRequestLink,
    head: &CommitId,
    error: ForgeError,
) -> Result<MergeProgress, ForgeFailure> {
    if error.may_have_taken_effect() {
        let found = glance(session, link)?;
        let progress = progress(link, head, &found)?;
        return progress.ok_or_else(|| ForgeFailure::Unseen(error.to_string()));
    }
    match &error.trouble {
        Trouble::Conflict { .. } => Err(ForgeFailure::Unclear(format!(
            "{link} is not at {head} any more, so nothing was merged"
        ))),
        // Only the merge queue may merge into this branch.
        Trouble::NotMergeable { message } if message.to_lowercase().contains("queue") => {
            enqueue(&mut session.client, &link.id, head)?;
            Ok(MergeProgress::Queued)
        }
        _ => Err(error.into()),
    }
}

/// The forge's merge method for a strategy; for `Auto`, the first one that the repository does not
/// forbid.
fn method(strategy: MergeStrategy, repository: &RepositoryFacts) -> MergeMethod {
    match strategy {
        MergeStrategy::Squash => MergeMethod::Squash,
        MergeStrategy::Rebase | MergeStrategy::Ff => MergeMethod::Rebase,
        MergeStrategy::Merge => MergeMethod::Merge,
        MergeStrategy::Auto => {
            let allowed = [
                (repository.allows_merge_commit, MergeMethod::Merge),
                (repository.allows_squash, MergeMethod::Squash),
                (repository.allows_rebase, MergeMethod::Rebase),
            ];
            let first = allowed
                .into_iter()
                .find(|(allowed, _)| *allowed != Knowledge::Known(false));
            first.map_or(MergeMethod::Merge, |(_, method)| method)
        }
    }
}
