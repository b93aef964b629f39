//! Reads what a person configured: environment, home, settings, workflows, harnesses, projects.
//!
//! Precedence, stated once: `ORANGE_HOME`, then `~/orange`; a workflow or harness in the home, then
//! the shipped one of the same name; for settings `settings.rs` states it. Reading creates nothing; `new_workflow` and
//! `projects` are the only files here that write.

mod catalog;
pub mod clock;
mod env;
mod examine;
mod harness;
mod harness_arguments;
mod harness_catalog;
mod harness_death;
mod harness_error;
mod harness_files;
mod harness_level;
mod harness_place;
mod harness_ready;
mod harness_result;
mod harness_skills;
mod harness_transcript;
mod home;
mod new_workflow;
mod passing;
mod projects;
mod projects_text;
mod script;
mod settings;
mod settings_file;
mod settings_keys;
mod settings_value;
mod source;

pub use catalog::{Catalog, CatalogError};
pub use env::{
    Environment, ORANGE_BACKGROUND, ORANGE_EFFECT_ID, ORANGE_HOME, ORANGE_LISTENER, ORANGE_LOG,
    ORANGE_PORT_OFFSET, ORANGE_REPORT, ORANGE_RESUMED_ID, ORANGE_ROLE, ORANGE_RUN_ID,
    ORANGE_RUN_PROOF, ORANGE_TASK_ID,
};
pub use examine::{Examined, Finding, examine};
pub use harness::Harness;
pub use harness_arguments::{MAX_PROMPT_ARGUMENT, Values};
pub use harness_catalog::Harnesses;
pub use harness_error::{HarnessError, ValueProblem};
pub use harness_files::{HarnessFile, RunText};
pub use harness_level::{Level, Manner};
pub use harness_ready::{Readiness, Ready, Recorded};
pub use harness_result::{ResultStatus, RunResult};
pub use home::{Home, HomeError};
pub use new_workflow::{NewWorkflowError, new_workflow};
pub use passing::{FROM_PANE, NESTED, PASSED, is_nested};
pub use projects::{Project, Projects, ProjectsError};
pub use script::{ScriptError, read_script};
pub use settings::{
    Ground, LogLevel, LogSettings, NotifySettings, PoolSettings, Setting, SettingOrigin, Settings,
    SupervisorSettings, WhenFull,
};
pub use settings_file::{SettingsError, SettingsProblem};
pub use settings_keys::{KEYS, Key};
pub use settings_value::{Kind, Value};
pub use source::{Origin, ReadError, Source};

use std::io;

/// What stood in the way, in lower case and without the system's number for it.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Other => error.to_string(),
        // Kinds the library has no name for say less than the system does.
        kind if kind.to_string().starts_with("uncategorized") => error.to_string(),
        kind => kind.to_string(),
    }
}
