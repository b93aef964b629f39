//! What the policy of a repository may set.

use std::time::Duration;

use super::keys::{KEYS, Key, PLAIN};
use super::value::{Kind, Value};

/// What the policy of a repository may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyRule {
    /// It may not set the key, which concerns this machine or the user.
    Never,
    /// Its value counts where the user sets none.
    Default,
    /// Its value counts only if it is stricter; the words of the key are in this order.
    Stricter,
}

/// The scripts of a project, which `projects.json` and the policy of a repository may set.
pub const SCRIPT_KEYS: &[Key] = &[
    Key {
        name: "setup",
        kind: Kind::Arguments,
        project: |it| script(&it.setup),
        meaning: "A program and its arguments, run in a worktree after a task's branch is checked out.",
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "setup_timeout",
        kind: Kind::Duration,
        project: |it| it.setup_timeout.map(seconds),
        meaning: "How long `setup` may take.",
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "teardown",
        kind: Kind::Arguments,
        project: |it| script(&it.teardown),
        meaning: "A program and its arguments, run in a worktree before it is released.",
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "teardown_timeout",
        kind: Kind::Duration,
        project: |it| it.teardown_timeout.map(seconds),
        meaning: "How long `teardown` may take.",
        policy: PolicyRule::Default,
        ..PLAIN
    },
];

/// The keys that the policy of a repository may set.
pub fn policy_keys() -> impl Iterator<Item = &'static Key> {
    let all = KEYS.iter().chain(SCRIPT_KEYS);
    all.filter(|key| key.policy != PolicyRule::Never)
}

fn script(command: &[String]) -> Option<Value> {
    (!command.is_empty()).then(|| Value::Arguments(command.to_vec()))
}

fn seconds(count: u64) -> Value {
    Value::Duration(Duration::from_secs(count))
}
