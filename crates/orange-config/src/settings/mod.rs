//! The effective settings, and where each value comes from.
//!
//! Precedence, stated once: an environment variable, then the project in `projects.json`, then
//! `config.toml`, then the policy of the repository that the user allowed, then the default. The
//! sandbox is the exception: there the stricter of the policy and `config.toml` counts.

mod edit;
pub(crate) mod file;
pub(crate) mod keys;
pub(crate) mod merge;
mod parts;
pub(crate) mod pinned_policy;
pub(crate) mod policy;
pub(crate) mod policy_keys;
mod routes;
pub(crate) mod scripts;
pub(crate) mod value;

use std::path::PathBuf;
use std::time::Duration;

use file::SettingsError;
use merge::{AllowedPolicy, merge};
use orange_engine::budget::BudgetLimits;
use orange_engine::chat::channel::AllowLists;
use orange_engine::effect::MergeStrategy;
use orange_engine::forge::account::Permission;
use orange_engine::names::{HarnessName, ProjectName, Status};
use orange_engine::routing::RouteRule;
use orange_engine::schedule::Limits;
use parts::{
    budget_limits, chat_settings, counts, issue_settings, merge_settings, notify_settings,
    open_settings, router_settings, sandbox_settings,
};
use serde::Serialize;
use value::Value;

use super::{Environment, Home, IssueComment, MergePlace, Project, SandboxSettings, WhenFull};

/// Everything that can be set, fully resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The harness of new tasks.
    pub harness: Option<HarnessName>,
    /// The harness that reviews new tasks; if absent, `harness` does.
    pub review_harness: Option<HarnessName>,
    /// The rules that choose the harness of a task, in order.
    pub routes: Vec<RouteRule>,
    pub router: RouterSettings,
    pub workflow: String,
    /// The branch of new tasks, with variables.
    pub branch: String,
    /// How long a command waits for effects by default.
    pub wait: Duration,
    /// How much may run at once.
    pub limits: Limits,
    /// How much may be used.
    pub budget: BudgetLimits,
    /// How many bytes must be free on the worktrees' disk before work is started.
    pub free_disk: u64,
    /// The worktrees of a project.
    pub pool: PoolSettings,
    pub merge: MergeSettings,
    pub context_tree: bool,
    pub forge: ForgeSettings,
    pub chat: ChatSettings,
    pub supervisor: SupervisorSettings,
    /// How long an agent's request for permission waits for the user's answer.
    pub permission_wait: Duration,
    pub sandbox: SandboxSettings,
    /// The programs that open a worktree.
    pub open: OpenSettings,
    /// The tmux configuration for agents' sessions.
    pub tmux_config: Option<PathBuf>,
    pub notify: NotifySettings,
    /// The terminal's background; if absent, `COLORFGBG` decides.
    pub background: Option<Background>,
    pub log: LogSettings,
    all: Vec<Setting>,
}

/// The model that chooses the harness of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouterSettings {
    /// The harness that runs it; if absent, there is no router.
    pub harness: Option<HarnessName>,
    pub model: Option<String>,
    /// What it may choose: `HARNESS` or `HARNESS:MODEL`; if empty, every harness.
    pub choices: Vec<String>,
    /// How long one answer may take.
    pub timeout: Duration,
    /// What to do if it suggests splitting a task.
    pub decompose: Decompose,
}

/// What to do if the router suggests splitting a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decompose {
    /// The user decides.
    #[default]
    Ask,
    /// A run plans the parts.
    Auto,
    /// Nothing.
    Off,
}

/// The worktrees of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// How many tasks can have a worktree at the same time.
    pub size: u32,
    /// What happens to a start when no worktree is free.
    pub when_full: WhenFull,
}

/// How branches are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSettings {
    /// The strategy of a merge that does not name one.
    pub strategy: MergeStrategy,
    /// The shell command that must succeed on the result before anything moves.
    pub verify: Option<String>,
    pub verify_timeout: Duration,
    pub assisted_by: bool,
}

/// How orange works with pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeSettings {
    /// `host/owner/name`; if absent, the registered remote decides.
    pub repository: Option<String>,
    /// A shell command that prints the token.
    pub token_command: Option<String>,
    pub merge: MergePlace,
    /// Whether a new pull request is a draft.
    pub draft: bool,
    pub labels: Vec<String>,
    pub issues: IssueSettings,
    /// The time between two looks at a pull request that is being worked on or checked.
    pub poll: Duration,
    /// The time between two looks at any other pull request.
    pub cold: Duration,
    /// The percentage of the remaining quota that orange may use.
    pub share: u32,
}

/// Which issues become tasks, and what orange does at the issues of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueSettings {
    /// The label that turns an issue into a task; if absent, no issue becomes a task by itself.
    pub label: Option<String>,
    /// What an account must be allowed to do, so that its labels and comments count.
    pub permission: Permission,
    /// The workflow of these tasks; if absent, that of other new tasks.
    pub workflow: Option<String>,
    /// Whether orange shows the status of a task at its issue, by a comment and labels.
    pub comment: IssueComment,
    /// Whether orange closes the issue of a task whose work is merged.
    pub close: bool,
}

/// The chats that `orange serve` listens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatSettings {
    /// The projects whose comments on GitHub may hold commands; if empty, none.
    pub github_projects: Vec<ProjectName>,
    pub matrix: BotSettings,
    pub telegram: BotSettings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotSettings {
    /// If no user is allowed, no message counts.
    pub allow: AllowLists,
    /// The projects that can be seen; if empty, all.
    pub projects: Vec<ProjectName>,
    pub token_file: Option<PathBuf>,
    /// The address of the server; empty if it is not set.
    pub server: String,
}

/// The programs that open a worktree, each with its arguments in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSettings {
    pub editor: Option<String>,
    pub shell: Option<String>,
    pub git: Option<String>,
}

/// How often the supervisor polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupervisorSettings {
    /// The time between two polls of tmux.
    pub tick: Duration,
    /// The time between two polls of everything.
    pub sweep: Duration,
    /// How many agents may be started per minute.
    pub start_rate: u32,
}

/// How the user is notified that a task needs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifySettings {
    pub desktop: bool,
    /// Whether to ring the terminal's bell.
    pub bell: bool,
    /// The address to send a message to, and how it is written.
    pub webhook: Option<String>,
    pub format: WebhookFormat,
    /// The address of the web page, for links.
    pub page: Option<String>,
}

/// How a webhook gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookFormat {
    Json,
    /// The text alone, with the link in a header, as ntfy shows it on a phone.
    Ntfy,
}

/// A terminal's background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// Lines less important than this are left out.
    pub level: LogLevel,
    /// How many bytes the log may have before a new one is started.
    pub max_size: u64,
    /// How many older logs are kept.
    pub keep: u32,
}

/// How important a log line is, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed for good.
    Error,
    /// Something failed and is retried, or the user should look.
    Warn,
    /// What was decided and done.
    Info,
    /// What helps to understand the rest.
    Debug,
}

/// A key, its value, and where the value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Setting {
    /// Its tables and its name, joined by dots.
    pub key: String,
    /// The value; absent if it is not set and has no default.
    pub value: Option<Value>,
    /// Where the value comes from.
    pub origin: SettingOrigin,
}

/// Where the value of a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SettingOrigin {
    /// An environment variable.
    Environment {
        /// Its name.
        variable: &'static str,
    },
    /// A project in `projects.json`.
    Project {
        /// Its name.
        project: String,
        /// The file.
        path: PathBuf,
    },
    /// `config.toml`.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The policy of the project's repository, which the user allowed.
    Policy {
        /// The project's name.
        project: String,
        /// The commit that it is from.
        commit: String,
    },
    /// The default.
    Default,
}

impl Settings {
    /// The settings for a project, or for no project in particular.
    pub fn load(
        home: &Home,
        environment: &Environment,
        project: Option<&Project>,
    ) -> Result<Settings, SettingsError> {
        let policy = project.map(|it| AllowedPolicy::load(home, &it.name));
        let policy = policy.transpose()?.flatten();
        Self::load_with(home, environment, project, policy.as_ref())
    }

    /// The same without the policy of the project, for settings that no policy may set.
    pub fn load_own(
        home: &Home,
        environment: &Environment,
        project: &Project,
    ) -> Result<Settings, SettingsError> {
        Self::load_with(home, environment, Some(project), None)
    }

    fn load_with(
        home: &Home,
        environment: &Environment,
        project: Option<&Project>,
        policy: Option<&AllowedPolicy>,
    ) -> Result<Settings, SettingsError> {
        let given = file::load(&home.settings())?;
        let all = merge(home, environment, project, policy, &given.values)?;
        let mut settings = resolve(all);
        settings.routes = given.routes;
        let config = settings.tmux_config.take();
        settings.tmux_config = config.map(|path| environment.expand_home(path));
        let sandbox = &mut settings.sandbox;
        for path in sandbox.read.iter_mut().chain(&mut sandbox.toolchains) {
            *path = environment.expand_home(std::mem::take(path));
        }
        for bot in [&mut settings.chat.matrix, &mut settings.chat.telegram] {
            let token_file = bot.token_file.take();
            bot.token_file = token_file.map(|path| environment.expand_home(path));
        }
        Ok(settings)
    }

    /// Every key with its value, in the order of the documentation.
    pub fn all(&self) -> &[Setting] {
        &self.all
    }
}

fn resolve(all: Vec<Setting>) -> Settings {
    let value = |key: &str| all.iter().find(|it| it.key == key)?.value.clone();
    let text = |key: &str| match value(key)? {
        Value::Text(text) | Value::Url(text) => Some(text),
        _ => None,
    };
    let count = |key: &str| match value(key)? {
        Value::Count(count) => Some(count),
        _ => None,
    };
    let duration = |key: &str| match value(key) {
        Some(Value::Duration(duration)) => duration,
        _ => Duration::default(),
    };
    let is_on = |key: &str| value(key) == Some(Value::Switch(true));
    let names = |key: &str| match value(key) {
        Some(Value::Names(names)) => names.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let family = |family: &str| counts(&all, family).into_iter();
    let size = |key: &str| match value(key) {
        Some(Value::Size(size)) => size,
        _ => 0,
    };
    Settings {
        harness: text("harness").map(HarnessName::new),
        review_harness: text("review_harness").map(HarnessName::new),
        routes: Vec::new(),
        router: RouterSettings {
            choices: names("router.choices").collect(),
            ..router_settings(text, duration)
        },
        workflow: text("workflow").unwrap_or_default(),
        branch: text("branch").unwrap_or_default(),
        wait: duration("wait"),
        limits: Limits {
            agents: count("limits.agents"),
            per_project: count("limits.per_project"),
            harness: family("limits.harness.")
                .map(|(name, count)| (HarnessName::new(name), count))
                .collect(),
            status: family("limits.status.")
                .map(|(name, count)| (Status::new(name), count))
                .collect(),
            failover: names("failover").map(HarnessName::new).collect(),
            ..Limits::default()
        },
        budget: budget_limits(value),
        free_disk: size("limits.disk"),
        pool: PoolSettings {
            size: count("pool.size").unwrap_or_default(),
            when_full: match text("pool.when_full").as_deref() {
                Some("refuse") => WhenFull::Refuse,
                _ => WhenFull::Queue,
            },
        },
        merge: merge_settings(text, duration, is_on),
        context_tree: is_on("context.tree"),
        forge: ForgeSettings {
            repository: text("forge.repository"),
            token_command: text("forge.token_command").filter(|it| !it.trim().is_empty()),
            merge: match text("forge.merge").as_deref() {
                Some("local") => MergePlace::Local,
                _ => MergePlace::Forge,
            },
            draft: is_on("forge.draft"),
            labels: names("forge.labels").collect(),
            issues: issue_settings(text, is_on("forge.issues.close")),
            poll: duration("forge.poll"),
            cold: duration("forge.cold"),
            share: count("forge.share").unwrap_or_default(),
        },
        chat: chat_settings(value),
        supervisor: SupervisorSettings {
            tick: duration("supervisor.tick"),
            sweep: duration("supervisor.sweep"),
            start_rate: count("supervisor.start_rate").unwrap_or_default(),
        },
        permission_wait: duration("permissions.wait"),
        sandbox: sandbox_settings(text, names("sandbox.hosts"), names("sandbox.read")),
        open: open_settings(text),
        tmux_config: text("tmux.config").map(PathBuf::from),
        notify: notify_settings(is_on, text),
        background: match text("dashboard.background").as_deref() {
            Some("dark") => Some(Background::Dark),
            Some("light") => Some(Background::Light),
            _ => None,
        },
        log: LogSettings {
            level: text("log.level").map_or(LogLevel::Info, |it| LogLevel::from_name(&it)),
            max_size: size("log.max_size"),
            keep: count("log.keep").unwrap_or_default(),
        },
        all,
    }
}

impl LogLevel {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
            LogLevel::Debug => "debug",
        }
    }

    /// The level with this name; `info` for an unknown one.
    fn from_name(name: &str) -> LogLevel {
        match name {
            "error" => LogLevel::Error,
            "warn" => LogLevel::Warn,
            "debug" => LogLevel::Debug,
            _ => LogLevel::Info,
        }
    }
}

#[cfg(test)]
mod tests;
