//! Polls the forge about the pull requests of all tasks.
//!
//! One cheap look covers many pull requests; only what changed is read in detail. A round in which
//! nothing changed writes nothing to the store. A hint about a repository makes its looks come
//! sooner. Time is an argument, so that tests can let an hour pass.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use orange_config::{ForgeSettings, Project};
use orange_effects::forge::host::RepositoryAddress;
use orange_engine::Task;
use orange_engine::forge::checks::CHECKS_GRACE_SECONDS;
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::{Heat, PaceSettings, Quota};
use orange_engine::forge::pull_request::PullRequest;
use orange_engine::language::gates::PullRequestState;
use orange_engine::names::{CommitId, TaskId};
use orange_engine::time::Timestamp;
use orange_store::StoreError;

use super::open_tasks::OpenTasks;
use super::seen_hints::SeenHints;
use crate::forge::search::OpenRequests;
use crate::forge::snapshot::{ChecksOutcome, PullRequestSnapshot};
use crate::{Driver, DriverError, LookReport};

/// How long to wait when there is nothing to look at; a commit ends the wait.
const IDLE: Duration = Duration::from_mins(15);

/// How many seconds are at least between two looks, however many hints there are.
const HINTED: u64 = 10;

/// Polls the forge about the pull requests of all tasks.
#[derive(Debug)]
pub struct ForgePoller {
    driver: Driver,
    tasks: OpenTasks,
    watched: BTreeMap<TaskId, WatchedPullRequest>,
    /// For each repository, when to search for pull requests of tasks that have none, and the last
    /// list.
    searches: BTreeMap<String, Search>,
    hints: SeenHints,
    /// The last commit that was read: a newer one may have linked a pull request.
    sequence: Option<u64>,
    next: Timestamp,
}

/// What is known about a pull request between two rounds.
#[derive(Debug)]
struct WatchedPullRequest {
    next: LookTime,
    /// What the last cheap look showed, if everything about it was judged.
    seen: Option<PullRequest>,
    /// The last head, and when it was first seen.
    head: Option<(CommitId, Timestamp)>,
}

#[derive(Debug, Default)]
struct Search {
    next: LookTime,
    list: OpenRequests,
}

/// When to look again.
#[derive(Clone, Copy, Debug, Default)]
struct LookTime {
    without_hint: Timestamp,
    /// As soon as the quota allows, and not at once again.
    with_hint: Timestamp,
    is_hinted: bool,
}

impl LookTime {
    fn at(&self) -> Timestamp {
        if self.is_hinted {
            self.without_hint.min(self.with_hint)
        } else {
            self.without_hint
        }
    }
}

/// The tasks of one repository.
struct Group {
    address: RepositoryAddress,
    settings: PaceSettings,
    /// Whether there is a hint that no earlier round has heeded.
    is_hinted: bool,
    /// The tasks with a pull request that is due.
    due: Vec<Task>,
    /// The tasks without a pull request.
    unlinked: Vec<Task>,
}

impl ForgePoller {
    pub fn new(driver: Driver) -> ForgePoller {
        ForgePoller {
            driver,
            tasks: OpenTasks::default(),
            watched: BTreeMap::new(),
            searches: BTreeMap::new(),
            hints: SeenHints::default(),
            sequence: None,
            next: Timestamp::default(),
        }
    }

    /// Whether something is due, or was recorded since the last round.
    pub fn is_due(&self, now: Timestamp) -> bool {
        if now >= self.next || self.hints.has_new(&self.driver.forge) {
            return true;
        }
        let store = self.driver.context.read_store();
        let sequence = store.ok().and_then(|it| it.sequence().ok());
        sequence != self.sequence
    }

    /// Looks at the pull requests that are due, and searches for new ones.
    pub fn round(&mut self, now: Timestamp) -> Result<(), String> {
        let groups = self.groups(now).map_err(|error| error.to_string())?;
        let mut result = Ok(());
        for group in &groups {
            let looked = self.look_at(group, now);
            let searched = self.search(group, now);
            result = result.and(looked).and(searched);
        }
        let looks = self.watched.values().map(|it| it.next.at());
        let searches = self.searches.values().map(|it| it.next.at());
        let next = looks.chain(searches).min();
        self.next = next.unwrap_or_else(|| after(now, IDLE));
        result
    }

    /// The tasks that are to be looked at now, by repository; a project without a forge has none.
    fn groups(&mut self, now: Timestamp) -> Result<Vec<Group>, DriverError> {
        let store = match self.driver.context.read_store() {
            Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
            store => store?,
        };
        self.sequence = Some(store.sequence()?);
        self.tasks.update(&store)?;
        let open = &self.tasks;
        self.watched.retain(|id, _| open.has(id));
        let projects = self.driver.context.projects()?;
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        let mut addresses = BTreeMap::new();
        for task in self.tasks.all() {
            if let Entry::Vacant(vacant) = addresses.entry(task.project.clone()) {
                vacant.insert(match projects.require(&task.project) {
                    Ok(project) => self.group_of(project)?,
                    Err(_) => None,
                });
            }
            let Some(Some((address, settings))) = addresses.get(&task.project) else {
                continue;
            };
            let group = match groups.entry(address.to_string()) {
                Entry::Occupied(occupied) => occupied.into_mut(),
                Entry::Vacant(vacant) => vacant.insert(Group {
                    address: address.clone(),
                    settings: *settings,
                    is_hinted: self.hints.is_new(&self.driver.forge, address),
                    due: Vec::new(),
                    unlinked: Vec::new(),
                }),
            };
            let watched = self.watched.get_mut(&task.id);
            let is_due = watched.is_none_or(|it| {
                it.next.is_hinted |= group.is_hinted;
                it.next.at() <= now
            });
            if task.pull_request.is_none() {
                group.unlinked.push(task.clone());
            } else if is_due {
                group.due.push(task.clone());
            }
        }
        self.hints.retain(|name| groups.contains_key(name));
        let has_unlinked =
            |name: &String| groups.get(name).is_some_and(|it| !it.unlinked.is_empty());
        self.searches.retain(|name, _| has_unlinked(name));
        Ok(groups.into_values().collect())
    }

    fn group_of(
        &self,
        project: &Project,
    ) -> Result<Option<(RepositoryAddress, PaceSettings)>, DriverError> {
        let Some(address) = self.driver.forge.repository(project)? else {
            return Ok(None);
        };
        let settings = self.driver.context.settings(Some(project))?.forge;
        Ok(Some((address, pace_of(&settings))))
    }

    fn look_at(&mut self, group: &Group, now: Timestamp) -> Result<(), String> {
        if group.due.is_empty() {
            return Ok(());
        }
        let links = group.due.iter().filter_map(|it| it.pull_request.as_ref());
        let ids: Vec<String> = links.map(|it| it.id.clone()).collect();
        let glance = self.driver.forge.glance_all(&group.address.host, &ids);
        let glance = match glance {
            Ok(glance) => glance,
            Err(failure) => {
                self.put_off(group, &group.due, now);
                return Err(failure.to_string());
            }
        };
        if !glance.seen.is_empty() {
            self.driver.forge.note_look(&group.address);
        }
        let mut result = Ok(());
        for task in &group.due {
            let link = task.pull_request.as_ref();
            let seen = link.and_then(|link| glance.seen.get(&link.id));
            let cost = (glance.cost, glance.quota);
            // One task that cannot be decided about does not keep the others waiting.
            if let Err(error) = self.note(group, task, seen, cost, now) {
                self.put_off(group, std::slice::from_ref(task), now);
                result = Err(format!("task {}: {error}", task.id));
            }
        }
        glance.failure.map_or(result, Err)
    }

    /// Reads one pull request in detail, if the cheap look shows something new.
    fn note(
        &mut self,
        group: &Group,
        task: &Task,
        seen: Option<&PullRequest>,
        (cost, quota): (u64, Knowledge<Quota>),
        now: Timestamp,
    ) -> Result<(), DriverError> {
        let (known, head) = match self.watched.remove(&task.id) {
            Some(known) => (known.seen, known.head),
            None => (None, None),
        };
        let same_head = head.filter(|(head, _)| seen.is_none_or(|it| it.head == *head));
        let head = same_head.or_else(|| seen.map(|it| (it.head.clone(), now)));
        let first = head.as_ref().map_or(now, |(_, first)| *first);
        let mut judged = None;
        if let Some(seen) = seen {
            let is_same = known.as_ref() == Some(seen);
            let report = if is_same {
                None
            } else {
                let report = self.driver.requests.look_from(&task.id, Some(seen))?;
                self.tasks
                    .set_snapshot(&task.id, report.pull_request.clone());
                Some(report)
            };
            // What could not be judged is read again in the next round.
            let is_early = now.seconds_since(first) < CHECKS_GRACE_SECONDS;
            let is_final = |it: &LookReport| is_judged(it) && !(is_early && awaits_checks(it));
            if report.as_ref().is_none_or(is_final) {
                judged = Some(seen.clone());
            }
        }
        let heat = self.heat(task, seen);
        let watched = WatchedPullRequest {
            next: LookTime {
                without_hint: group.settings.next_look(heat, now, cost, quota).at,
                with_hint: hinted(group.settings).next_look(heat, now, cost, quota).at,
                is_hinted: false,
            },
            seen: judged,
            head,
        };
        self.watched.insert(task.id.clone(), watched);
        Ok(())
    }

    fn heat(&self, task: &Task, seen: Option<&PullRequest>) -> Heat {
        if seen.is_some_and(|it| it.state != PullRequestState::Open) {
            return Heat::Cold;
        }
        let checks = self.tasks.snapshot(&task.id);
        let checks = checks.and_then(|it| it.checks.as_ref());
        let is_checked = checks.is_none_or(|it| match it.outcome {
            ChecksOutcome::Pending => true,
            // Failed checks change soon, because they are run again or an agent gets them, unless
            // the task waits for the user.
            ChecksOutcome::Failing => task.attention.is_empty(),
            ChecksOutcome::Passing | ChecksOutcome::None => false,
        });
        let is_worked_on = task.runs.values().any(|run| run.state.is_live());
        if is_checked || is_worked_on {
            Heat::Hot
        } else {
            Heat::Cold
        }
    }

    /// Finds pull requests that were opened elsewhere for the branches of tasks. One list of the
    /// repository's open pull requests answers for all tasks, at the slow pace.
    fn search(&mut self, group: &Group, now: Timestamp) -> Result<(), String> {
        let name = group.address.to_string();
        let mut search = match self.searches.remove(&name) {
            Some(search) => search,
            None if group.unlinked.is_empty() => return Ok(()),
            None => Search::default(),
        };
        search.next.is_hinted |= group.is_hinted;
        if search.next.at() > now {
            self.searches.insert(name, search);
            return Ok(());
        }
        let found = self.driver.forge.search(&group.address, &mut search.list);
        let cold = Duration::from_secs(group.settings.cold);
        search.next = LookTime {
            without_hint: after(now, cold),
            with_hint: after(now, Duration::from_secs(group.settings.hot)),
            is_hinted: false,
        };
        let matches = match &found {
            Ok(()) => search.list.matches(&group.address, &group.unlinked),
            Err(_) => Vec::new(),
        };
        self.searches.insert(name, search);
        let mut result = found.map_err(|failure| failure.to_string());
        for task in matches {
            // A separate search for this branch decides whether the pull request belongs to the
            // task.
            if let Err(error) = self.driver.requests.look_from(&task, None) {
                result = Err(format!("task {task}: {error}"));
            }
        }
        result
    }

    /// Schedules the next look after the usual time, because nothing could be seen.
    fn put_off(&mut self, group: &Group, tasks: &[Task], now: Timestamp) {
        let unknown = Knowledge::Unknown;
        let next = group.settings.next_look(Heat::Hot, now, 1, unknown).at;
        for task in tasks {
            let watched = WatchedPullRequest {
                next: LookTime {
                    without_hint: next,
                    with_hint: next,
                    is_hinted: false,
                },
                seen: None,
                head: None,
            };
            self.watched.insert(task.id.clone(), watched);
        }
    }
}

/// How often orange asks while there are hints.
fn hinted(settings: PaceSettings) -> PaceSettings {
    PaceSettings {
        hot: settings.hot.min(HINTED),
        cold: settings.cold.min(HINTED),
        ..settings
    }
}

/// How often the settings let orange ask.
pub(super) fn pace_of(settings: &ForgeSettings) -> PaceSettings {
    PaceSettings {
        hot: settings.poll.as_secs().max(1),
        cold: settings.cold.as_secs().max(1),
        share: u64::from(settings.share),
    }
}

fn after(now: Timestamp, duration: Duration) -> Timestamp {
    let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.millis().saturating_add(millis))
}

/// Whether everything about a pull request was judged, so that only a change is news. One that is
/// merged while its task has not ended is never final: git may confirm the merge later.
fn is_judged(report: &LookReport) -> bool {
    let seen = report.pull_request.as_ref();
    report.problem.is_none()
        && !report.has_reacted
        && seen.is_some_and(|it| match it.state {
            PullRequestState::Merged => false,
            PullRequestState::Closed => true,
            PullRequestState::Open => {
                it.is_conflicting.is_some() && it.open_points.is_some() && are_settled(it)
            }
        })
}

/// Whether no check was reported yet. After a while this means that there are no checks, although
/// the forge reports no change.
fn awaits_checks(report: &LookReport) -> bool {
    let checks = report.pull_request.as_ref();
    let checks = checks.and_then(|it| it.checks.as_ref());
    checks.is_some_and(|it| it.outcome == ChecksOutcome::Pending && it.names.is_empty())
}

/// Whether the checks are known and have not failed. Failed checks have to be read again: if they
/// fail again after another run, a cheap look shows no change.
fn are_settled(seen: &PullRequestSnapshot) -> bool {
    let checks = seen.checks.as_ref();
    checks.is_some_and(|it| it.outcome != ChecksOutcome::Failing)
}
