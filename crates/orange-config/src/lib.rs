//! Reads the user's configuration: environment, home, settings, workflows, harnesses, projects.
//!
//! Precedence: `ORANGE_HOME`, then `~/orange`; a workflow or harness in orange's home, then the
//! shipped one with the same name; for settings, see the module `settings`. Reading creates nothing;
//! `new_workflow`, `projects`, `jobs`, `pinned_policy` and `settings::edit` are the only modules here that write.

pub mod clock;
mod env;
mod harness;
mod home;
mod host_port;
mod jobs;
mod passed_variables;
mod prices;
mod projects;
mod sandbox;
mod settings;
mod user_file;
mod workflows;

pub use env::{
    Environment, ORANGE_BACKGROUND, ORANGE_BRANCH, ORANGE_CALLER, ORANGE_EFFECT_ID,
    ORANGE_FORGE_API, ORANGE_HOME, ORANGE_LISTENER, ORANGE_LOG, ORANGE_MATRIX_TOKEN,
    ORANGE_PORT_OFFSET, ORANGE_REPORT, ORANGE_RESUMED_ID, ORANGE_ROLE, ORANGE_RUN_ID,
    ORANGE_RUN_PROOF, ORANGE_SANDBOX_CALLS, ORANGE_SANDBOX_FOLDER, ORANGE_TASK_ID,
    ORANGE_TELEGRAM_TOKEN, ORANGE_WAIT,
};
pub use harness::Harness;
pub use harness::arguments::{MAX_PROMPT_ARGUMENT, Values};
pub use harness::catalog::Harnesses;
pub use harness::error::{HarnessError, ValueProblem};
pub use harness::files::{HarnessFile, RunFileText};
pub use harness::level::{Level, StartMode};
pub use harness::mcp::{MCP_SERVER, McpSettings};
pub use harness::readiness::{AnswerPlace, Readiness, ReadyState};
pub use harness::result::{ResultStatus, RunResult};
pub use harness::sandbox::{HarnessSandbox, Login};
pub use harness::usage::{RunPeriod, UsageCount, UsageLocations, UsageSource};
pub use home::{Home, HomeError};
pub use host_port::HostPort;
pub use jobs::{
    Job, JobProblem, JobTask, JobWork, Jobs, JobsError, NewJob, Schedule, ScheduleError,
};
pub use passed_variables::{AGENT_VARIABLES, PANE_VARIABLES, PASSED_VARIABLES, is_agent_variable};
pub use prices::prices;
pub use projects::{
    IssueComment, MergePlace, Project, Projects, ProjectsError, Unpriced, WhenFull,
};
pub use sandbox::{NetworkMode, SandboxMode, SandboxSettings};
pub use settings::file::{SettingsError, SettingsProblem};
pub use settings::keys::{KEYS, Key};
pub use settings::merge::is_stricter;
pub use settings::pinned_policy::{PinnedPolicy, PinnedPolicyError};
pub use settings::policy::{
    MAX_POLICY_BYTES, MAX_POLICY_FILES, POLICY_FILE, POLICY_FOLDER, POLICY_WORKFLOWS, Policy,
    PolicyFile, PolicyWorkflow, policy_hash,
};
pub use settings::policy_keys::{PolicyRule, SCRIPT_KEYS, policy_keys};
pub use settings::scripts::ProjectScript;
pub use settings::value::{Kind, Value};
pub use settings::{
    Background, BotSettings, ChatSettings, Decompose, ForgeSettings, IssueSettings, LogLevel,
    LogSettings, NotifySettings, PoolSettings, Setting, SettingOrigin, Settings,
    SupervisorSettings, WebhookFormat,
};
pub use workflows::catalog::{Catalog, CatalogError};
pub use workflows::load::{Finding, LoadedWorkflow, load_workflow};
pub use workflows::new_workflow::{NewWorkflowError, new_workflow};
pub use workflows::script::{ScriptError, read_script};
pub use workflows::source::{Origin, ReadError, Source};

use std::io;

/// The kind of the error if the library has a name for it, otherwise the system's message.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Other => error.to_string(),
        // For kinds without a name in the library, the system's own message says more.
        kind if kind.to_string().starts_with("uncategorized") => error.to_string(),
        kind => kind.to_string(),
    }
}
