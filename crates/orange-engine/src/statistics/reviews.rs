//! How often reviews sent tasks back to work.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::TaskRecord;
use crate::Workflow;
use crate::event::{Fact, StatusChange};
use crate::language::verbs::Verb;
use crate::language::workflow::{Kind, State, Target, Trigger};
use crate::role::Role;

/// How often reviews sent tasks back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reviews {
    /// How many tasks entered or left a review within the window.
    pub tasks: u64,
    /// How often a reviewing agent sent a task back.
    pub back_by_reviewer: u64,
    /// How often you sent a task back.
    pub back_by_user: u64,
    /// How often a pull request sent a task back: failing checks, conflicts or feedback.
    pub back_by_pull_request: u64,
    /// How many of the tasks were sent back how often.
    pub distribution: Vec<BackCount>,
}

/// The tasks that were sent back equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackCount {
    /// How often they were sent back within the window.
    pub times: u64,
    /// How many tasks that are.
    pub tasks: u64,
}

impl Reviews {
    /// How often tasks were sent back.
    pub fn back(&self) -> u64 {
        self.back_by_reviewer + self.back_by_user + self.back_by_pull_request
    }
}

/// What sent a task back.
enum Sender {
    Reviewer,
    User,
    PullRequest,
}

pub(super) fn count(tasks: &[TaskRecord]) -> Reviews {
    let mut reviews = Reviews::default();
    let mut distribution: BTreeMap<u64, u64> = BTreeMap::new();
    for record in tasks {
        let Some(workflow) = record.workflow.as_deref() else {
            continue;
        };
        let (mut is_reviewed, mut times) = (false, 0);
        for event in &record.events {
            let Fact::StatusChanged(change) = &event.fact else {
                continue;
            };
            let [from, to] = [&change.from, &change.to].map(|status| workflow.state(status));
            let is_review = |state: Option<&State>| state.is_some_and(is_review);
            is_reviewed |= is_review(from) || is_review(to);
            let Some(sender) = sender(workflow, change) else {
                continue;
            };
            is_reviewed = true;
            times += 1;
            match sender {
                Sender::Reviewer => reviews.back_by_reviewer += 1,
                Sender::User => reviews.back_by_user += 1,
                Sender::PullRequest => reviews.back_by_pull_request += 1,
            }
        }
        if is_reviewed {
            reviews.tasks += 1;
            *distribution.entry(times).or_default() += 1;
        }
    }
    let counts = distribution.into_iter();
    reviews.distribution = counts
        .map(|(times, tasks)| BackCount { times, tasks })
        .collect();
    reviews
}

/// Whether an agent or the user judges the work here.
fn is_review(state: &State) -> bool {
    state.expects.contains(&Role::Reviewer) || waits_for_verdict(state)
}

/// Whether the user judges finished work here: no agent is expected to work or to answer.
fn waits_for_verdict(state: &State) -> bool {
    state.kind == Kind::Human && state.expects.is_empty()
}

/// What sent a task back with this change; `None` if it did not go back.
fn sender(workflow: &Workflow, change: &StatusChange) -> Option<Sender> {
    let (from, to) = (workflow.state(&change.from)?, workflow.state(&change.to)?);
    match change.trigger {
        Trigger::PrFailing | Trigger::PrConflicting | Trigger::PrFeedback => {
            return (to.kind == Kind::Agent).then_some(Sender::PullRequest);
        }
        Trigger::Crash | Trigger::SpawnFailed | Trigger::Timeout => return None,
        _ => {}
    }
    if from.expects.contains(&Role::Reviewer) {
        let is_work = to.kind == Kind::Agent && !to.expects.contains(&Role::Reviewer);
        // After the last round, the user and the worker look for a way out together.
        let is_dead_end = to.kind == Kind::Human && !to.expects.is_empty();
        return (is_work || is_dead_end).then_some(Sender::Reviewer);
    }
    let leads_here = |verb: Verb| {
        let mut targets = workflow.verbs.get(&verb).into_iter().flatten();
        targets.any(|target| *target == Target::Status(change.to.clone()))
    };
    let is_back = leads_here(Verb::RequestChanges) || leads_here(Verb::Retry);
    let is_by_user = change.by == Role::Human && waits_for_verdict(from);
    (is_by_user && is_back).then_some(Sender::User)
}
