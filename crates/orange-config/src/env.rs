//! Reads the environment, and names the variables of orange.
//!
//! `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` matter too; anstream reads them for `output/`. The
//! tables in `passed_variables.rs` list which variables a program that orange starts may see.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where orange keeps its files; an absolute path.
pub const ORANGE_HOME: &str = "ORANGE_HOME";

/// The task that a run belongs to; set for agents.
pub const ORANGE_TASK_ID: &str = "ORANGE_TASK_ID";

/// The run that a process belongs to; set for agents, and used to find processes when a run is
/// ended.
pub const ORANGE_RUN_ID: &str = "ORANGE_RUN_ID";

/// The role an agent runs as; set for agents.
pub const ORANGE_ROLE: &str = "ORANGE_ROLE";

/// The secret by which a run proves its identity; set for agents.
pub const ORANGE_RUN_PROOF: &str = "ORANGE_RUN_PROOF";

/// The conversation that a run resumes, if any; set for agents.
pub const ORANGE_RESUMED_ID: &str = "ORANGE_RESUMED_ID";

/// Where a headless run writes its report; set for agents.
pub const ORANGE_REPORT: &str = "ORANGE_REPORT";

/// The effect or gate that a command runs for; set for commands of a workflow.
pub const ORANGE_EFFECT_ID: &str = "ORANGE_EFFECT_ID";

/// The offset to add to every port, so that no two workspaces clash; set for agents,
/// for scripts of a project and for commands of a workflow.
pub const ORANGE_PORT_OFFSET: &str = "ORANGE_PORT_OFFSET";

/// Set for a long-lived tmux client that an orange process reads from. JSON with the tmux server's
/// socket and that orange process, so that a later orange can end the client if the process is
/// gone.
pub const ORANGE_LISTENER: &str = "ORANGE_LISTENER";

/// The home that a background process works for; set for performers, for processes that run gates
/// and for the tmux server. A process that one of these starts never counts as the user.
pub const ORANGE_BACKGROUND: &str = "ORANGE_BACKGROUND";

/// Marks a background process that an agent's call started. Such a process does not have the user's
/// variables.
pub const ORANGE_CALLER: &str = "ORANGE_CALLER";

/// How an agent's calls of orange get out of a sandbox without namespaces: a port of this machine
/// and the secret for it, as `PORT:SECRET`.
pub const ORANGE_SANDBOX_CALLS: &str = "ORANGE_SANDBOX_CALLS";

/// Where the processes around an agent in a sandbox without namespaces meet.
pub const ORANGE_SANDBOX_FOLDER: &str = "ORANGE_SANDBOX_FOLDER";

/// The address of the forge's API, for tests: a loopback address. Only the user's own calls use it.
pub const ORANGE_FORGE_API: &str = "ORANGE_FORGE_API";

/// The log level of `orange.log`; overrides `log.level` in `config.toml`.
pub const ORANGE_LOG: &str = "ORANGE_LOG";

/// The pattern for the branches of new tasks; overrides `branch` in `config.toml`.
pub const ORANGE_BRANCH: &str = "ORANGE_BRANCH";

/// How long commands wait; overrides `wait` in `config.toml`.
pub const ORANGE_WAIT: &str = "ORANGE_WAIT";

/// The access token of the Matrix bot, unless `chat.matrix.token_file` names a file.
pub const ORANGE_MATRIX_TOKEN: &str = "ORANGE_MATRIX_TOKEN";

/// The token of the Telegram bot, unless `chat.telegram.token_file` names a file.
pub const ORANGE_TELEGRAM_TOKEN: &str = "ORANGE_TELEGRAM_TOKEN";

/// The user's home directory; its subdirectory `orange` is the default home of orange.
const HOME: &str = "HOME";

/// The environment at the start of the program. An empty variable counts as unset.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    pub orange_home: Option<PathBuf>,
    pub home: Option<PathBuf>,
    variables: BTreeMap<OsString, OsString>,
    directory: Option<PathBuf>,
}

impl Environment {
    /// The path, with `~/` replaced by the user's home directory.
    pub(crate) fn expand_home(&self, path: PathBuf) -> PathBuf {
        match (path.strip_prefix("~"), self.variable(HOME)) {
            (Ok(rest), Some(home)) => Path::new(home).join(rest),
            _ => path,
        }
    }

    /// Reads every variable, once.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the only place that reads the environment"
    )]
    pub fn read() -> Self {
        Self::of(std::env::vars_os())
    }

    /// The directory the program was started in.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the only place that reads the environment"
    )]
    pub fn current_directory() -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    /// An environment of these variables.
    pub fn of<N, V>(variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let variables: BTreeMap<OsString, OsString> =
            variables.filter(|(_, value)| !value.is_empty()).collect();
        let path = |name: &str| variables.get(OsStr::new(name)).map(PathBuf::from);
        Self {
            orange_home: path(ORANGE_HOME),
            home: path(HOME),
            variables,
            directory: None,
        }
    }

    /// The same environment for commands that a server runs. They run in this directory, whichever
    /// one the server was started in.
    #[must_use]
    pub fn of_server(self, directory: PathBuf) -> Self {
        Self {
            directory: Some(directory),
            ..self
        }
    }

    /// The same environment, with these variables.
    #[must_use]
    pub fn with_variables<'a>(
        self,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let added = variables.into_iter();
        let added = added.map(|(name, value)| (name.into(), value.into()));
        Self {
            directory: self.directory,
            ..Self::of(self.variables.into_iter().chain(added))
        }
    }

    /// Whether commands run in a process that goes on after them.
    pub fn is_of_server(&self) -> bool {
        self.directory.is_some()
    }

    /// The directory that commands run in [default: the one the program was started in].
    pub fn directory(&self) -> Option<PathBuf> {
        self.directory.clone().or_else(Self::current_directory)
    }

    /// The locale that determines the character encoding; `None` when no locale is set.
    pub fn locale(&self) -> Option<Cow<'_, str>> {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let locale = names.iter().find_map(|name| self.variable(name))?;
        Some(locale.to_string_lossy())
    }

    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
    }

    pub fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }
}

/// Values may be secrets, so only the names are shown.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_set()
            .entries(self.variables.keys())
            .finish()
    }
}
