//! Every key of `config.toml`, and its default.

use std::time::Duration;

use orange_engine::effect::MergeStrategy;

use super::policy_keys::PolicyRule;
use super::value::{Kind, Value};
use crate::{
    IssueComment, MergePlace, ORANGE_BRANCH, ORANGE_LOG, ORANGE_WAIT, Project, Unpriced, WhenFull,
};

/// A key that the user may set, or a family of keys when its name ends in `.*`.
#[derive(Debug)]
pub struct Key {
    /// Its tables and its name, joined by dots.
    pub name: &'static str,
    pub kind: Kind,
    /// Its purpose, in a sentence.
    pub meaning: &'static str,
    /// The default.
    pub(crate) default: fn() -> Option<Value>,
    /// The value that a project in `projects.json` sets.
    pub(crate) project: fn(&Project) -> Option<Value>,
    /// The environment variable that overrides everything.
    pub variable: Option<&'static str>,
    /// Whether the policy of a repository may set it.
    pub policy: PolicyRule,
}

/// The values that most keys have.
pub(super) const PLAIN: Key = Key {
    name: "",
    kind: Kind::Count,
    meaning: "",
    default: || None,
    project: |_| None,
    variable: None,
    policy: PolicyRule::Never,
};

/// The table; `docs/configuration.md` shows it to users, and a test compares the two.
pub const KEYS: &[Key] = &[
    Key {
        name: "harness",
        kind: Kind::Name,
        meaning: "The coding agent of new tasks.",
        project: |it| Some(Value::text(it.harness.as_ref()?.as_str())),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "failover",
        kind: Kind::Names,
        meaning: "The coding agents that take over, in this order, when the one of a task is parked for five minutes or longer.",
        ..PLAIN
    },
    Key {
        name: "review_harness",
        kind: Kind::Name,
        meaning: "The coding agent that reviews new tasks; defaults to `harness`.",
        project: |it| Some(Value::text(it.review_harness.as_ref()?.as_str())),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "workflow",
        kind: Kind::Name,
        meaning: "The workflow of new tasks.",
        default: || Some(Value::text("default")),
        project: |it| it.workflow.as_deref().map(Value::text),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "branch",
        kind: Kind::Branch,
        meaning: "The branch of new tasks; `{summary}` stands for the words of the summary, `{id}` for the task's id.",
        default: || Some(Value::text("{summary}")),
        variable: Some(ORANGE_BRANCH),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "wait",
        kind: Kind::Duration,
        meaning: "How long a command waits for a start, a merge or a gate; after that it exits with 5, and orange continues. `--wait` overrides it.",
        // Short, because the shell tool of an agent has a timeout of its own.
        default: || Some(Value::Duration(Duration::from_secs(8))),
        variable: Some(ORANGE_WAIT),
        ..PLAIN
    },
    Key {
        name: "limits.agents",
        meaning: "How many agents may run at once, in all projects; unlimited if not set.",
        ..PLAIN
    },
    Key {
        name: "limits.per_project",
        meaning: "How many agents may run at once in one project; unlimited if not set.",
        ..PLAIN
    },
    Key {
        name: "limits.disk",
        kind: Kind::Size,
        meaning: "No work is started while less than this is free on the worktrees' disk.",
        default: || Some(Value::Size(1_000_000_000)),
        ..PLAIN
    },
    Key {
        name: "limits.harness.*",
        meaning: "How many agents of this harness may run at once.",
        ..PLAIN
    },
    Key {
        name: "limits.status.*",
        meaning: "No work is started while this many tasks are in this status.",
        ..PLAIN
    },
    Key {
        name: "budget.task",
        kind: Kind::Budget,
        meaning: "How much the agents of one task may use.",
        project: |it| it.budget_task.map(Value::Budget),
        ..PLAIN
    },
    Key {
        name: "budget.job",
        kind: Kind::Budget,
        meaning: "How much all tasks of one job may use.",
        project: |it| it.budget_job.map(Value::Budget),
        ..PLAIN
    },
    Key {
        name: "budget.project",
        kind: Kind::Budget,
        meaning: "How much all tasks of one project may use.",
        project: |it| it.budget_project.map(Value::Budget),
        ..PLAIN
    },
    Key {
        name: "budget.day",
        kind: Kind::Budget,
        meaning: "How much all agents may use on one UTC day, in all projects.",
        ..PLAIN
    },
    Key {
        name: "budget.hard",
        kind: Kind::Switch,
        meaning: "Whether `orange serve` stops running agents when a limit is reached; otherwise it only starts no more.",
        default: || Some(Value::Switch(false)),
        project: |it| it.budget_hard.map(Value::Switch),
        ..PLAIN
    },
    Key {
        name: "budget.unpriced",
        kind: Kind::OneOf(&["refuse", "allow"]),
        meaning: "Whether an agent may start (`allow`) or not (`refuse`) if a limit cannot be checked, because what it uses has no known price.",
        default: || Some(Value::text("refuse")),
        project: |it| {
            Some(Value::text(match it.budget_unpriced? {
                Unpriced::Refuse => "refuse",
                Unpriced::Allow => "allow",
            }))
        },
        ..PLAIN
    },
    Key {
        name: "pool.size",
        meaning: "How many tasks of a project can have a worktree at once.",
        default: || Some(Value::Count(8)),
        project: |it| it.pool_size.map(Value::Count),
        ..PLAIN
    },
    Key {
        name: "pool.when_full",
        kind: Kind::OneOf(&["queue", "refuse"]),
        meaning: "When no worktree is free, a start waits (`queue`) or is refused (`refuse`).",
        default: || Some(Value::text("queue")),
        project: |it| {
            Some(Value::text(match it.when_full? {
                WhenFull::Queue => "queue",
                WhenFull::Refuse => "refuse",
            }))
        },
        ..PLAIN
    },
    Key {
        name: "merge.strategy",
        kind: Kind::OneOf(&["auto", "ff", "merge", "rebase", "squash"]),
        meaning: "How to merge: see `orange task merge --help`.",
        default: || Some(Value::text(MergeStrategy::default().as_str())),
        project: |it| Some(Value::text(it.merge_strategy?.as_str())),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "merge.verify",
        kind: Kind::Command,
        meaning: "A shell command that must succeed on the merged result before anything moves.",
        project: |it| it.merge_verify.as_deref().map(Value::text),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "merge.verify_timeout",
        kind: Kind::Duration,
        meaning: "How long `merge.verify` may take.",
        default: || Some(Value::Duration(Duration::from_mins(30))),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "merge.assisted_by",
        kind: Kind::Switch,
        meaning: "Whether the commits that a merge creates name the agents of the task in `Assisted-by` trailers.",
        default: || Some(Value::Switch(true)),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "context.tree",
        kind: Kind::Switch,
        meaning: "Whether the context file of a run lists the files of the repository.",
        default: || Some(Value::Switch(false)),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "forge.repository",
        kind: Kind::Repository,
        meaning: "The repository on GitHub; defaults to the one of the registered remote.",
        project: |it| it.forge_repository.as_deref().map(Value::text),
        ..PLAIN
    },
    Key {
        name: "forge.token_command",
        kind: Kind::Command,
        meaning: "A shell command that prints the token for GitHub; defaults to `GH_TOKEN` or `gh auth token`.",
        ..PLAIN
    },
    Key {
        name: "forge.merge",
        kind: Kind::OneOf(&["forge", "local"]),
        meaning: "Where a task with a pull request is merged: on GitHub (`forge`) or here (`local`).",
        default: || Some(Value::text("forge")),
        project: |it| {
            Some(Value::text(match it.forge_merge? {
                MergePlace::Forge => "forge",
                MergePlace::Local => "local",
            }))
        },
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "forge.draft",
        kind: Kind::Switch,
        meaning: "Whether a new pull request is a draft.",
        default: || Some(Value::Switch(true)),
        project: |it| it.forge_draft.map(Value::Switch),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "forge.labels",
        kind: Kind::Names,
        meaning: "The labels of a new pull request.",
        project: |it| it.forge_labels.clone().map(Value::Names),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "forge.issues.label",
        kind: Kind::Name,
        meaning: "The label by which an account with enough permission turns an issue into a task; without it, `orange serve` reads no issues.",
        project: |it| it.forge_issues_label.as_deref().map(Value::text),
        ..PLAIN
    },
    Key {
        name: "forge.issues.permission",
        kind: Kind::OneOf(&["write", "admin"]),
        meaning: "The permission that an account needs so that its labels and comments at issues count.",
        default: || Some(Value::text("write")),
        ..PLAIN
    },
    Key {
        name: "forge.issues.workflow",
        kind: Kind::Name,
        meaning: "The workflow of tasks for issues; defaults to `workflow`.",
        project: |it| it.forge_issues_workflow.as_deref().map(Value::text),
        ..PLAIN
    },
    Key {
        name: "forge.issues.comment",
        kind: Kind::OneOf(&["status", "none"]),
        meaning: "Whether orange shows the status of a task at its issue, by one comment and by labels.",
        default: || Some(Value::text("status")),
        project: |it| {
            Some(Value::text(match it.forge_issues_comment? {
                IssueComment::Status => "status",
                IssueComment::None => "none",
            }))
        },
        ..PLAIN
    },
    Key {
        name: "forge.issues.close",
        kind: Kind::Switch,
        meaning: "Whether orange closes the issue of a task when its work is merged.",
        default: || Some(Value::Switch(true)),
        project: |it| it.forge_issues_close.map(Value::Switch),
        ..PLAIN
    },
    Key {
        name: "forge.poll",
        kind: Kind::Duration,
        meaning: "How often `orange serve` looks at a pull request that is being worked on or checked.",
        default: || Some(Value::Duration(Duration::from_mins(1))),
        ..PLAIN
    },
    Key {
        name: "forge.cold",
        kind: Kind::Duration,
        meaning: "How often `orange serve` looks at any other pull request.",
        default: || Some(Value::Duration(Duration::from_mins(15))),
        ..PLAIN
    },
    Key {
        name: "forge.share",
        meaning: "How many percent of your remaining GitHub quota orange may use; more than 100 counts as 100.",
        default: || Some(Value::Count(50)),
        ..PLAIN
    },
    Key {
        name: "router.harness",
        kind: Kind::Name,
        meaning: "The coding agent that chooses the agent of a task if no `[[route]]` does; without it, nothing is asked.",
        ..PLAIN
    },
    Key {
        name: "router.model",
        kind: Kind::Name,
        meaning: "The model of the router; a small one is enough.",
        ..PLAIN
    },
    Key {
        name: "router.choices",
        kind: Kind::Names,
        meaning: "What the router may choose, as `HARNESS` or `HARNESS:MODEL`; defaults to every installed coding agent.",
        ..PLAIN
    },
    Key {
        name: "router.decompose",
        kind: Kind::OneOf(&["ask", "auto", "off"]),
        meaning: "What to do if the router suggests splitting a task: ask you, let a run plan the parts, or ignore it.",
        default: || Some(Value::Text(String::from("ask"))),
        ..PLAIN
    },
    Key {
        name: "router.timeout",
        kind: Kind::Duration,
        meaning: "How long the router may take; it is asked at most twice for a task.",
        default: || Some(Value::Duration(Duration::from_secs(30))),
        ..PLAIN
    },
    Key {
        name: "chat.github.projects",
        kind: Kind::Names,
        meaning: "The projects whose comments on GitHub may hold commands, by people with write permission; without one, none.",
        ..PLAIN
    },
    Key {
        name: "chat.matrix.allow",
        kind: Kind::Names,
        meaning: "The Matrix users that orange listens to, such as `@ann:example.org`; without one, it listens to no one.",
        ..PLAIN
    },
    Key {
        name: "chat.matrix.rooms",
        kind: Kind::Names,
        meaning: "The ids of the Matrix rooms where orange listens to them; without one, nowhere.",
        ..PLAIN
    },
    Key {
        name: "chat.matrix.projects",
        kind: Kind::Names,
        meaning: "The projects that Matrix shows and adds tasks to, the first by default; without one, all.",
        ..PLAIN
    },
    Key {
        name: "chat.matrix.token_file",
        kind: Kind::Path,
        meaning: "The file with the access token of your Matrix bot; defaults to `ORANGE_MATRIX_TOKEN`.",
        ..PLAIN
    },
    Key {
        name: "chat.matrix.server",
        kind: Kind::Url,
        meaning: "The address of the homeserver of your Matrix bot.",
        ..PLAIN
    },
    Key {
        name: "chat.telegram.allow",
        kind: Kind::Names,
        meaning: "The ids of the Telegram users, and of groups, that orange listens to; without one, it listens to no one.",
        ..PLAIN
    },
    Key {
        name: "chat.telegram.projects",
        kind: Kind::Names,
        meaning: "The projects that Telegram shows and adds tasks to, the first by default; without one, all.",
        ..PLAIN
    },
    Key {
        name: "chat.telegram.token_file",
        kind: Kind::Path,
        meaning: "The file with the token of your Telegram bot; defaults to `ORANGE_TELEGRAM_TOKEN`.",
        ..PLAIN
    },
    Key {
        name: "chat.telegram.server",
        kind: Kind::Url,
        meaning: "The server of the Telegram Bot API.",
        default: || Some(Value::Url(String::from("https://api.telegram.org"))),
        ..PLAIN
    },
    Key {
        name: "supervisor.tick",
        kind: Kind::Duration,
        meaning: "How often `orange serve` polls tmux; it notices exits without polling.",
        default: || Some(Value::Duration(Duration::from_secs(2))),
        ..PLAIN
    },
    Key {
        name: "supervisor.sweep",
        kind: Kind::Duration,
        meaning: "How often `orange serve` checks everything, even without a sign of change; the \
                  files of more than 200 open tasks in turn, 200 at a time.",
        default: || Some(Value::Duration(Duration::from_secs(30))),
        ..PLAIN
    },
    Key {
        name: "supervisor.start_rate",
        meaning: "How many agents `orange serve` starts per minute, at most.",
        default: || Some(Value::Count(120)),
        ..PLAIN
    },
    Key {
        name: "permissions.wait",
        kind: Kind::Duration,
        meaning: "How long an agent's request waits for your answer before its own dialog takes over; more than 1h counts as 1h.",
        default: || Some(Value::Duration(Duration::from_mins(10))),
        ..PLAIN
    },
    Key {
        name: "sandbox.mode",
        kind: Kind::OneOf(&["off", "auto", "required"]),
        meaning: "Whether agents run in a sandbox: never (`off`), in the best one that this machine can make (`auto`), or only in a full one (`required`). Where there can be none, only `off` lets them start.",
        default: || Some(Value::text("auto")),
        project: |it| it.sandbox_mode.map(|mode| Value::text(mode.word())),
        policy: PolicyRule::Stricter,
        ..PLAIN
    },
    Key {
        name: "sandbox.network",
        kind: Kind::OneOf(&["open", "list", "none"]),
        meaning: "What an agent in a sandbox reaches over the network: everything (`open`), the hosts of its harness and of `sandbox.hosts` (`list`), or only the hosts of its harness (`none`). For a task with text from outside, `open` counts as `list`.",
        default: || Some(Value::text("open")),
        project: |it| it.sandbox_network.map(|mode| Value::text(mode.word())),
        policy: PolicyRule::Stricter,
        ..PLAIN
    },
    Key {
        name: "sandbox.hosts",
        kind: Kind::Hosts,
        meaning: "The hosts that an agent with `sandbox.network = \"list\"` reaches.",
        project: |it| it.sandbox_hosts.as_deref().map(Value::hosts),
        policy: PolicyRule::Default,
        ..PLAIN
    },
    Key {
        name: "sandbox.read",
        kind: Kind::Names,
        meaning: "More files and folders that an agent may read in its sandbox.",
        ..PLAIN
    },
    Key {
        name: "open.editor",
        kind: Kind::Command,
        meaning: "What opens a worktree to edit it; defaults to `$VISUAL` or `$EDITOR`.",
        ..PLAIN
    },
    Key {
        name: "open.shell",
        kind: Kind::Command,
        meaning: "The shell that opens in a worktree; defaults to `$SHELL`.",
        ..PLAIN
    },
    Key {
        name: "open.git",
        kind: Kind::Command,
        meaning: "The git client that the dashboard opens in a worktree.",
        default: || Some(Value::text("lazygit")),
        ..PLAIN
    },
    Key {
        name: "tmux.config",
        kind: Kind::Path,
        meaning: "Your tmux configuration, for agents' sessions; read when orange's server starts.",
        ..PLAIN
    },
    Key {
        name: "notify.desktop",
        kind: Kind::Switch,
        meaning: "Whether to show a desktop notification when a task needs you.",
        default: || Some(Value::Switch(false)),
        ..PLAIN
    },
    Key {
        name: "notify.bell",
        kind: Kind::Switch,
        meaning: "Whether to ring the terminal bell when a task needs you.",
        default: || Some(Value::Switch(true)),
        ..PLAIN
    },
    Key {
        name: "notify.webhook",
        kind: Kind::Url,
        meaning: "The address that gets a message when a task needs you.",
        ..PLAIN
    },
    Key {
        name: "notify.format",
        kind: Kind::OneOf(&["json", "ntfy"]),
        meaning: "How the webhook gets the message: in JSON, or as the text that ntfy shows.",
        default: || Some(Value::text("json")),
        ..PLAIN
    },
    Key {
        name: "notify.page",
        kind: Kind::Url,
        meaning: "The address of your page of `orange web`, to which messages link.",
        ..PLAIN
    },
    Key {
        name: "dashboard.background",
        kind: Kind::OneOf(&["auto", "dark", "light"]),
        meaning: "The terminal's background, for the dashboard's colours; `auto` reads `COLORFGBG`.",
        default: || Some(Value::text("auto")),
        ..PLAIN
    },
    Key {
        name: "log.level",
        kind: Kind::OneOf(&["error", "warn", "info", "debug"]),
        meaning: "How much is written to `orange.log`.",
        default: || Some(Value::text("info")),
        variable: Some(ORANGE_LOG),
        ..PLAIN
    },
    Key {
        name: "log.max_size",
        kind: Kind::Size,
        meaning: "How large `orange.log` grows before a new one is started.",
        default: || Some(Value::Size(10_000_000)),
        ..PLAIN
    },
    Key {
        name: "log.keep",
        meaning: "How many older logs are kept.",
        default: || Some(Value::Count(3)),
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
