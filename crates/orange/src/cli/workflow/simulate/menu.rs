//! What can happen next, the most usual first.

use orange_engine::Workflow;
use orange_engine::explore::{
    Happening, Rehearsal, Relevance, Situation, Step, beginnings, possible,
};
use orange_engine::graph::Graph;
use orange_engine::names::Status;
use orange_engine::role::Role;
use serde::Serialize;

/// Who or what makes something happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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

/// Every step that may be tried here, whether or not something comes of it.
pub fn tries(workflow: &Workflow, relevance: &Relevance, rehearsal: &Rehearsal<'_>) -> Vec<Step> {
    match rehearsal.task() {
        None => beginnings(workflow, relevance),
        Some(task) => possible(workflow, relevance, &Situation::of(task, relevance)),
    }
}

/// Every step that something comes of.
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
    found.sort_by_key(|choice| {
        let is_unusual = matches!(
            choice.step.happening,
            Happening::Die { .. } | Happening::Begin { summary: 0, .. }
        );
        let rank = match choice.moves {
            true if now.is_none() || next == Some(&choice.to) => 0,
            true if !workflow.is_terminal(&choice.to) => 1,
            false => 2,
            true => 3,
        };
        (choice.group, is_unusual, rank)
    });
    found
}

fn group(happening: &Happening) -> Group {
    match happening {
        Happening::Ask { by, .. } | Happening::Merge { by } => match by {
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
