//! The defaults of version 1.
//!
//! This is the only place that knows the usual names of states; `docs/workflow-language.md` has the
//! same table for users.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::hooks::{Action, HarnessChoice};
use super::problem::Position;
use super::prompt::Prompt;
use super::verbs::{Verb, Verbs};
use super::workflow::{Edge, Entry, Kind, Permissions, Respawn, Target};
use crate::names::{FieldName, Status};
use crate::role::Role;

/// How many seconds a gate's command may take by default.
pub(crate) const COMMAND_TIMEOUT: u64 = 600;

/// A respawned agent asks before it does more than edit.
pub const RESPAWN_PERMISSIONS: Permissions = Permissions::Reduced;

/// Counts the agent reviews since the last human decision.
pub(crate) const REVIEW_ROUND: &str = "review_round";

/// The field in which a workflow counts its attempts.
pub(crate) const ATTEMPTS: &str = "attempts";

/// Counts the crashes in the current status; only the engine changes it.
pub const CRASH_COUNT: &str = "crash_count";

/// Counts how often the latest error occurred in a row; only the engine changes it.
pub const SAME_ERRORS: &str = "same_errors";

/// The length of the summary, without surrounding white space.
pub const SUMMARY_CHARS: &str = "summary_chars";

/// How many child tasks have not ended.
pub const CHILDREN_OPEN: &str = "children_open";

/// Fields that are computed from the task; a workflow can read but not set them.
pub const DERIVED_FIELDS: [&str; 4] = [SUMMARY_CHARS, CHILDREN_OPEN, CRASH_COUNT, SAME_ERRORS];

/// Prompt variables that are texts; every field and limit is a variable too.
pub(crate) const TEXT_VARIABLES: [&str; 14] = [
    "id",
    "summary",
    "project",
    "branch",
    "status",
    "previous",
    "harness",
    "message",
    "report",
    "last_error",
    "parent",
    "children",
    "feedback_file",
    "context_file",
];

pub(crate) fn is_derived(field: &str) -> bool {
    DERIVED_FIELDS.contains(&field)
}

/// Whether a prompt may use this name without a field or limit of that name.
pub fn is_text_variable(name: &str) -> bool {
    TEXT_VARIABLES.contains(&name)
}

/// The fields of every workflow, with their initial values.
pub(crate) fn fields() -> BTreeMap<FieldName, i64> {
    let names = [
        REVIEW_ROUND,
        ATTEMPTS,
        "clarifications",
        "delegations",
        "spawn_failures",
    ];
    names
        .into_iter()
        .map(|name| (FieldName::new(name), 0))
        .collect()
}

/// Where too many crashes lead by default: `stuck`, if that state exists.
pub(crate) fn crash_target(exists: impl Fn(&str) -> bool) -> Option<Status> {
    exists("stuck").then(|| Status::new("stuck"))
}

/// A review harness runs a reviewer; the task's harness runs a worker.
pub(crate) fn role_of(harness: HarnessChoice) -> Role {
    match harness {
        HarnessChoice::Task => Role::Worker,
        HarnessChoice::Review => Role::Reviewer,
    }
}

/// The harness of a role that no hook starts.
pub fn harness_of(role: &Role) -> HarnessChoice {
    match role {
        Role::Reviewer => HarnessChoice::Review,
        _ => HarnessChoice::Task,
    }
}

/// A reviewer needs fewer permissions than a worker.
pub fn permissions(harness: HarnessChoice) -> Permissions {
    match harness {
        HarnessChoice::Task => Permissions::Full,
        HarnessChoice::Review => Permissions::Reduced,
    }
}

/// A reviewer's window name includes the round; any other window is named after its role.
pub fn window(role: &Role) -> Prompt {
    let text = match role {
        Role::Reviewer => "review-{review_round}",
        other => other.as_str(),
    };
    Prompt::parse(text).unwrap_or_else(|_| Prompt::empty())
}

pub(crate) fn plain_entry(status: Status, at: Position) -> Entry {
    Entry {
        status,
        when: None,
        set: Vec::new(),
        hooks: Vec::new(),
        at,
    }
}

/// By default, the first state is the entry.
pub(super) fn entries(states: &[Draft]) -> Vec<Entry> {
    let first = states.first();
    first
        .map(|state| plain_entry(state.name.clone(), Position { line: 1, column: 1 }))
        .into_iter()
        .collect()
}

/// By default, each verb leads to the states with the usual names that exist.
pub(super) fn verbs(mut written: Verbs, states: &[Draft], entries: &[Entry]) -> Verbs {
    let usual: [(Verb, &[&str]); 6] = [
        (Verb::Spawn, &["planning", "working", "clarification"]),
        (Verb::Merge, &["done"]),
        (Verb::Cancel, &["cancelled"]),
        (Verb::Complete, &["agent-review", "reviewing"]),
        (Verb::Stuck, &["stuck"]),
        (Verb::RequestChanges, &["working"]),
    ];
    for (verb, names) in usual {
        let targets = || {
            names
                .iter()
                .filter(|name| states.iter().any(|state| state.name.as_str() == **name))
                .map(|name| Target::Status(Status::new(name)))
                .collect()
        };
        written.entry(verb).or_insert_with(targets);
    }
    for verb in [Verb::Retry, Verb::Unblock] {
        let first = entries.first().map(|entry| entry.status.clone());
        written
            .entry(verb)
            .or_insert_with(|| first.into_iter().map(Target::Status).collect());
    }
    written
}

/// Fills in what states leave out: roles, kind, and the role that `respawn_prompt` is for.
pub(super) fn fill_states(states: &mut [Draft], edges: &[Edge], entries: &[Entry]) {
    for (index, state) in states.iter_mut().enumerate() {
        let into = edges
            .iter()
            .filter(|edge| matches!(&edge.to, Target::Status(to) if *to == state.name))
            .flat_map(|edge| &edge.hooks)
            .chain(
                entries
                    .iter()
                    .filter(|entry| entry.status == state.name)
                    .flat_map(|entry| &entry.hooks),
            )
            .chain(&state.on_enter);
        let mut spawned: Vec<Role> = Vec::new();
        for role in into.filter_map(|hook| spawned_role(&hook.action)) {
            if !spawned.contains(&role) {
                spawned.push(role);
            }
        }
        state.kind = Some(state.kind.unwrap_or(match (index, spawned.is_empty()) {
            (_, false) => Kind::Agent,
            (0, true) => Kind::Queued,
            (_, true) => Kind::Human,
        }));
        if state.kind == Some(Kind::Terminal) {
            spawned.clear();
        }
        let expects = state.expects.get_or_insert(spawned);
        if let Some(prompt) = state.respawn_prompt.take() {
            // Without an expected role, the prompt can only be for the worker.
            let role = expects.first().cloned().unwrap_or(Role::Worker);
            state.respawn.entry(role).or_insert(Respawn {
                prompt,
                permissions: RESPAWN_PERMISSIONS,
            });
        }
    }
}

fn spawned_role(action: &Action) -> Option<Role> {
    match action {
        Action::SpawnAgent(spawn) => Some(spawn.role.clone()),
        _ => None,
    }
}
