//! What can be noticed only while events are folded.

use orange_engine::effect::Effect;
use orange_engine::event::{Event, Fact, StatusChange};
use orange_engine::language::Workflow;
use orange_engine::language::gates::GateKind;
use orange_engine::language::workflow::{Edge, Target, Trigger};
use orange_engine::names::FieldName;
use orange_engine::role::Role;
use orange_engine::task::{Task, Workspace};

/// Something worth knowing about a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Notice {
    /// This edge of the workflow was taken.
    EdgeTaken {
        /// The edge's index.
        edge: usize,
    },
    /// The edge just taken has a command gate, but there is no workspace to run the command in.
    GateWithoutWorkspace,
    /// An effect was planned that needs a workspace, but none is held.
    NoWorkspace {
        /// The effect's name.
        label: &'static str,
    },
    /// An agent is started while another one of its role is alive.
    AgentDuplicated { role: Role },
    /// A message goes to an agent that is not running and cannot be started.
    RecipientMissing { role: Role },
    /// The workspace is released while an agent is alive in it.
    AgentEvicted { role: Role },
    /// A field was incremented.
    FieldIncremented { field: FieldName, value: i64 },
}

/// Checks an event against the task as it was just before.
pub(super) fn notice(workflow: &Workflow, task: &Task, event: &Event, found: &mut Vec<Notice>) {
    match &event.fact {
        Fact::StatusChanged(changed) => note_edge(workflow, task, changed, found),
        Fact::EffectPlanned(planned) => note_effect(task, &planned.effect, found),
        Fact::FieldSet { field, value } if *value == task.value(field).saturating_add(1) => {
            found.push(Notice::FieldIncremented {
                field: field.clone(),
                value: *value,
            });
        }
        _ => {}
    }
}

fn note_edge(workflow: &Workflow, task: &Task, changed: &StatusChange, found: &mut Vec<Notice>) {
    let Some(index) = edge_taken(workflow, task, changed) else {
        return;
    };
    found.push(Notice::EdgeTaken { edge: index });
    let has_command_gate = workflow.edges.get(index).is_some_and(|edge| {
        let mut gates = edge.gates.iter();
        gates.any(|gate| matches!(gate.kind, GateKind::Command(_)))
    });
    if has_command_gate && !task.workspace.is_held() {
        found.push(Notice::GateWithoutWorkspace);
    }
}

/// The edge by which a status changed. It is unique: load rule 7 forbids two edges with the same
/// source, target and trigger that are open to the same role and whose guards can both hold.
fn edge_taken(workflow: &Workflow, task: &Task, changed: &StatusChange) -> Option<usize> {
    let leads = |edge: &Edge| {
        edge.from == changed.from
            && match &edge.to {
                Target::Status(status) => *status == changed.to,
                Target::Previous => task.entered.from.as_ref() == Some(&changed.to),
            }
    };
    let with_trigger = |trigger: Trigger| {
        let edges = workflow.edges.iter().enumerate();
        edges.filter(move |(_, edge)| edge.trigger == trigger && leads(edge))
    };
    let trigger = match with_trigger(changed.trigger).next() {
        Some(_) => changed.trigger,
        None => Trigger::Request,
    };
    let holds = |edge: &Edge| {
        let when = edge.when.as_ref();
        when.is_none_or(|when| when.holds(|field| task.value(field)))
    };
    let mut all = with_trigger(trigger);
    let open = with_trigger(trigger).find(|(_, edge)| edge.is_open_to(&changed.by) && holds(edge));
    open.or_else(|| with_trigger(trigger).find(|(_, edge)| holds(edge)))
        .or_else(|| all.next())
        .map(|(index, _)| index)
}

fn note_effect(task: &Task, effect: &Effect, found: &mut Vec<Notice>) {
    let needs_workspace = match effect {
        Effect::Spawn(spawn) => !spawn.without_worktree,
        Effect::RunCommand { .. } => true,
        Effect::NotifyRole(notify) => {
            let start = notify.spawn_if_absent.as_ref();
            !task.is_live(&notify.role) && start.is_some_and(|start| !start.without_worktree)
        }
        _ => false,
    };
    if needs_workspace && !task.workspace.is_held() {
        let label = effect.label();
        found.push(Notice::NoWorkspace { label });
    }
    match effect {
        Effect::Spawn(spawn) if task.is_live(&spawn.role) => found.push(Notice::AgentDuplicated {
            role: spawn.role.clone(),
        }),
        Effect::ReleaseWorkspace { .. } if task.workspace != Workspace::None => {
            let mut runs = task.runs.iter();
            let alive = runs.find(|(_, run)| run.state.is_live());
            found.extend(alive.map(|(role, _)| Notice::AgentEvicted { role: role.clone() }));
        }
        Effect::NotifyRole(notify)
            if !task.is_live(&notify.role) && notify.spawn_if_absent.is_none() =>
        {
            found.push(Notice::RecipientMissing {
                role: notify.role.clone(),
            });
        }
        _ => {}
    }
}
