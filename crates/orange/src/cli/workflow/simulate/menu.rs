//! The possible next steps, the most usual first.

use orange_check::explore::{
    Happening, Rehearsal, Relevance, Situation, Step, beginnings, possible,
};
use orange_check::graph::Graph;
use orange_engine::Workflow;
use orange_engine::language::workflow::Kind;
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// Who or what makes something happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The person at the keyboard.
    Person,
    /// Agents.
    Agents,
    /// The engine itself, the forge, the machine.
    World,
}

/// Something that can happen next.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Choice {
    /// Its line.
    pub line: String,
    /// Who or what makes it happen.
    pub group: Group,
    /// The status it leads to.
    pub to: Status,
    /// Whether that is another one than now.
    pub moves: bool,
    /// The step.
    #[serde(skip)]
    pub step: Step,
}

/// Every step that may be tried here, even if it would be refused.
pub fn tries(workflow: &Workflow, relevance: &Relevance, rehearsal: &Rehearsal<'_>) -> Vec<Step> {
    match rehearsal.task() {
        None => beginnings(workflow, relevance),
        Some(task) => possible(workflow, relevance, &Situation::of(task, relevance)),
    }
}

/// Every step that would be accepted; the first is the one that usually happens here.
pub fn choices(
    workflow: &Workflow,
    relevance: &Relevance,
    rehearsal: &Rehearsal<'_>,
) -> Vec<Choice> {
    let now = rehearsal.task().map(|task| task.status.clone());
    let mut found: Vec<Choice> = Vec::new();
    for step in tries(workflow, relevance, rehearsal) {
        let line = step.to_string();
        if found.iter().any(|choice| choice.line == line) {
            continue;
        }
        if let Ok(played) = rehearsal.clone().take(&step) {
            found.push(Choice {
                line,
                group: group(&step.happening),
                moves: now.as_ref() != Some(&played.task.status),
                to: played.task.status,
                step,
            });
        }
    }
    let way = Graph::of(workflow).shortest_way;
    let next = way
        .iter()
        .skip_while(|status| Some(*status) != now.as_ref());
    let next = next.into_iter().nth(1).filter(|_| now.is_some());
    let state = now.as_ref().and_then(|now| workflow.state(now));
    let order = order(state.map(|state| state.kind));
    let is_expected = |role: &Role| state.is_some_and(|state| state.expects.contains(role));
    found.sort_by_key(|choice| {
        let group = order.iter().position(|group| *group == choice.group);
        let is_unusual = matches!(
            choice.step.happening,
            Happening::Die { .. } | Happening::Begin { summary: 0, .. }
        );
        let rank = match choice.moves {
            _ if brings_back(&choice.step.happening).is_some_and(is_expected) => 0,
            true if now.is_none() || next == Some(&choice.to) => 1,
            true if !workflow.is_terminal(&choice.to) => 2,
            false => 3,
            true => 4,
        };
        (group, is_unusual, rank)
    });
    found
}

fn brings_back(happening: &Happening) -> Option<&Role> {
    match happening {
        Happening::Respawn { role } => Some(role),
        _ => None,
    }
}

/// The groups in the order in which they usually act, by the kind of the status.
fn order(kind: Option<Kind>) -> [Group; 3] {
    match kind {
        Some(Kind::Agent) => [Group::Agents, Group::Person, Group::World],
        Some(Kind::Waiting) => [Group::World, Group::Person, Group::Agents],
        Some(Kind::Queued | Kind::Human | Kind::Terminal) | None => {
            [Group::Person, Group::Agents, Group::World]
        }
    }
}

fn group(happening: &Happening) -> Group {
    match happening {
        Happening::Ask { by, .. } | Happening::Write { by } | Happening::Merge { by } => match by {
            Role::Human => Group::Person,
            Role::Engine => Group::World,
            _ => Group::Agents,
        },
        Happening::Begin { .. } | Happening::Respawn { .. } | Happening::Summarize { .. } => {
            Group::Person
        }
        Happening::Die { evidence, .. } if evidence.is_the_agents_own() => Group::Agents,
        Happening::Report { .. } => Group::Agents,
        Happening::Die { .. }
        | Happening::TimeOut
        | Happening::PullRequest { .. }
        | Happening::MergedOutside
        | Happening::AddChild
        | Happening::EndChild => Group::World,
    }
}
