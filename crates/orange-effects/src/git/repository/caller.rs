//! How git is started: program, environment, timeouts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::{Environment, Home, ORANGE_BACKGROUND};

use super::call::Call;
use super::settings::Setting;
use crate::command::Invocation;

/// How much output is read, in bytes; enough for a listing of several million files.
const LIMIT: usize = 1024 * 1024 * 1024;

/// Settings for every command, whatever the user's configuration says.
const SETTINGS: &[(&str, &str)] = &[
    // No program of the repository runs, and none prompts the user.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("diff.suppressBlankEmpty", "false"),
    // Names are shown as they are, not as octal codes.
    ("core.quotePath", "false"),
    // git compares files thoroughly, so that it misses no change, and reads history from commits
    // only.
    ("core.commitGraph", "false"),
    ("core.untrackedCache", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    // We replace the graft file below; without this setting, git would print a hint about that
    // every time.
    ("advice.graftFileDeprecated", "false"),
    // What we report as saved must survive a power loss.
    ("core.fsync", "all"),
    // A slow disk holds a lock longer than git's tenth of a second, and a git that outlives its
    // caller still holds one. In milliseconds.
    ("core.filesRefLockTimeout", "5000"),
    ("core.packedRefsTimeout", "5000"),
];

/// The author of rescues; a user's name must not be on commits that no user made.
pub(crate) const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "orange"),
    ("GIT_AUTHOR_EMAIL", "orange@localhost"),
    ("GIT_COMMITTER_NAME", "orange"),
    ("GIT_COMMITTER_EMAIL", "orange@localhost"),
];

/// The timeouts for each kind of command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Reading local state.
    pub read: Duration,
    /// Reading or writing many files.
    pub long: Duration,
    /// Using the network.
    pub network: Duration,
    /// Waiting for a lock on the index, before its owner is checked.
    pub lock: Duration,
}

/// Environment variables.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// Everything that all git commands share.
#[derive(Clone, Debug)]
pub(crate) struct GitProgram {
    program: OsString,
    environment: Variables,
    /// The repository's settings that are passed to git.
    pub passed_settings: Vec<Setting>,
    pub timeouts: Timeouts,
    /// Where we may create our own directories, in order of preference.
    pub folders: Vec<PathBuf>,
}

impl GitProgram {
    pub fn new(program: OsString, environment: &Environment) -> Self {
        let home = Home::resolve(environment).ok();
        let temporary = environment.variable("TMPDIR").map(PathBuf::from);
        let temporary = temporary.unwrap_or_else(|| PathBuf::from("/tmp"));
        let user = rustix::process::geteuid().as_raw();
        let mut variables = environment.passed_variables([]);
        // git may run a filter of the user, which may run code of the project: nothing below git is
        // the user, even if the user's own command runs git.
        if let Some(home) = &home {
            variables.insert(ORANGE_BACKGROUND.into(), home.path().into());
        }
        let folders = home.map(|home| home.git()).into_iter();
        Self {
            program,
            environment: variables,
            passed_settings: Vec::new(),
            timeouts: Timeouts {
                read: Duration::from_secs(30),
                long: Duration::from_mins(5),
                network: Duration::from_mins(1),
                lock: Duration::from_secs(5),
            },
            folders: folders
                .chain([temporary.join(format!("orange-git-{user}"))])
                .collect(),
        }
    }

    /// A command that finds out which repository a directory belongs to.
    pub fn discovery_call(&self, directory: &Path) -> Call {
        self.invoke(self.variables(&[]), directory)
    }

    pub fn invoke(&self, variables: Variables, directory: &Path) -> Call {
        let invocation = Invocation::new(&self.program, variables)
            .directory(directory)
            .timeout(self.timeouts.read)
            .limit(LIMIT)
            .arguments(["--literal-pathspecs"]);
        Call::new(invocation, self.timeouts.long)
    }

    pub fn variables(&self, settings: &[Setting]) -> Variables {
        let mut variables = self.environment.clone();
        let mut set = |name: &str, value: &OsStr| variables.insert(name.into(), value.into());
        for (name, value) in IDENTITY {
            set(name, value.as_ref());
        }
        set("LC_ALL", "C".as_ref());
        set("GIT_TERMINAL_PROMPT", "0".as_ref());
        set("GIT_OPTIONAL_LOCKS", "0".as_ref());
        set("GIT_NO_REPLACE_OBJECTS", "1".as_ref());
        set("GIT_GRAFT_FILE", "/dev/null".as_ref());
        let fixed = SETTINGS.iter().copied();
        let known = self.passed_settings.iter().chain(settings);
        let known = known.map(|(key, value)| (&**key, &**value));
        let mut count = 0;
        for (key, value) in fixed.chain(known) {
            set(&format!("GIT_CONFIG_KEY_{count}"), key.as_ref());
            set(&format!("GIT_CONFIG_VALUE_{count}"), value.as_ref());
            count += 1;
        }
        set("GIT_CONFIG_COUNT", count.to_string().as_ref());
        variables
    }
}
