//! One look at a task's pull request, and what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use orange_config::clock;
use orange_effects::forge::github::details::{Details, fetch_details};
use orange_effects::forge::github::glance::{Glance, fetch_glance};
use orange_effects::forge::host::{Host, RepositoryAddress};
use orange_engine::Task;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pull_request::{
    BranchMatch, ConcernKind, Mergeability, PullRequest, PullRequestConcern, PullRequestLink,
    PullRequestReading, find_for_branch,
};
use orange_engine::forge::reaction::{Fingerprint, ReactionKind};
use orange_engine::forge::readiness::Concern;
use orange_engine::input::PullRequestFacts;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{BranchName, CommitId, TaskId};
use orange_engine::time::Timestamp;
use orange_store::Store;

use crate::DriverError;
use crate::forge::checks::{self, ChecksQuestion};
use crate::forge::feedback;
use crate::forge::feedback_file::{
    describe_checks, describe_conflict, describe_points, write_feedback,
};
use crate::forge::repository::pull_request_url;
use crate::forge::sessions::Session;
use crate::forge::snapshot::{Findings, PullRequestSnapshot, StoredFacts};
use crate::forge::subject::{Judgement, Subject};
use crate::forge::{Forge, ForgeFailure};

/// For how long the facts of a look are reused for the gates of the decision that follows.
const RECENT_SECONDS: u64 = 10;

/// For each task, the facts of the last look by this process, and when it was made.
#[derive(Clone, Default)]
pub(crate) struct RecentLooks(Arc<Mutex<BTreeMap<TaskId, (PullRequestFacts, Timestamp)>>>);

impl fmt::Debug for RecentLooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RecentLooks")
    }
}

/// What a look showed.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) link: PullRequestLink,
    pub(crate) snapshot: PullRequestSnapshot,
    pub(crate) facts: PullRequestFacts,
    /// What the task should react to; absent if it cannot be judged yet.
    pub(crate) reading: Option<PullRequestReading>,
    /// What the user has to know, whatever the task does.
    pub(crate) notice: Option<String>,
    stored: StoredFacts,
    /// Digests of the points in the reading.
    points: BTreeSet<String>,
}

impl Look {
    /// Stores that an agent was given the points, so that it gets each of them once.
    pub(crate) fn mark_handled(
        &self,
        store: &mut Store,
        task: &TaskId,
    ) -> Result<(), ForgeFailure> {
        let mut stored = self.stored.clone();
        stored.handled.extend(self.points.iter().cloned());
        stored.save(store, task, &self.link)?;
        Ok(())
    }
}

impl Forge {
    /// The facts for gates: `None` if the task has no pull request or its project no forge.
    pub(crate) fn facts(
        &self,
        store: &mut Store,
        task: &Task,
    ) -> Result<Option<PullRequestFacts>, ForgeFailure> {
        if task.pull_request.is_none() {
            return Ok(None);
        }
        let recent = self.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((facts, at)) = recent.get(&task.id)
            && clock::now().seconds_since(*at) < RECENT_SECONDS
        {
            return Ok(Some(facts.clone()));
        }
        drop(recent);
        let Some(look) = self.look(store, task, None)? else {
            return Ok(None);
        };
        self.remember(store, &task.id, &look)?;
        Ok(Some(look.facts))
    }

    /// Looks at the pull request of a task; finds the one of its branch if none is linked. `None`
    /// if there is none, or the project has no forge. `seen` is the result of a cheap look
    /// (`glance`) that was just made.
    pub(crate) fn look(
        &self,
        store: &Store,
        task: &Task,
        seen: Option<&PullRequest>,
    ) -> Result<Option<Look>, ForgeFailure> {
        let (project, git) = self.workspaces.repository_of(task)?;
        let Some(address) = self.repository(&project)? else {
            return Ok(None);
        };
        let (host, looked_at) = (address.host.clone(), address.clone());
        let look = self.with_session(&host, |session| {
            let link = match &task.pull_request {
                Some(link) => Some(link.clone()),
                None => find_link(session, &address, &task.branch)?,
            };
            let Some(link) = link else {
                return Ok(None);
            };
            let subject = Subject {
                task,
                address,
                git,
                link,
                default: project.default_branch.clone(),
            };
            let pull_request = match seen {
                Some(seen) => seen.clone(),
                None => glance(session, &subject.link)?,
            };
            self.judge(store, session, &subject, &pull_request)
                .map(Some)
        })?;
        // The poller notes its own looks, once for many pull requests.
        if seen.is_none() {
            self.note_look(&looked_at);
        }
        Ok(look)
    }

    /// Stores what a look showed, if it is new, and keeps its facts for the decision that follows.
    pub(crate) fn remember(
        &self,
        store: &mut Store,
        task: &TaskId,
        look: &Look,
    ) -> Result<bool, ForgeFailure> {
        let mut recent = self.recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.insert(task.clone(), (look.facts.clone(), clock::now()));
        drop(recent);
        look.stored.save(store, task, &look.link)
    }

    fn judge(
        &self,
        store: &Store,
        session: &mut Session,
        subject: &Subject<'_>,
        pull_request: &PullRequest,
    ) -> Result<Look, ForgeFailure> {
        let now = clock::now();
        let before = StoredFacts::load(store, &subject.task.id)?;
        let before = before.filter(|it| it.snapshot.number == subject.link.number);
        let same_head = before.as_ref();
        let same_head = same_head.filter(|it| it.snapshot.head == pull_request.head);
        let head_since = same_head.map_or(now, |it| it.head_since);
        let before = before.map(|it| (it.handled, it.enqueued));
        let (handled, enqueued) = before.unwrap_or_default();
        let mut judgement = Judgement {
            checks: Knowledge::Unknown,
            open_threads: Knowledge::Unknown,
            points: Knowledge::Unknown,
        };
        if pull_request.state == PullRequestState::Open {
            let details = fetch_details(&mut session.client, &subject.link.id)?;
            let question = ChecksQuestion {
                address: &subject.address,
                git: &subject.git,
                pull_request,
                head_since,
                now,
            };
            judgement = judge_details(session, &question, &details, &handled)?;
        }
        let open_points = match &judgement.points {
            Knowledge::Known(items) => Knowledge::Known(items.len()),
            Knowledge::None => Knowledge::None,
            Knowledge::Unknown => Knowledge::Unknown,
        };
        let snapshot = PullRequestSnapshot::new(
            &subject.link,
            pull_request,
            &Findings {
                checks: &judgement.checks,
                open_points,
                open_threads: judgement.open_threads,
            },
        );
        let mut notice = None;
        let reading = match pull_request.state {
            PullRequestState::Merged => {
                let worktree = store.workspace_of(&subject.task.id);
                let worktree = worktree.map_err(DriverError::from)?.map(|it| it.path);
                read_merged(subject, pull_request, worktree.as_deref(), &mut notice)?
            }
            _ => self.read(session, subject, pull_request, &judgement, &mut notice)?,
        };
        let is_feedback = |it: &PullRequestReading| {
            let concern = it.concern.as_ref();
            concern.is_some_and(|it| matches!(it.kind, ConcernKind::Feedback { .. }))
        };
        let mut points = BTreeSet::new();
        if let (true, Knowledge::Known(items)) =
            (reading.as_ref().is_some_and(is_feedback), &judgement.points)
        {
            points.extend(items.iter().map(|it| it.digest.clone()));
        }
        Ok(Look {
            link: subject.link.clone(),
            facts: facts(pull_request, &judgement),
            snapshot: snapshot.clone(),
            reading,
            notice,
            stored: StoredFacts {
                snapshot,
                head_since,
                handled,
                enqueued,
            },
            points,
        })
    }

    /// What the task should react to; the pull request is not merged.
    fn read(
        &self,
        session: &mut Session,
        subject: &Subject<'_>,
        pull_request: &PullRequest,
        judgement: &Judgement,
        notice: &mut Option<String>,
    ) -> Result<Option<PullRequestReading>, ForgeFailure> {
        let own = subject.git.branch(&subject.task.branch)?;
        let concern = match pull_request.state {
            PullRequestState::Merged | PullRequestState::Closed => None,
            PullRequestState::Open => match &own {
                Some(own) if subject.link.is_outside => {
                    subject.outside_concern(own, pull_request, judgement, notice)
                }
                Some(own) => self.concern(session, subject, own, pull_request, judgement)?,
                None => None,
            },
        };
        Ok(Some(PullRequestReading {
            link: subject.link.clone(),
            head: pull_request.head.clone(),
            state: pull_request.state,
            is_branch_gone: own.is_none(),
            concern,
        }))
    }

    fn concern(
        &self,
        session: &mut Session,
        subject: &Subject<'_>,
        own: &CommitId,
        pull_request: &PullRequest,
        judgement: &Judgement,
    ) -> Result<Option<PullRequestConcern>, ForgeFailure> {
        let Knowledge::Known(concern) = judgement.concern(own, pull_request) else {
            return Ok(None);
        };
        let none = Vec::new();
        let points = judgement.points.known().unwrap_or(&none);
        let found = match &concern {
            Concern::Conflicting => {
                let base = subject.git.fetch_tip(&pull_request.base)?;
                let details: Vec<String> = base.iter().map(ToString::to_string).collect();
                let text = || Ok(describe_conflict(&subject.link, &pull_request.base));
                let file = self.file(subject, ReactionKind::Conflicting, own, &details, text)?;
                PullRequestConcern {
                    kind: ConcernKind::Conflicting,
                    details,
                    file: Some(file),
                }
            }
            Concern::Failing(names) => self.failing(session, subject, own, names)?,
            Concern::Feedback(_) => {
                let details: Vec<String> = points.iter().map(|it| it.digest.clone()).collect();
                let text = || Ok(describe_points(&subject.link, points));
                let file = self.file(subject, ReactionKind::Feedback, own, &details, text)?;
                PullRequestConcern {
                    kind: ConcernKind::Feedback {
                        points: points.iter().map(feedback::title).collect(),
                    },
                    details,
                    file: Some(file),
                }
            }
            other if other.is_settled() => PullRequestConcern {
                kind: ConcernKind::Settled,
                details: Vec::new(),
                file: None,
            },
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    fn failing(
        &self,
        session: &mut Session,
        subject: &Subject<'_>,
        own: &CommitId,
        names: &[String],
    ) -> Result<PullRequestConcern, ForgeFailure> {
        let runs = checks::failed_runs(session, &subject.address, own)?;
        let ids = runs.iter().map(|run| format!("{}/{}", run.id, run.attempt));
        let details: Vec<String> = names.iter().cloned().chain(ids).collect();
        let text = || {
            let jobs = checks::failed_jobs(session, &subject.address, &runs)?;
            Ok(describe_checks(&subject.link, &jobs, names))
        };
        let file = self.file(subject, ReactionKind::Failing, own, &details, text)?;
        Ok(PullRequestConcern {
            kind: ConcernKind::Failing {
                checks: names.to_vec(),
                can_rerun: !runs.is_empty(),
            },
            details,
            file: Some(file),
        })
    }

    /// The path of the file about a concern. Writes the file if it does not exist.
    fn file(
        &self,
        subject: &Subject<'_>,
        kind: ReactionKind,
        head: &CommitId,
        details: &[String],
        text: impl FnOnce() -> Result<String, ForgeFailure>,
    ) -> Result<String, ForgeFailure> {
        let details = details.iter().map(String::as_str);
        let fingerprint = Fingerprint::new(kind, head, details);
        let path = self.feedback_path(subject.task, &fingerprint)?;
        if !path.exists() {
            write_feedback(&path, &text()?)?;
        }
        Ok(path.display().to_string())
    }
}

/// What a task should react to if the forge says that its pull request is merged. Nothing if git
/// does not confirm that.
fn read_merged(
    subject: &Subject<'_>,
    pull_request: &PullRequest,
    worktree: Option<&Path>,
    notice: &mut Option<String>,
) -> Result<Option<PullRequestReading>, ForgeFailure> {
    let own = subject.git.branch(&subject.task.branch)?;
    let work = match subject.confirm_merge(own.as_ref(), worktree)? {
        Ok(work) => work,
        Err(reason) => {
            *notice = Some(reason);
            return Ok(None);
        }
    };
    let is_branch_gone = own.is_none();
    let mut head = pull_request.head.clone();
    // The author may have pushed since the task's branch was fetched. If the merged work contains
    // everything on that branch, the branch's own head counts as merged.
    if let Some(own) = own.filter(|_| subject.link.is_outside)
        && subject.git.contains_work(&work, &own)?
    {
        head = own;
    }
    Ok(Some(PullRequestReading {
        link: subject.link.clone(),
        head,
        state: pull_request.state,
        is_branch_gone,
        concern: None,
    }))
}

/// The open pull request of a branch, even if it was not opened by orange.
pub(crate) fn find_link(
    session: &mut Session,
    address: &RepositoryAddress,
    branch: &BranchName,
) -> Result<Option<PullRequestLink>, ForgeFailure> {
    let candidates = session.repository(address).probe_branch(branch)?;
    let link = |found: &PullRequest| PullRequestLink {
        number: found.number,
        id: found.id.clone(),
        url: pull_request_url(address, found.number),
        is_outside: false,
    };
    match find_for_branch(&candidates.items, &address.full_name(), branch) {
        BranchMatch::One(found) => Ok(Some(link(found))),
        BranchMatch::None if candidates.is_complete => Ok(None),
        BranchMatch::None => Err(ForgeFailure::Unclear(format!(
            "too many pull requests have a branch `{branch}`"
        ))),
        BranchMatch::Ambiguous(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(|it| format!("#{it}")).collect();
            Err(ForgeFailure::Unclear(format!(
                "branch `{branch}` has several open pull requests: {}; close all but one",
                numbers.join(", ")
            )))
        }
    }
}

/// A cheap look at one pull request, without the details of its checks and discussion.
pub(crate) fn glance(
    session: &mut Session,
    link: &PullRequestLink,
) -> Result<PullRequest, ForgeFailure> {
    let ids = std::slice::from_ref(&link.id);
    let mut glance = fetch_glance(&mut session.client, ids, &mut session.chunk);
    glance.seen.remove(&link.id).ok_or_else(|| {
        let reason = glance.failure.unwrap_or_else(|| {
            format!("{link} is not there, or the token does not allow to see it")
        });
        ForgeFailure::Unclear(reason)
    })
}

fn judge_details(
    session: &mut Session,
    question: &ChecksQuestion<'_>,
    details: &Details,
    handled: &BTreeSet<String>,
) -> Result<Judgement, ForgeFailure> {
    let feedback = feedback::judge(session, question.address, &details.discussion, handled)?;
    Ok(Judgement {
        checks: checks::judge(session, question, details)?,
        open_threads: details.discussion.open_threads(),
        points: feedback.map(|it| it.items),
    })
}

fn facts(pull_request: &PullRequest, judgement: &Judgement) -> PullRequestFacts {
    PullRequestFacts {
        state: pull_request.state,
        head: pull_request.head.clone(),
        is_draft: pull_request.is_draft,
        checks: match &judgement.checks {
            Knowledge::Known(verdict) => match verdict.gate_state() {
                Some(state) => Knowledge::Known(state),
                None => Knowledge::None,
            },
            Knowledge::None | Knowledge::Unknown => Knowledge::Unknown,
        },
        review: pull_request.review,
        mergeable: pull_request
            .mergeability
            .known()
            .map(|it| *it == Mergeability::Clean),
        open_threads: match judgement.open_threads {
            Knowledge::Known(count) => Some(count),
            Knowledge::None => Some(0),
            Knowledge::Unknown => None,
        },
    }
}

impl Forge {
    /// A cheap look at many pull requests of a host.
    pub(crate) fn glance_all(&self, host: &Host, ids: &[String]) -> Result<Glance, ForgeFailure> {
        self.with_session(host, |session| {
            Ok(fetch_glance(&mut session.client, ids, &mut session.chunk))
        })
    }
}
