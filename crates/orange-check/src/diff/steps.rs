//! The field changes and hooks of a table row, without default values.

use orange_engine::language::Workflow;
use orange_engine::language::defaults;
use orange_engine::language::hooks::{Action, Channel, HarnessChoice, Hook, OnError, SpawnHook};
use orange_engine::language::prompt::Prompt;
use orange_engine::language::workflow::{self, NewValue, Permissions, Respawn};
use orange_engine::role::Role;
use orange_engine::wording::{command_line, duration, excerpt, with_article};

use super::change::ChangeKind;
use super::table::Fact;

type Parts = Vec<(&'static str, String)>;

/// Everything that happens, in order.
pub(super) fn steps(workflow: &Workflow, set: &[workflow::Change], hooks: &[Hook]) -> Vec<Fact> {
    // `set` names each field once, so its order has no meaning.
    let mut facts: Vec<Fact> = set.iter().map(field).collect();
    facts.sort_by(|one, two| one.subject.cmp(&two.subject));
    facts.extend(hooks.iter().map(|hook| step(workflow, hook)));
    facts
}

fn field(change: &workflow::Change) -> Fact {
    let field = &change.field;
    let text = match change.to {
        NewValue::Exactly(value) => format!("`{field}` to {value}"),
        NewValue::Increment => format!("`{field}` to `{field}` + 1"),
    };
    Fact::new(ChangeKind::Field, format!("`{field}`"), text)
}

fn step(workflow: &Workflow, hook: &Hook) -> Fact {
    if let Action::SetField(change) = &hook.action {
        return field(change);
    }
    let (about, mut parts) = action(workflow, &hook.action);
    if let Some(timeout) = hook.timeout {
        parts.push(("timeout", duration(timeout)));
    }
    if hook.on_error != hook.action.default_on_error() {
        let on_error = match hook.on_error {
            OnError::Stop => "stop",
            OnError::Continue => "continue",
        };
        parts.push(("on_error", on_error.to_owned()));
    }
    Fact {
        change: ChangeKind::Hook,
        subject: format!("`{}`{about}", hook.action.label()),
        parts,
    }
}

/// What an action is about, and its parameters.
fn action(workflow: &Workflow, action: &Action) -> (String, Parts) {
    let mut about = String::new();
    let mut parts = Parts::new();
    match action {
        Action::AcquireWorkspace { restore: true } => parts.push(("restore", "true".to_owned())),
        Action::SpawnAgent(spawn) => {
            about = of_role(action, &spawn.role);
            parts = spawn_parts(workflow, spawn, defaults::permissions(spawn.harness));
        }
        Action::KillRole { role } => about = of_role(action, role),
        Action::NotifyWorker { message } => {
            parts.push(("message", resolved_text(workflow, message)));
        }
        Action::Notify { message, via } => {
            parts.push(("message", resolved_text(workflow, message)));
            let named = Channel::ALL.iter().filter(|(_, it)| via.contains(it));
            let names: Vec<&str> = named.map(|(name, _)| *name).collect();
            if names != ["desktop"] {
                parts.push(("via", names.join(" and ")));
            }
        }
        Action::ArchiveSection { section } => about = format!(" `{section}`"),
        Action::RunCommand { command } => about = format!(" `{}`", command_line(command)),
        _ => {}
    }
    (about, parts)
}

/// The role, where the name of the action does not include it.
fn of_role(action: &Action, role: &Role) -> String {
    if action.label().ends_with(role.as_str()) {
        return String::new();
    }
    format!(" of {}", with_article(role))
}

fn spawn_parts(workflow: &Workflow, spawn: &SpawnHook, usual: Permissions) -> Parts {
    let mut parts = vec![("prompt", format!("`{}`", spawn.prompt))];
    if spawn.harness != defaults::harness_of(&spawn.role) {
        let harness = match spawn.harness {
            HarnessChoice::Task => "task",
            HarnessChoice::Review => "review",
        };
        parts.push(("harness", harness.to_owned()));
    }
    if spawn.permissions != usual {
        let permissions = match spawn.permissions {
            Permissions::Full => "full",
            Permissions::Reduced => "reduced",
        };
        parts.push(("permissions", permissions.to_owned()));
    }
    if spawn.window != defaults::window(&spawn.role) {
        parts.push(("window", resolved_text(workflow, &spawn.window)));
    }
    if let Some(field) = &spawn.increment {
        parts.push(("increment", field.to_string()));
    }
    if spawn.without_worktree {
        parts.push(("worktree", "false".to_owned()));
    }
    if let Some(plan) = &spawn.plan {
        parts.push(("plan", format!("`{plan}`")));
    }
    parts
}

/// How a role is respawned: like its first start, except for its prompt and its permissions.
pub(super) fn respawn(workflow: &Workflow, role: &Role, how: &Respawn) -> Fact {
    let first = workflow.first_start(role);
    let spawn = SpawnHook {
        prompt: how.prompt.clone(),
        role: role.clone(),
        harness: first.map_or(defaults::harness_of(role), |first| first.harness),
        permissions: how.permissions,
        window: first.map_or_else(|| defaults::window(role), |first| first.window.clone()),
        increment: None,
        headless: first.is_some_and(|first| first.headless),
        without_worktree: first.is_some_and(|first| first.without_worktree),
        plan: None,
    };
    let mut parts = spawn_parts(workflow, &spawn, defaults::RESPAWN_PERMISSIONS);
    if spawn.headless {
        parts.push(("headless", "true".to_owned()));
    }
    Fact {
        change: ChangeKind::Respawn,
        subject: with_article(role),
        parts,
    }
}

/// A text with its limits filled in; a trailing line break has no meaning.
pub(super) fn resolved_text(workflow: &Workflow, text: &Prompt) -> String {
    let limit = |name: &str| workflow.limits.get(name).map(ToString::to_string);
    text.expand(limit).trim_end().to_owned()
}

/// A parameter's value in a sentence: the author's texts are quoted and shortened.
pub(super) fn value_text(parameter: &str, value: &str) -> String {
    match parameter {
        "message" | "window" => excerpt(value),
        _ => value.to_owned(),
    }
}
