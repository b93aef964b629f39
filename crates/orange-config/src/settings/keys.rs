//! Every key of `config.toml`, and its default.

use std::time::Duration;

use super::value::{Kind, Value};
use crate::{ORANGE_LOG, Project, WhenFull};

/// A key that the user may set, or a family of keys when its name ends in `.*`.
#[derive(Debug)]
pub struct Key {
    /// Its tables and its name, joined by dots.
    pub name: &'static str,
    pub kind: Kind,
    /// Its purpose, in a sentence.
    pub meaning: &'static str,
    /// The default.
    pub(crate) built_in: fn() -> Option<Value>,
    /// The value that a project in `projects.json` sets.
    pub(crate) project: fn(&Project) -> Option<Value>,
    /// The environment variable that overrides everything.
    pub variable: Option<&'static str>,
}

/// No value is set.
fn unset() -> Option<Value> {
    None
}

fn no_place(_: &Project) -> Option<Value> {
    None
}

const PLAIN: Key = Key {
    name: "",
    kind: Kind::Count,
    meaning: "",
    built_in: unset,
    project: no_place,
    variable: None,
};

/// The table; `docs/configuration.md` shows it to users, and a test compares the two.
pub const KEYS: &[Key] = &[
    Key {
        name: "harness",
        kind: Kind::Name,
        meaning: "The coding agent of new tasks.",
        project: |it| Some(Value::text(it.harness.as_ref()?.as_str())),
        ..PLAIN
    },
    Key {
        name: "review_harness",
        kind: Kind::Name,
        meaning: "The coding agent that reviews them; the same as `harness` when not set.",
        project: |it| Some(Value::text(it.review_harness.as_ref()?.as_str())),
        ..PLAIN
    },
    Key {
        name: "workflow",
        kind: Kind::Name,
        meaning: "The workflow of new tasks.",
        built_in: || Some(Value::text("default")),
        project: |it| it.workflow.as_deref().map(Value::text),
        ..PLAIN
    },
    Key {
        name: "limits.agents",
        meaning: "How many agents may run at once, over all projects; no limit when not set.",
        ..PLAIN
    },
    Key {
        name: "limits.per_project",
        meaning: "How many agents may run at once in one project; no limit when not set.",
        ..PLAIN
    },
    Key {
        name: "limits.harness.*",
        meaning: "How many agents of the harness of that name may run at once.",
        ..PLAIN
    },
    Key {
        name: "limits.status.*",
        meaning: "No work is started while so many tasks are in the status of that name.",
        ..PLAIN
    },
    Key {
        name: "pool.size",
        meaning: "How many tasks of a project can have a worktree at once.",
        built_in: || Some(Value::Count(8)),
        project: |it| it.pool_size.map(Value::Count),
        ..PLAIN
    },
    Key {
        name: "pool.when_full",
        kind: Kind::OneOf(&["queue", "refuse"]),
        meaning: "What becomes of a start when nothing is free: it waits, or it is refused.",
        built_in: || Some(Value::text("queue")),
        project: |it| {
            Some(Value::text(match it.when_full? {
                WhenFull::Queue => "queue",
                WhenFull::Refuse => "refuse",
            }))
        },
        ..PLAIN
    },
    Key {
        name: "supervisor.tick",
        kind: Kind::Duration,
        meaning: "How often `orange serve` looks at tmux; what ends is seen without it.",
        built_in: || Some(Value::Duration(Duration::from_secs(2))),
        ..PLAIN
    },
    Key {
        name: "supervisor.sweep",
        kind: Kind::Duration,
        meaning: "How often it looks at everything, also where nothing seems to have changed.",
        built_in: || Some(Value::Duration(Duration::from_secs(30))),
        ..PLAIN
    },
    Key {
        name: "supervisor.start_rate",
        meaning: "How many agents it starts within a minute, at most.",
        built_in: || Some(Value::Count(120)),
        ..PLAIN
    },
    Key {
        name: "notify.desktop",
        kind: Kind::Switch,
        meaning: "Whether the desktop shows a notification when a task needs a person.",
        built_in: || Some(Value::Switch(false)),
        ..PLAIN
    },
    Key {
        name: "notify.bell",
        kind: Kind::Switch,
        meaning: "Whether the terminal's bell rings then.",
        built_in: || Some(Value::Switch(true)),
        ..PLAIN
    },
    Key {
        name: "notify.webhook",
        kind: Kind::Url,
        meaning: "Where a JSON message is posted then.",
        ..PLAIN
    },
    Key {
        name: "dashboard.ground",
        kind: Kind::OneOf(&["auto", "dark", "light"]),
        meaning: "What the terminal's ground is, for the dashboard's colours; `auto` asks `COLORFGBG`.",
        built_in: || Some(Value::text("auto")),
        ..PLAIN
    },
    Key {
        name: "log.level",
        kind: Kind::OneOf(&["error", "warn", "info", "debug"]),
        meaning: "How much `orange.log` tells.",
        built_in: || Some(Value::text("info")),
        variable: Some(ORANGE_LOG),
        ..PLAIN
    },
    Key {
        name: "log.max_size",
        kind: Kind::Size,
        meaning: "How large `orange.log` grows before a new one is begun.",
        built_in: || Some(Value::Size(10_000_000)),
        ..PLAIN
    },
    Key {
        name: "log.keep",
        meaning: "How many older logs are kept.",
        built_in: || Some(Value::Count(3)),
        ..PLAIN
    },
];

/// The key with this dotted name.
pub fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| match key.name.strip_suffix('*') {
        // Everything after the family's table is a name, even if it contains dots.
        Some(family) => name.len() > family.len() && name.starts_with(family),
        None => key.name == name,
    })
}

/// Whether there are keys below this dotted name, so that it is a table.
pub fn is_table(name: &str) -> bool {
    let below = |key: &Key| {
        let rest = key.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    KEYS.iter().any(below)
}
