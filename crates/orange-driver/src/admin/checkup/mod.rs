//! Checks that everything agents need is ready, before a task needs it.

mod chat;
mod default_branches;
mod disks;
mod filters;
mod forge;
mod harness_settings;
mod jobs;
mod leftovers;
mod notifications;
mod policies;
mod rescues;
mod sandbox;
mod skills;
mod submodules;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use orange_config::{Harness, Harnesses, Project, ReadyState};
use orange_effects::command::Invocation;
use orange_effects::version::parse_version;
use orange_engine::names::HarnessName;
use orange_store::{Store, StoreError};
use serde::Serialize;

use self::harness_settings::unknown_harnesses;
use crate::DriverError;
use crate::admin::Admin;

/// The required programs, the flag that prints their version, and the minimum version.
const REQUIRED_PROGRAMS: [(&str, &str, (u32, u32)); 2] =
    [("git", "--version", (2, 38)), ("tmux", "-V", (3, 3))];

/// How long a program may take to print its version; some start slowly.
const VERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// No problem.
    Ok,
    /// Not installed, and nothing needs it.
    Missing,
    /// A problem that may matter later.
    Warning,
    /// A problem that keeps agents from working.
    Error,
    /// The check could not be made.
    Unknown,
}

/// One check of `orange doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Checkup {
    /// What was checked: a program, a harness, a harness in a project.
    pub subject: String,
    /// The result.
    pub health: Health,
    /// What was found.
    pub message: String,
    /// How to fix it.
    pub fix: Option<String>,
}

impl Checkup {
    fn new(what: impl Into<String>, health: Health, found: impl Into<String>) -> Self {
        Self {
            subject: what.into(),
            health,
            message: found.into(),
            fix: None,
        }
    }

    fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// A project and the harnesses that its tasks use.
struct ProjectHarnesses {
    project: Project,
    harnesses: Vec<HarnessName>,
}

impl Admin {
    /// Checks everything that agents need. Changes nothing.
    pub fn check_up(&self) -> Result<Vec<Checkup>, DriverError> {
        let mut found: Vec<Checkup> = REQUIRED_PROGRAMS
            .iter()
            .map(|(program, flag, needed)| self.check_program(program, flag, *needed))
            .collect();
        if let Err(error) = self.context.tmux.require_short_path() {
            found.push(Checkup::new("tmux", Health::Error, error.to_string()));
        }
        found.push(self.check_store());
        let settings = self.context.settings(None);
        let has_settings = settings.is_ok();
        let sandbox = settings.as_ref().ok().map(|it| it.sandbox.clone());
        let mut set_harnesses = BTreeSet::new();
        match settings {
            Ok(settings) => {
                found.push(self.check_sandbox(&settings.sandbox));
                self.check_chats(&settings, &mut found);
                self.check_notifications(&settings.notify, &mut found);
                let set = [settings.harness, settings.review_harness];
                set_harnesses.extend(set.into_iter().flatten());
            }
            Err(error) => found.push(broken_settings(&error)),
        }
        let projects = self.context.projects()?.projects;
        if let Some(sandbox) = &sandbox {
            self.check_sandboxes(sandbox, &projects, &mut found);
        }
        self.check_disks(&projects, &mut found);
        self.check_leftovers(&mut found);
        self.check_kept_work(&projects, &mut found);
        self.check_default_branches(&projects, &mut found);
        self.check_policies(&projects, &mut found);
        self.check_jobs(&mut found);
        self.check_submodules(&projects, &mut found);
        self.check_private_repositories(&projects, &mut found);
        self.check_filters(&projects, &mut found);
        self.check_forges(&projects, &mut found);
        let harnesses = self.context.harnesses()?;
        let mut project_harnesses = Vec::new();
        for project in projects.iter().filter(|_| has_settings) {
            // Only its policy can be wrong, which another check reports.
            let Ok(settings) = self.context.settings(Some(project)) else {
                continue;
            };
            let requested = [settings.harness, settings.review_harness];
            let mut requested: Vec<HarnessName> = requested.into_iter().flatten().collect();
            set_harnesses.extend(requested.iter().cloned());
            if requested.is_empty() {
                requested.extend(self.context.first_installed(&harnesses));
            }
            let project = project.clone();
            project_harnesses.push(ProjectHarnesses {
                project,
                harnesses: requested,
            });
        }
        found.extend(unknown_harnesses(&harnesses, &set_harnesses));
        if self.context.first_installed(&harnesses).is_none() {
            found.push(no_agent(&harnesses));
        }
        for (name, harness) in harnesses.all() {
            match harness {
                Ok(harness) => {
                    self.check_harness(harness, &project_harnesses, &mut found);
                    found.extend(self.check_skill(harness));
                }
                Err(error) => {
                    let broken = Checkup::new(name, Health::Error, error.to_string());
                    found.push(broken.with_fix(error.hint()));
                }
            }
        }
        Ok(found)
    }

    fn check_program(&self, program: &str, flag: &str, needed: (u32, u32)) -> Checkup {
        let at_least = format!("{}.{}", needed.0, needed.1);
        let fix = format!("install {program} {at_least} or newer");
        match self.read_version(OsStr::new(program), flag) {
            Err(why) => Checkup::new(program, Health::Error, why).with_fix(fix),
            Ok(version) => match parse_version(&version) {
                Some(found) if found < needed => {
                    let older = format!("{version}, which is older than {at_least}");
                    Checkup::new(program, Health::Error, older).with_fix(fix)
                }
                _ => Checkup::new(
                    program,
                    Health::Ok,
                    format!("{version}; {at_least} or newer is needed"),
                ),
            },
        }
    }

    fn check_store(&self) -> Checkup {
        let what = "orange's home";
        let path = self.context.home.path().display();
        match Store::open_read_only(&self.context.home) {
            Ok(_) => Checkup::new(what, Health::Ok, path.to_string()),
            Err(StoreError::Missing { .. }) => {
                Checkup::new(what, Health::Ok, format!("{path}, no tasks yet"))
            }
            Err(error) => Checkup::new(what, Health::Error, error.to_string())
                .with_fix("run `orange task list`; its error says what to do"),
        }
    }

    fn check_harness(
        &self,
        harness: &Harness,
        project_harnesses: &[ProjectHarnesses],
        found: &mut Vec<Checkup>,
    ) {
        let name = harness.name.as_str();
        let users = project_harnesses
            .iter()
            .filter(|it| it.harnesses.contains(&harness.name));
        let users: Vec<&ProjectHarnesses> = users.collect();
        let severity = match users.as_slice() {
            [] => Health::Warning,
            _ => Health::Error,
        };
        let program = match harness.locate(self.context.environment.variable("PATH")) {
            Ok(program) => program,
            Err(error) => {
                let missing = match severity {
                    Health::Error => Health::Error,
                    _ => Health::Missing,
                };
                let missing = Checkup::new(name, missing, error.to_string());
                found.push(missing.with_fix(error.hint()));
                return;
            }
        };
        found.push(self.check_version(harness, &program));
        found.extend(self.check_login(harness));
        let environment = &self.context.environment;
        let relevant = harness.ready.iter().filter(|it| it.applies(environment));
        for readiness in relevant {
            let places: Vec<Option<&Path>> = if readiness.is_about_repository() {
                let paths = users.iter().map(|it| Some(it.project.path.as_path()));
                paths.collect()
            } else {
                vec![None]
            };
            for place in places {
                let what = match place {
                    Some(path) => format!("{name} in {}", path.display()),
                    None => name.to_owned(),
                };
                let checkup = match readiness.check(environment, place) {
                    ReadyState::Yes => Checkup::new(what, Health::Ok, &readiness.what),
                    ReadyState::No => {
                        let message = format!("not ready; required: {}", readiness.what);
                        Checkup::new(what, severity, message).with_fix(&readiness.fix)
                    }
                    ReadyState::Unknown(why) => {
                        let unknown = format!("cannot check whether {}: {why}", readiness.what);
                        Checkup::new(what, Health::Unknown, unknown).with_fix(&readiness.fix)
                    }
                };
                found.push(checkup);
            }
        }
    }

    /// Compares the version of a shipped harness's program with the tested version.
    fn check_version(&self, harness: &Harness, program: &Path) -> Checkup {
        let name = harness.name.as_str();
        let program_path = program.display().to_string();
        let Some(tested) = Harnesses::tested_version(&harness.name) else {
            return Checkup::new(name, Health::Ok, program_path);
        };
        match self.read_version(program.as_os_str(), "--version") {
            Ok(version) if version.split([' ', 'v']).any(|word| word == tested) => {
                Checkup::new(name, Health::Ok, format!("{version}, the tested version"))
            }
            Ok(version) => Checkup::new(
                name,
                Health::Warning,
                format!("{version}; the tested version is {tested}"),
            ),
            Err(why) => Checkup::new(name, Health::Unknown, why)
                .with_fix(format!("run `{program_path} --version`")),
        }
    }

    /// The last line that a program prints when it is asked for its version.
    fn read_version(&self, program: &OsStr, flag: &str) -> Result<String, String> {
        let invocation = Invocation::new(program, self.context.environment.passed_variables([]));
        let invocation = invocation.arguments([flag]).timeout(VERSION_TIMEOUT);
        let finished = invocation
            .require_success()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&finished.stdout.bytes).into_owned();
        let mut lines = text.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty());
        last.map(str::to_owned)
            .ok_or_else(|| String::from("it prints no version"))
    }
}

/// A finding about a machine on which no task can start.
fn no_agent(harnesses: &Harnesses) -> Checkup {
    let names = harnesses.names().map(|name| format!("`{name}`"));
    let names: Vec<String> = names.collect();
    let fix = format!(
        "install one of these: {}; or define your own (docs/writing-a-harness.md)",
        names.join(", ")
    );
    Checkup::new("agents", Health::Error, "no coding agent is installed").with_fix(fix)
}

/// A finding about an invalid `config.toml`, without which the harnesses of projects cannot be
/// checked.
fn broken_settings(error: &DriverError) -> Checkup {
    let fix = error.report().hints.join("; ");
    Checkup::new("config.toml", Health::Error, error.to_string()).with_fix(fix)
}
