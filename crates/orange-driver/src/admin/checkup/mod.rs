//! Checks what agents need, before a task has to wait for it.

mod disks;
mod kept_work;
mod leftovers;
mod skills;

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use orange_config::{Harness, Harnesses, Project, Ready};
use orange_effects::command::Invocation;
use orange_effects::version::numbers;
use orange_engine::names::HarnessName;
use orange_store::{Store, StoreError};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;

/// The required programs, the flag that prints their version, and the minimum version.
const NEEDED: [(&str, &str, (u32, u32)); 2] =
    [("git", "--version", (2, 38)), ("tmux", "-V", (3, 3))];

/// How long a program may take to print its version; some start slowly.
const PATIENCE: Duration = Duration::from_secs(30);

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Not there, and nobody asked for it.
    Absent,
    /// It could stand in the way of something that nobody asked for yet.
    Doubtful,
    /// It stands in the way.
    Bad,
    /// It cannot be told.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Checkup {
    /// What: a program, a harness, a harness in a project.
    pub what: String,
    /// How it stands.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What mends it.
    pub mend: Option<String>,
}

impl Checkup {
    fn new(what: impl Into<String>, health: Health, found: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            health,
            found: found.into(),
            mend: None,
        }
    }

    fn mended_by(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }
}

/// A project and the harnesses that its tasks use.
struct Using {
    project: Project,
    harnesses: Vec<HarnessName>,
}

impl Admin {
    /// Checks everything that agents need. Changes nothing.
    pub fn check_up(&self) -> Result<Vec<Checkup>, DriverError> {
        let mut found: Vec<Checkup> = NEEDED
            .iter()
            .map(|(program, flag, needed)| self.check_program(program, flag, *needed))
            .collect();
        found.push(self.check_store());
        let projects = self.context.projects()?.projects;
        self.check_disks(&projects, &mut found);
        self.check_leftovers(&mut found);
        self.check_kept_work(&projects, &mut found);
        let harnesses = self.context.harnesses()?;
        let mut using = Vec::new();
        for project in &projects {
            let settings = self.context.settings(Some(project))?;
            let named = [settings.harness, settings.review_harness];
            let mut named: Vec<HarnessName> = named.into_iter().flatten().collect();
            if named.is_empty() {
                named.extend(self.context.first_installed(&harnesses));
            }
            let project = project.clone();
            using.push(Using {
                project,
                harnesses: named,
            });
        }
        for (name, harness) in harnesses.all() {
            match harness {
                Ok(harness) => {
                    self.check_harness(harness, &using, &mut found);
                    found.extend(self.check_skill(harness));
                }
                Err(error) => {
                    let bad = Checkup::new(name, Health::Bad, error.to_string());
                    found.push(bad.mended_by(error.hint()));
                }
            }
        }
        Ok(found)
    }

    fn check_program(&self, program: &str, flag: &str, needed: (u32, u32)) -> Checkup {
        let at_least = format!("{}.{}", needed.0, needed.1);
        let mend = format!("install {program} {at_least} or newer");
        match self.asked_version(OsStr::new(program), flag) {
            Err(why) => Checkup::new(program, Health::Bad, why).mended_by(mend),
            Ok(said) => match numbers(&said) {
                Some(found) if found < needed => {
                    let older = format!("{said}, which is older than {at_least}");
                    Checkup::new(program, Health::Bad, older).mended_by(mend)
                }
                _ => Checkup::new(
                    program,
                    Health::Good,
                    format!("{said}; {at_least} or newer is needed"),
                ),
            },
        }
    }

    fn check_store(&self) -> Checkup {
        let what = "home";
        let path = self.context.home.path().display();
        match Store::open_read_only(&self.context.home) {
            Ok(_) => Checkup::new(what, Health::Good, path.to_string()),
            Err(StoreError::Missing { .. }) => {
                Checkup::new(what, Health::Good, format!("{path}, without tasks yet"))
            }
            Err(error) => Checkup::new(what, Health::Bad, error.to_string())
                .mended_by("run `orange task list`, which says what to do"),
        }
    }

    fn check_harness(&self, harness: &Harness, using: &[Using], found: &mut Vec<Checkup>) {
        let name = harness.name.as_str();
        let users = using
            .iter()
            .filter(|it| it.harnesses.contains(&harness.name));
        let users: Vec<&Using> = users.collect();
        let trouble = match users.as_slice() {
            [] => Health::Doubtful,
            _ => Health::Bad,
        };
        let program = match harness.locate(self.context.environment.variable("PATH")) {
            Ok(program) => program,
            Err(error) => {
                let absent = match trouble {
                    Health::Bad => Health::Bad,
                    _ => Health::Absent,
                };
                let absent = Checkup::new(name, absent, error.to_string());
                found.push(absent.mended_by(error.hint()));
                return;
            }
        };
        found.push(self.check_version(harness, &program));
        for readiness in &harness.ready {
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
                let checkup = match readiness.look(&self.context.environment, place) {
                    Ready::Yes => Checkup::new(what, Health::Good, &readiness.what),
                    Ready::No => {
                        let not = format!("not so yet: {}", readiness.what);
                        Checkup::new(what, trouble, not).mended_by(&readiness.mend)
                    }
                    Ready::Unknown(why) => {
                        let unknown = format!("cannot be told: {}: {why}", readiness.what);
                        Checkup::new(what, Health::Unknown, unknown).mended_by(&readiness.mend)
                    }
                };
                found.push(checkup);
            }
        }
    }

    /// Compares the version of a shipped harness's program with the tested version.
    fn check_version(&self, harness: &Harness, program: &Path) -> Checkup {
        let name = harness.name.as_str();
        let shown = program.display().to_string();
        let Some(tested) = Harnesses::tested_version(&harness.name) else {
            return Checkup::new(name, Health::Good, shown);
        };
        match self.asked_version(program.as_os_str(), "--version") {
            Ok(said) if said.split([' ', 'v']).any(|word| word == tested) => Checkup::new(
                name,
                Health::Good,
                format!("{said}, the version that is tested"),
            ),
            Ok(said) => Checkup::new(
                name,
                Health::Doubtful,
                format!("{said}; the version that is tested is {tested}"),
            ),
            Err(why) => Checkup::new(name, Health::Unknown, why)
                .mended_by(format!("run `{shown} --version`")),
        }
    }

    /// The last line that a program prints about its version.
    fn asked_version(&self, program: &OsStr, flag: &str) -> Result<String, String> {
        let asked = Invocation::new(program, self.context.environment.passed([]));
        let asked = asked.arguments([flag]).timeout(PATIENCE);
        let finished = asked.require_success().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&finished.stdout.bytes).into_owned();
        let mut lines = said.lines().rev().map(str::trim);
        let last = lines.find(|line| !line.is_empty());
        last.map(str::to_owned)
            .ok_or_else(|| String::from("it says no version"))
    }
}
