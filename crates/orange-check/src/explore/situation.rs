//! A situation: the parts of a settled task that determine its future.

use std::collections::BTreeMap;

use orange_engine::FORMAT;
use orange_engine::forge::pull_request::PullRequestLink;
use orange_engine::forge::reaction::ReactionRecord;
use orange_engine::language::Workflow;
use orange_engine::names::{
    BranchName, FieldName, HarnessName, ProjectName, RunId, Status, TaskId, WorkspaceName,
};
use orange_engine::role::Role;
use orange_engine::routing::Routing;
use orange_engine::task::{
    AgentSettings, LastError, Queueing, Run, RunState, StatusEntry, Task, Workspace,
};
use orange_engine::time::Timestamp;

use super::relevance::Relevance;

/// Tasks in the same situation have the same future.
///
/// The contents of documents are not part of it: anyone can write anything at any time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Situation {
    pub status: Status,
    /// Where it was entered from, if that matters.
    pub previous: Option<Status>,
    pub has_workspace: bool,
    /// Whether it has a pull request, if that matters.
    pub has_pull_request: bool,
    /// The live agents, and whether each is headless.
    pub alive: Vec<(Role, bool)>,
    /// Fields that guards read, as far as they matter here.
    counters: Vec<i64>,
    crashes: i64,
    /// The latest error and how often it occurred in a row, if that matters.
    errors: Option<LastError>,
    children: i64,
    summary: usize,
}

impl Situation {
    pub fn of(task: &Task, relevance: &Relevance) -> Situation {
        let status = task.status.clone();
        let alive = task
            .runs
            .iter()
            .filter(|(_, run)| run.state.is_live())
            .map(|(role, run)| (role.clone(), run.headless))
            .collect();
        let open = task.children.values().filter(|end| end.is_none()).count();
        let max_errors = relevance.max_errors(&status);
        let crashes = if task.crash_count_is_stale {
            0
        } else {
            task.crash_count.min(relevance.max_crashes(&status))
        };
        let length = task.summary.chars().count();
        Situation {
            previous: task
                .entered
                .from
                .clone()
                .filter(|_| relevance.returns(&status)),
            has_workspace: task.workspace != Workspace::None,
            has_pull_request: relevance.reads_pull_request(&status) && task.pull_request.is_some(),
            alive,
            counters: relevance.values(&status, |field| task.value(field)),
            crashes,
            errors: task
                .last_error
                .as_ref()
                .filter(|_| max_errors > 0)
                .map(|last| LastError {
                    times: last.times.min(max_errors),
                    ..last.clone()
                }),
            children: i64::try_from(open)
                .unwrap_or(i64::MAX)
                .min(relevance.max_children(&status)),
            summary: if relevance.reads_summary(&status) {
                length
            } else {
                1
            },
            status,
        }
    }

    /// A task in this situation.
    pub fn task(&self, workflow: &Workflow, relevance: &Relevance) -> Task {
        let mut fields = workflow.fields.clone();
        for (field, value) in relevance.counters().zip(&self.counters) {
            fields.insert(field.clone(), *value);
        }
        let runs = self.alive.iter().map(|(role, headless)| {
            let run = Run {
                id: RunId::new(role.as_str()),
                headless: *headless,
                plans: false,
                state: RunState::Alive,
            };
            (role.clone(), run)
        });
        let children = (0..self.children).map(|number| (child(number), None));
        Task {
            id: TaskId::new("task"),
            project: ProjectName::new("project"),
            workflow: workflow.name.clone(),
            version: 1,
            format: FORMAT,
            status: self.status.clone(),
            entered: StatusEntry {
                from: self.previous.clone(),
                trigger: None,
                by: Role::Engine,
                at: Timestamp::from_millis(0),
                version: 1,
            },
            summary: "x".repeat(self.summary),
            branch: BranchName::new("branch"),
            harness: HarnessName::new("harness"),
            review_harness: HarnessName::new("harness"),
            agent_settings: AgentSettings::default(),
            routing: Routing::default(),
            queueing: Queueing::default(),
            fields,
            crash_count: self.crashes,
            crash_count_is_stale: false,
            last_error: self.errors.clone(),
            postponements: 0,
            workspace: if self.has_workspace {
                Workspace::Bound(WorkspaceName::new("workspace"))
            } else {
                Workspace::None
            },
            runs: runs.collect(),
            sections: BTreeMap::new(),
            submission: None,
            issue: None,
            job: None,
            pull_request: self.has_pull_request.then(pull_request),
            reactions: ReactionRecord::default(),
            report: None,
            children: children.collect(),
            child_merges: BTreeMap::new(),
            pending: Vec::new(),
            unfinished_plan: None,
            attention: Vec::new(),
            messages: Vec::new(),
            is_deleted: false,
        }
    }

    /// The counters that are not zero, by name.
    pub fn counts<'a>(
        &'a self,
        relevance: &'a Relevance,
    ) -> impl Iterator<Item = (&'a FieldName, i64)> {
        let values = relevance.counters().zip(self.counters.iter().copied());
        values.filter(|(_, value)| *value != 0)
    }

    /// Whether an agent of this role is alive.
    pub fn has(&self, role: &Role) -> bool {
        self.alive.iter().any(|(alive, _)| alive == role)
    }

    /// How many child tasks are open, as far as that matters.
    pub(super) fn children(&self) -> i64 {
        self.children
    }

    /// The length of the summary, as far as that matters.
    pub(super) fn summary(&self) -> usize {
        self.summary
    }
}

/// The pull request of every explored task that has one.
pub(super) fn pull_request() -> PullRequestLink {
    PullRequestLink {
        number: 1,
        id: String::from("pull request"),
        url: String::from("https://forge/1"),
        is_outside: false,
    }
}

/// The id of an explored task's child.
pub(super) fn child(number: i64) -> TaskId {
    TaskId::new(format!("child-{number}"))
}
