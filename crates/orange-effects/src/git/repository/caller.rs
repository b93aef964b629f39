//! How git is started: which program, with what environment, for how long.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::{Environment, Home};

use super::call::Call;
use super::settings::Setting;
use crate::command::Invocation;

/// How much of an answer is read: a listing of some million files.
const LIMIT: usize = 1024 * 1024 * 1024;

/// What every call is told, whatever the user says.
const SETTINGS: &[(&str, &str)] = &[
    // No program of the repository runs, and none asks anybody anything.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    // A change must not stay unseen, and history is what commits say it is.
    ("core.commitGraph", "false"),
    ("core.untrackedCache", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    // What is said to be saved survives a loss of power.
    ("core.fsync", "all"),
];

/// Who makes rescues; a person's name must not stand under what no person wrote.
pub(crate) const IDENTITY: &[(&str, &str)] = &[
    ("GIT_AUTHOR_NAME", "orange"),
    ("GIT_AUTHOR_EMAIL", "orange@localhost"),
    ("GIT_COMMITTER_NAME", "orange"),
    ("GIT_COMMITTER_EMAIL", "orange@localhost"),
];

/// How long each kind of call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// A look at what is on this machine.
    pub look: Duration,
    /// What reads or writes many files.
    pub work: Duration,
    /// What uses the network.
    pub network: Duration,
    /// A lock on the index, before it is looked at closely.
    pub lock: Duration,
}

/// Variables by their names.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// Everything that calls of git have in common.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    program: OsString,
    environment: Variables,
    /// What git is told of a repository's settings.
    pub told: Vec<Setting>,
    pub timeouts: Timeouts,
    /// Where directories of our own may be made, the best first.
    pub folders: Vec<PathBuf>,
}

impl Caller {
    pub fn new(program: OsString, environment: &Environment) -> Self {
        let home = Home::resolve(environment).ok();
        let temporary = environment.variable("TMPDIR").map(PathBuf::from);
        let temporary = temporary.unwrap_or_else(|| PathBuf::from("/tmp"));
        let user = rustix::process::geteuid().as_raw();
        let folders = home.map(|home| home.git()).into_iter();
        Self {
            program,
            environment: environment.passed([]),
            told: Vec::new(),
            timeouts: Timeouts {
                look: Duration::from_secs(30),
                work: Duration::from_mins(5),
                network: Duration::from_mins(1),
                lock: Duration::from_secs(5),
            },
            folders: folders
                .chain([temporary.join(format!("orange-git-{user}"))])
                .collect(),
        }
    }

    /// A call that finds out which repository a directory belongs to.
    pub fn discovering(&self, directory: &Path) -> Call {
        self.invoke(self.variables(&[]), directory)
    }

    pub fn invoke(&self, variables: Variables, directory: &Path) -> Call {
        let invocation = Invocation::new(&self.program, variables)
            .directory(directory)
            .timeout(self.timeouts.look)
            .limit(LIMIT)
            .arguments(["--literal-pathspecs"]);
        Call::new(invocation, self.timeouts.work)
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
        let known = self.told.iter().chain(settings);
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
