//! The possible next steps, the most usual first.

use orange_check::explore::{
    Occurrence, Rehearsal, Relevance, Situation, Step, creation_steps, possible_steps,
};
use orange_check::graph::Graph;
use orange_engine::Workflow;
use orange_engine::language::workflow::Kind;
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// Who or what takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The human.
    Human,
    /// An agent.
    Agents,
    /// The engine, the forge or the machine.
    World,
}

/// A possible next step.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "MenuChoice")]
pub struct Choice {
    /// The line to type.
    pub line: String,
    /// Who or what takes the step.
    pub group: Group,
    /// The status it leads to.
    pub to: Status,
    /// Whether it changes the status.
    pub moves: bool,
    /// The step.
    #[serde(skip)]
    pub step: Step,
}

/// Every step that may be tried here, even if it would be refused.
pub fn steps_to_try(
    workflow: &Workflow,
    relevance: &Relevance,
    rehearsal: &Rehearsal<'_>,
) -> Vec<Step> {
    match rehearsal.task() {
        None => creation_steps(workflow, relevance),
        Some(task) => possible_steps(workflow, relevance, &Situation::of(task, relevance)),
    }
}

/// Every step that would be accepted; the first is the one that usually happens here.
pub fn choices(
    workflow: &Workflow,
    relevance: &Relevance,
    rehearsal: &Rehearsal<'_>,
) -> Vec<Choice> {
    let now = rehearsal.task().map(|task| task.status.clone());
    let mut accepted: Vec<Choice> = Vec::new();
    for step in steps_to_try(workflow, relevance, rehearsal) {
        let line = step.to_string();
        if accepted.iter().any(|choice| choice.line == line) {
            continue;
        }
        if let Ok(outcome) = rehearsal.clone().take(&step) {
            accepted.push(Choice {
                line,
                group: group(&step.occurrence),
                moves: now.as_ref() != Some(&outcome.task.status),
                to: outcome.task.status,
                step,
            });
        }
    }
    let shortest_path = Graph::of(workflow).shortest_path;
    let next = shortest_path
        .iter()
        .skip_while(|status| Some(*status) != now.as_ref());
    let next = next.into_iter().nth(1).filter(|_| now.is_some());
    let state = now.as_ref().and_then(|now| workflow.state(now));
    let mut order = order(state.map(|state| state.kind));
    // A group that can take the usual step comes before those that cannot.
    let is_usual_step = |it: &Choice| it.moves && next == Some(&it.to) && !is_unusual(it);
    order.sort_by_key(|group| {
        !accepted
            .iter()
            .any(|it| it.group == *group && is_usual_step(it))
    });
    let is_expected = |role: &Role| state.is_some_and(|state| state.expects.contains(role));
    accepted.sort_by_key(|choice| {
        let group = order.iter().position(|group| *group == choice.group);
        let rank = match choice.moves {
            _ if respawned_role(&choice.step.occurrence).is_some_and(is_expected) => 0,
            true if now.is_none() || next == Some(&choice.to) => 1,
            true if !workflow.is_terminal(&choice.to) => 2,
            false => 3,
            true => 4,
        };
        (group, is_unusual(choice), rank)
    });
    accepted
}

fn is_unusual(choice: &Choice) -> bool {
    matches!(
        choice.step.occurrence,
        Occurrence::Die { .. } | Occurrence::Create { summary: 0, .. }
    )
}

fn respawned_role(occurrence: &Occurrence) -> Option<&Role> {
    match occurrence {
        Occurrence::Respawn { role } => Some(role),
        _ => None,
    }
}

/// The groups in the order in which they usually act, by the kind of the status.
fn order(kind: Option<Kind>) -> [Group; 3] {
    match kind {
        Some(Kind::Agent) => [Group::Agents, Group::Human, Group::World],
        Some(Kind::Waiting) => [Group::World, Group::Human, Group::Agents],
        Some(Kind::Queued | Kind::Human | Kind::Terminal) | None => {
            [Group::Human, Group::Agents, Group::World]
        }
    }
}

fn group(occurrence: &Occurrence) -> Group {
    match occurrence {
        Occurrence::Request { by, .. } | Occurrence::Write { by } | Occurrence::Merge { by } => {
            match by {
                Role::Human => Group::Human,
                Role::Engine => Group::World,
                _ => Group::Agents,
            }
        }
        Occurrence::Create { .. }
        | Occurrence::Respawn { .. }
        | Occurrence::OpenPullRequest
        | Occurrence::Summarize { .. } => Group::Human,
        Occurrence::Die { evidence, .. } if evidence.is_agent_failure() => Group::Agents,
        Occurrence::Report { .. } => Group::Agents,
        Occurrence::Die { .. }
        | Occurrence::TimeOut
        | Occurrence::PullRequest(_)
        | Occurrence::MergedOutside
        | Occurrence::AddChild
        | Occurrence::EndChild => Group::World,
    }
}
