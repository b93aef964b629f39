//! A temporary home with scripted agents, for the demo.
//!
//! Every process that a demo starts, and no other, has the demo's folder as its `HOME`; this is how
//! these processes are found and ended. The folder is locked while its demo lives, so that a later
//! demo recognizes what a killed one has left. A folder that is kept loses this lock file and
//! belongs to the user from then on.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_config::{Environment, Home, ORANGE_HOME, reason};
use orange_effects::command::Invocation;
use orange_effects::private_file;
use orange_effects::process::{KillTimeouts, ProcessError, end_with_variable, terminate};
use orange_engine::names::{HarnessName, ProjectName};

use crate::context::ids;
use crate::{Driver, DriverError};

const ROBOT: &str = include_str!("demo/robot.sh");

/// The name prefix of a demo's folder.
const PREFIX: &str = "orange-demo-";

/// The file that is locked while a demo lives.
const MARK: &str = ".demo";

/// The project, whose folder is next to the home.
const PROJECT: &str = "hello";

/// The variable that identifies everything a demo has started.
const HOME: &str = "HOME";

/// The user's variables that are needed to use terminals and editors and to find programs. No
/// others are passed on: settings, keys and logins stay out.
const PASSED_VARIABLES: &[&str] = &[
    "PATH",
    "SHELL",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TERM",
    "TERMINFO",
    "TERMINFO_DIRS",
    "COLORTERM",
    "COLORFGBG",
    "VISUAL",
    "EDITOR",
    "TMUX",
];

/// The initial files of the repository.
const FILES: &[(&str, &str)] = &[
    (
        "greet.sh",
        "#!/bin/sh\n# Greets: greet.sh LANGUAGE\ncat \"words/${1:-en}\"\n",
    ),
    ("words/en", "Hello\n"),
];

/// How long the supervisor may take to exit.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(20);

/// How long removing the folder may take while something still writes into it.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A temporary home, repository and agents.
#[derive(Debug)]
pub struct Demo {
    folder: PathBuf,
    driver: Driver,
    _lock: File,
}

impl Demo {
    /// Creates a demo whose agents pause this many seconds between two steps.
    pub fn new(environment: &Environment, orange: &Path, pause: u64) -> Result<Demo, DriverError> {
        let (folder, lock) = create_folder(&temporary_directory(environment))?;
        let demo = Demo::from_folder(folder, lock, environment, orange)?;
        match demo.fill(pause) {
            Ok(()) => Ok(demo),
            Err(error) => {
                // Report the original error, not a failed cleanup.
                let _unremoved = demo.end(false);
                Err(error)
            }
        }
    }

    /// Demos that were killed and left something behind.
    pub fn find_abandoned(environment: &Environment, orange: &Path) -> Vec<Demo> {
        let entries = fs::read_dir(temporary_directory(environment));
        let entries = entries.into_iter().flatten();
        let found = entries.flatten().filter_map(|entry| {
            let (name, folder) = (entry.file_name(), entry.path());
            let has_prefix = name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
            let lock = has_prefix.then(|| lock_abandoned(&folder)).flatten()?;
            Demo::from_folder(folder, lock, environment, orange).ok()
        });
        found.collect()
    }

    fn from_folder(
        folder: PathBuf,
        lock: File,
        environment: &Environment,
        orange: &Path,
    ) -> Result<Demo, DriverError> {
        let driver = Driver::new(&environment_in(&folder, environment), orange.to_owned())?;
        Ok(Demo {
            driver: driver.with_directory(Some(folder.join(PROJECT))),
            folder,
            _lock: lock,
        })
    }

    /// The folder that contains everything.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The project of the demo's tasks.
    pub fn project(&self) -> ProjectName {
        ProjectName::new(PROJECT)
    }

    fn fill(&self, pause: u64) -> Result<(), DriverError> {
        let robot = self.folder.join("robot.sh");
        write(&robot, ROBOT)?;
        let home: &Home = self.driver.context.home();
        let script = serde_json::Value::from(robot.to_string_lossy());
        let definition = format!(
            "name = \"robot\"\nbinary = \"sh\"\n\
             [args]\nfull = [{script}, \"{{prompt_file}}\"]\n\
             reduced = [{script}, \"{{prompt_file}}\"]\n\
             [environment]\nset = {{ DEMO_PAUSE = \"{pause}\" }}\n"
        );
        write(&home.harnesses().join("robot.toml"), &definition)?;
        // The robot does only what this program wrote, and the demo works on every machine.
        write(&home.settings(), "[sandbox]\nmode = \"off\"\n")?;
        let repository = self.folder.join(PROJECT);
        for (name, text) in FILES {
            write(&repository.join(name), text)?;
        }
        for words in [
            &["init", "-q", "-b", "main"][..],
            &["config", "user.name", "Demo"],
            &["config", "user.email", "demo@example.org"],
            &["add", "."],
            &["commit", "-q", "-m", "Greet"],
        ] {
            let git = Invocation::new("git", self.driver.context.environment.passed_variables([]));
            let git = git.directory(&repository).arguments(words);
            git.require_success()?;
        }
        let harness = Some(HarnessName::new("robot"));
        let name = Some(self.project());
        self.driver
            .admin
            .add_project(&repository, name, None, harness)?;
        Ok(())
    }

    /// Ends everything that the demo has started, and removes its folder unless the folder is kept.
    pub fn end(self, is_kept: bool) -> Result<(), DriverError> {
        // A supervisor would start things again. A supervisor in this process has already been
        // asked to stop.
        let _asked = self.driver.context.stop_supervisor(SUPERVISOR_TIMEOUT);
        Deadline::after(SUPERVISOR_TIMEOUT).wait_for(|| !self.driver.context.is_supervised());
        // On systems where processes do not show their variables, ending the server ends the agents
        // in its panes.
        if let Ok(listing) = self.driver.context.tmux.list() {
            let _gone = terminate(&listing.server.process);
        }
        match end_with_variable(HOME, self.folder.as_os_str(), KillTimeouts::default()) {
            Ok(_) | Err(ProcessError::Unsupported(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let removed = if is_kept {
            fs::remove_file(self.folder.join(MARK))
        } else {
            remove(&self.folder)
        };
        removed.map_err(|error| file_error("remove", &self.folder, &error))
    }
}

fn temporary_directory(environment: &Environment) -> PathBuf {
    let directory = environment.variable("TMPDIR").map(PathBuf::from);
    let directory = directory.filter(|it| it.is_absolute());
    let directory = directory.unwrap_or_else(|| PathBuf::from("/tmp"));
    // Use the canonical path, because processes are found by it.
    directory.canonicalize().unwrap_or(directory)
}

/// The environment inside a demo's folder.
fn environment_in(folder: &Path, environment: &Environment) -> Environment {
    let variables = environment.variables().iter();
    let passed =
        variables.filter(|(name, _)| PASSED_VARIABLES.iter().any(|it| *name == OsStr::new(it)));
    let passed = passed.map(|(name, value)| (name.clone(), value.clone()));
    let own = [
        (HOME, folder.to_owned()),
        (ORANGE_HOME, folder.join("orange")),
    ];
    let own = own.map(|(name, path)| (OsString::from(name), OsString::from(path)));
    Environment::of(passed.chain(own))
}

/// Creates the folder of a demo, and locks it.
fn create_folder(within: &Path) -> Result<(PathBuf, File), DriverError> {
    let name = format!("{PREFIX}{}", ids::task_id(6)?);
    let folder = within.join(name);
    let made = DirBuilder::new().mode(0o700).create(&folder);
    made.map_err(|error| file_error("create", &folder, &error))?;
    let lock = mark(&folder).map_err(|error| file_error("lock", &folder, &error))?;
    Ok((folder, lock))
}

/// Creates the mark. Locks it before it gets its name, so that no process ever finds it unlocked
/// while its demo lives.
fn mark(folder: &Path) -> io::Result<File> {
    let temporary_path = folder.join(".demo.new");
    let mut options = OpenOptions::new();
    let lock = options.write(true).create_new(true).mode(0o600);
    let lock = lock.open(&temporary_path)?;
    lock.lock()?;
    fs::rename(temporary_path, folder.join(MARK))?;
    Ok(lock)
}

/// The lock of a folder that belongs to this user and whose demo has ended.
fn lock_abandoned(folder: &Path) -> Option<File> {
    let metadata = fs::symlink_metadata(folder).ok()?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let is_private = metadata.is_dir() && metadata.mode() & 0o777 == 0o700;
    if !is_own || !is_private {
        return None;
    }
    let lock = OpenOptions::new()
        .write(true)
        .open(folder.join(MARK))
        .ok()?;
    lock.try_lock().is_ok().then_some(lock)
}

/// Removes the folder; retries, because a process that is about to exit may still be writing.
fn remove(folder: &Path) -> io::Result<()> {
    let mut removed = Ok(());
    Deadline::after(REMOVAL_TIMEOUT).wait_for(|| {
        removed = clear_folder(folder).and_then(|()| fs::remove_dir_all(folder));
        removed.is_ok()
    });
    removed
}

/// Removes everything but the mark first: if this process is killed meanwhile, the next demo still
/// recognizes the folder.
fn clear_folder(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == MARK {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), DriverError> {
    private_file::write_unsynced(path, text.as_bytes()).map_err(|error| DriverError::File {
        attempt: "write",
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

fn file_error(attempt: &'static str, path: &Path, error: &io::Error) -> DriverError {
    DriverError::File {
        attempt,
        path: path.to_owned(),
        reason: reason(error),
    }
}
