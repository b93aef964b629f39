//! Shows a diff in the user's pager.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use orange_config::{Environment, ORANGE_RUN_ID};
use orange_effects::command::{CommandExit, Invocation};
use orange_effects::git::Git;
use orange_engine::names::TaskId;
use orange_store::Store;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// The pager if the user has set none.
const DEFAULT_PAGER: &str = "less";

/// The exit codes of a shell that cannot run or cannot find a program.
const NOT_STARTED: [i32; 2] = [126, 127];

/// Where the pager runs: outside every repository. Pagers such as delta read the configuration of
/// the repository that they are started in, and an agent can change that of its worktree.
const DIRECTORY: &str = "/";

/// Variables of git that say where the user's own configuration is.
const USER_FILES: [&str; 3] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
];

impl Workspaces {
    /// Shows a text about a task in the user's pager, in this terminal; returns whether it was
    /// shown. An agent gets no pager, because it could not quit it.
    pub fn page(&self, task: &TaskId, text: &[u8]) -> Result<bool, DriverError> {
        let environment = &self.context.environment;
        if environment.variable(ORANGE_RUN_ID).is_some() {
            return Ok(false);
        }
        let store = Store::open_read_only(&self.context.home)?;
        let task = store.require(task)?.task;
        let (_, git) = self.repository_of(&task)?;
        let Some(pager) = find_pager(&git, environment)? else {
            return Ok(false);
        };
        // Use a shell, as git does, because a pager may be a whole command line.
        let shell = Invocation::new("sh", variables(environment))
            .arguments(["-c", &pager])
            .directory(DIRECTORY)
            .input(text);
        let exit = shell.feed_in_terminal()?;
        Ok(!matches!(exit, CommandExit::Code(code) if NOT_STARTED.contains(&code)))
    }
}

/// The user's pager, found as git finds it, but without the repository's configuration. `None` if
/// the user wants none.
fn find_pager(git: &Git, environment: &Environment) -> Result<Option<String>, DriverError> {
    let variable = |name: &str| {
        let value = environment.variable(name).map(OsStr::to_string_lossy);
        value.map(std::borrow::Cow::into_owned)
    };
    let mut pager = variable("GIT_PAGER");
    if pager.is_none() {
        pager = match git.user_setting("pager.diff")?.as_deref() {
            Some("false" | "no" | "off" | "0") => return Ok(None),
            // For these values, the general setting applies.
            None | Some("" | "true" | "yes" | "on" | "1") => git.user_setting("core.pager")?,
            Some(pager) => Some(pager.to_owned()),
        };
    }
    let pager = pager.or_else(|| variable("PAGER"));
    let pager = pager.unwrap_or_else(|| DEFAULT_PAGER.to_owned());
    let is_wanted = !matches!(pager.trim(), "" | "cat");
    Ok(is_wanted.then_some(pager))
}

/// The user's variables, without those that lead git to a repository, and with git's own defaults
/// for pagers.
fn variables(environment: &Environment) -> BTreeMap<OsString, OsString> {
    let mut variables = environment.variables().clone();
    variables.retain(|name, _| {
        let name = name.to_string_lossy();
        !name.starts_with("GIT_") || USER_FILES.contains(&&*name)
    });
    variables.insert("PWD".into(), DIRECTORY.into());
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        variables.entry(name.into()).or_insert_with(|| value.into());
    }
    variables
}
