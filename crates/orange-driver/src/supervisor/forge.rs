//! Polls the forge about all pull requests, and posts at issues.
//!
//! One cheap look covers many pull requests; only what changed is read in detail. A round in which
//! nothing changed writes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use orange_config::clock;
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::Task;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::{Heat, PaceSettings, Quota};
use orange_engine::forge::pull_request::PullRequest;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::TaskId;
use orange_engine::time::Timestamp;
use orange_store::{Store, StoreError, TaskFilter};

use super::background_job::BackgroundJob;
use super::issues::IssueSync;
use super::posts::Poster;
use super::scheduling::FailureLog;
use crate::forge::snapshot::{ChecksOutcome, PullRequestSnapshot, StoredFacts};
use crate::{Driver, DriverError, LookReport};

/// How long to wait when there is nothing to look at; a commit ends the wait.
const IDLE: Duration = Duration::from_mins(15);

/// Looks at what is due, on request.
pub(super) fn start_polling(driver: Driver) -> Result<BackgroundJob, String> {
    let mut failures = FailureLog::new(driver.clone(), "forge.failed");
    let mut issues = IssueSync::new(driver.clone());
    let mut post_failures = FailureLog::new(driver.clone(), "post.failed");
    let mut poster = Poster::new(driver.clone());
    let mut poller = Poller {
        driver,
        watched: BTreeMap::new(),
        sequence: None,
        next: Timestamp::default(),
    };
    BackgroundJob::new("forge", move || {
        if poller.is_due() {
            failures.note(poller.round());
        }
        issues.sync_due();
        post_failures.note(poster.round());
    })
}

/// What is known about a pull request between two rounds.
struct Watched {
    next: Timestamp,
    /// What the last cheap look showed, if everything about it was judged.
    seen: Option<PullRequest>,
}

struct Poller {
    driver: Driver,
    watched: BTreeMap<TaskId, Watched>,
    /// The last commit that was read: a new one may have linked a pull request.
    sequence: Option<u64>,
    next: Timestamp,
}

/// The pull requests of one repository that are due.
struct Group {
    address: RepositoryAddress,
    settings: PaceSettings,
    tasks: Vec<Task>,
}

impl Poller {
    /// Whether something is due, or was recorded since the last round.
    fn is_due(&self) -> bool {
        if clock::now() >= self.next {
            return true;
        }
        let store = Store::open_read_only(&self.driver.context.home);
        let sequence = store.ok().and_then(|it| it.sequence().ok());
        sequence != self.sequence
    }

    fn round(&mut self) -> Result<(), String> {
        let due = self.due().map_err(|error| error.to_string())?;
        let mut result = Ok(());
        for group in self.groups(due).map_err(|error| error.to_string())? {
            if let Err(error) = self.look_at(&group) {
                result = Err(error);
            }
        }
        let next = self.watched.values().map(|it| it.next).min();
        self.next = next.unwrap_or_else(|| clock::after(IDLE));
        result
    }

    /// The tasks whose pull request is to be looked at now.
    fn due(&mut self) -> Result<Vec<Task>, DriverError> {
        let store = match Store::open_read_only(&self.driver.context.home) {
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            store => store?,
        };
        self.sequence = Some(store.sequence()?);
        let tasks = store.list(&TaskFilter::default())?.tasks;
        let open = tasks.into_iter().map(|it| it.task);
        let open: Vec<Task> = open
            .filter(|it| it.pull_request.is_some() && !it.is_deleted)
            .filter(|it| store.require(&it.id).is_ok_and(|it| !it.has_ended()))
            .collect();
        self.watched
            .retain(|id, _| open.iter().any(|task| task.id == *id));
        let now = clock::now();
        let is_due = |task: &&Task| self.watched.get(&task.id).is_none_or(|it| it.next <= now);
        Ok(open.iter().filter(is_due).cloned().collect())
    }

    /// The tasks by repository; a project without a forge has none to look at.
    fn groups(&mut self, tasks: Vec<Task>) -> Result<Vec<Group>, DriverError> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        let projects = self.driver.context.projects()?;
        for task in tasks {
            let Ok(project) = projects.require(&task.project) else {
                continue;
            };
            let settings = self.driver.context.settings(Some(project))?.forge;
            let Some(address) = self.driver.forge.repository(project)? else {
                let next = clock::after(settings.cold);
                self.watched.insert(task.id, Watched { next, seen: None });
                continue;
            };
            let group = groups.entry(address.to_string()).or_insert_with(|| Group {
                address,
                settings: PaceSettings {
                    hot: settings.poll.as_secs().max(1),
                    cold: settings.cold.as_secs().max(1),
                    share: u64::from(settings.share),
                },
                tasks: Vec::new(),
            });
            group.tasks.push(task);
        }
        Ok(groups.into_values().collect())
    }

    fn look_at(&mut self, group: &Group) -> Result<(), String> {
        let links = group.tasks.iter().filter_map(|it| it.pull_request.as_ref());
        let ids: Vec<String> = links.map(|it| it.id.clone()).collect();
        let glance = self.driver.forge.glance_all(&group.address.host, &ids);
        let glance = match glance {
            Ok(glance) => glance,
            Err(failure) => {
                self.put_off(group);
                return Err(failure.to_string());
            }
        };
        let quota = glance.quota;
        for task in &group.tasks {
            let link = task.pull_request.as_ref();
            let seen = link.and_then(|link| glance.seen.get(&link.id));
            let noted = self.note(group, task, seen, glance.cost, quota);
            noted.map_err(|error| error.to_string())?;
        }
        glance.failure.map_or(Ok(()), Err)
    }

    /// Reads one pull request in detail, if the cheap look shows something new.
    fn note(
        &mut self,
        group: &Group,
        task: &Task,
        seen: Option<&PullRequest>,
        cost: u64,
        quota: Knowledge<Quota>,
    ) -> Result<(), DriverError> {
        let known = self.watched.remove(&task.id).and_then(|it| it.seen);
        let mut judged = None;
        if let Some(seen) = seen {
            let is_same = known.as_ref() == Some(seen);
            let report = if is_same {
                None
            } else {
                Some(self.driver.requests.look_from(&task.id, Some(seen))?)
            };
            // What could not be judged is read again in the next round.
            if report.as_ref().is_none_or(is_judged) {
                judged = Some(seen.clone());
            }
        }
        let heat = self.heat(task, seen)?;
        let next = group.settings.next_look(heat, clock::now(), cost, quota);
        let watched = Watched {
            next: next.at,
            seen: judged,
        };
        self.watched.insert(task.id.clone(), watched);
        Ok(())
    }

    fn heat(&self, task: &Task, seen: Option<&PullRequest>) -> Result<Heat, DriverError> {
        if seen.is_some_and(|it| it.state != PullRequestState::Open) {
            return Ok(Heat::Cold);
        }
        let store = Store::open_read_only(&self.driver.context.home)?;
        let stored = StoredFacts::load(&store, &task.id)?;
        let checks = stored.and_then(|it| it.snapshot.checks);
        let is_checked = checks.is_none_or(|it| match it.outcome {
            ChecksOutcome::Pending => true,
            // It is run again, or an agent gets it, unless that is up to the user now.
            ChecksOutcome::Failing => task.attention.is_empty(),
            ChecksOutcome::Passing | ChecksOutcome::None => false,
        });
        let is_worked_on = task.runs.values().any(|run| run.state.is_live());
        Ok(if is_checked || is_worked_on {
            Heat::Hot
        } else {
            Heat::Cold
        })
    }

    /// Nothing was seen: look again after the usual time.
    fn put_off(&mut self, group: &Group) {
        let unknown = Knowledge::Unknown;
        let next = group
            .settings
            .next_look(Heat::Hot, clock::now(), 1, unknown);
        let next = next.at;
        for task in &group.tasks {
            self.watched
                .insert(task.id.clone(), Watched { next, seen: None });
        }
    }
}

/// Whether everything about a pull request was judged, so that only a change is news.
fn is_judged(report: &LookReport) -> bool {
    let seen = report.pull_request.as_ref();
    report.problem.is_none()
        && !report.has_reacted
        && seen.is_some_and(|it| {
            it.state != PullRequestState::Open
                || (it.is_conflicting.is_some() && it.open_points.is_some() && are_settled(it))
        })
}

/// Whether the checks are known and have not failed. Checks that fail again after another run leave
/// a cheap look as it was.
fn are_settled(seen: &PullRequestSnapshot) -> bool {
    let checks = seen.checks.as_ref();
    checks.is_some_and(|it| it.outcome != ChecksOutcome::Failing)
}
