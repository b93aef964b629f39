//! Parts of the settings, each from the values of its keys.

use std::path::PathBuf;
use std::time::Duration;

use orange_engine::budget::BudgetLimits;
use orange_engine::chat::channel::{AllowList, AllowLists};
use orange_engine::effect::MergeStrategy;
use orange_engine::forge::account::Permission;
use orange_engine::names::{HarnessName, ProjectName};

use super::value::Value;
use super::{
    BotSettings, ChatSettings, Decompose, IssueSettings, MergeSettings, NotifySettings,
    OpenSettings, RouterSettings, Setting, WebhookFormat,
};
use crate::{IssueComment, NetworkMode, SandboxMode, SandboxSettings};

/// Toolchains and the settings of git, which every agent may read in its sandbox.
const READABLE: [&str; 7] = [
    "~/.cargo/bin",
    "~/.cargo/config.toml",
    "~/.config/git",
    "~/.gitconfig",
    "~/.nvm",
    "~/.pyenv",
    "~/.rustup",
];

pub(super) fn router_settings(
    text: impl Fn(&str) -> Option<String>,
    duration: impl Fn(&str) -> Duration,
) -> RouterSettings {
    RouterSettings {
        harness: text("router.harness").map(HarnessName::new),
        model: text("router.model"),
        choices: Vec::new(),
        timeout: duration("router.timeout"),
        decompose: match text("router.decompose").as_deref() {
            Some("auto") => Decompose::Auto,
            Some("off") => Decompose::Off,
            _ => Decompose::Ask,
        },
    }
}

pub(super) fn merge_settings(
    text: impl Fn(&str) -> Option<String>,
    duration: impl Fn(&str) -> Duration,
    is_on: impl Fn(&str) -> bool,
) -> MergeSettings {
    let strategy = text("merge.strategy");
    let strategy = strategy.and_then(|name| MergeStrategy::from_name(&name));
    MergeSettings {
        strategy: strategy.unwrap_or_default(),
        verify: text("merge.verify").filter(|it| !it.trim().is_empty()),
        verify_timeout: duration("merge.verify_timeout"),
        assisted_by: is_on("merge.assisted_by"),
    }
}

pub(super) fn budget_limits(value: impl Fn(&str) -> Option<Value>) -> BudgetLimits {
    let limit = |key: &str| match value(key)? {
        Value::Budget(limit) => Some(limit),
        _ => None,
    };
    BudgetLimits {
        task: limit("budget.task"),
        job: limit("budget.job"),
        project: limit("budget.project"),
        day: limit("budget.day"),
        is_hard: value("budget.hard") == Some(Value::Switch(true)),
        allows_unpriced: value("budget.unpriced") == Some(Value::text("allow")),
    }
}

pub(super) fn issue_settings(text: impl Fn(&str) -> Option<String>, close: bool) -> IssueSettings {
    IssueSettings {
        label: text("forge.issues.label").filter(|it| !it.trim().is_empty()),
        permission: match text("forge.issues.permission").as_deref() {
            Some("admin") => Permission::Admin,
            _ => Permission::Write,
        },
        workflow: text("forge.issues.workflow"),
        comment: match text("forge.issues.comment").as_deref() {
            Some("none") => IssueComment::None,
            _ => IssueComment::Status,
        },
        close,
    }
}

pub(super) fn sandbox_settings(
    text: impl Fn(&str) -> Option<String>,
    hosts: impl Iterator<Item = String>,
    more: impl Iterator<Item = String>,
) -> SandboxSettings {
    let mode = match text("sandbox.mode").as_deref() {
        Some("off") => SandboxMode::Off,
        Some("required") => SandboxMode::Required,
        _ => SandboxMode::Auto,
    };
    let network = match text("sandbox.network").as_deref() {
        Some("open") => NetworkMode::Open,
        Some("list") => NetworkMode::List,
        _ => NetworkMode::None,
    };
    SandboxSettings {
        mode,
        network,
        hosts: hosts.filter_map(|host| host.parse().ok()).collect(),
        read: more.map(PathBuf::from).collect(),
        toolchains: READABLE.map(PathBuf::from).to_vec(),
    }
}

pub(super) fn notify_settings(
    is_on: impl Fn(&str) -> bool,
    text: impl Fn(&str) -> Option<String>,
) -> NotifySettings {
    NotifySettings {
        desktop: is_on("notify.desktop"),
        bell: is_on("notify.bell"),
        webhook: text("notify.webhook"),
        format: match text("notify.format").as_deref() {
            Some("ntfy") => WebhookFormat::Ntfy,
            _ => WebhookFormat::Json,
        },
        page: text("notify.page"),
    }
}

pub(super) fn open_settings(text: impl Fn(&str) -> Option<String>) -> OpenSettings {
    OpenSettings {
        editor: text("open.editor"),
        shell: text("open.shell"),
        git: text("open.git"),
    }
}

/// The counts of a family of keys, each with the part of its key after the family's name.
pub(super) fn counts(all: &[Setting], family: &str) -> Vec<(String, u32)> {
    let counts = all.iter().filter_map(|it| match it.value {
        Some(Value::Count(count)) => Some((it.key.strip_prefix(family)?.to_owned(), count)),
        _ => None,
    });
    counts.collect()
}

pub(super) fn chat_settings(value: impl Fn(&str) -> Option<Value>) -> ChatSettings {
    let text = |key: &str| match value(key)? {
        Value::Text(text) | Value::Url(text) => Some(text).filter(|it| !it.trim().is_empty()),
        _ => None,
    };
    let names = |key: &str| match value(key) {
        Some(Value::Names(names)) => names,
        _ => Vec::new(),
    };
    let projects = |key: &str| names(key).into_iter().map(ProjectName::new).collect();
    let bot = |name: &str, rooms: &str| BotSettings {
        allow: AllowLists {
            users: AllowList::new(names(&format!("chat.{name}.allow"))),
            rooms: AllowList::new(names(&format!("chat.{name}.{rooms}"))),
        },
        projects: projects(&format!("chat.{name}.projects")),
        token_file: text(&format!("chat.{name}.token_file")).map(Into::into),
        server: text(&format!("chat.{name}.server")).unwrap_or_default(),
    };
    ChatSettings {
        github_projects: projects("chat.github.projects"),
        matrix: bot("matrix", "rooms"),
        // The ids of its users and groups are different numbers, so one list is enough.
        telegram: bot("telegram", "allow"),
    }
}
