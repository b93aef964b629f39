//! Installs and removes the skill that teaches agents to use orange.

use std::path::{Path, PathBuf};

use orange_config::Harness;
use orange_effects::skill_file::{self, Found, Outcome};
use orange_engine::Workflow;
use orange_engine::names::HarnessName;
use orange_engine::skill::{marked, skill};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;

/// What became of the skill of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Taught {
    /// The harness.
    pub harness: HarnessName,
    /// The file.
    pub path: PathBuf,
    /// What came of it.
    pub outcome: Teaching,
    /// Why it was left as it is, or what stood in the way.
    pub reason: Option<String>,
    /// What mends it.
    pub mend: Option<String>,
}

/// What can come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Teaching {
    /// It was not there and is now.
    Written,
    /// It said something else before.
    Updated,
    /// It was as it should be.
    Already,
    /// It was there and is gone.
    Removed,
    /// There was none of ours.
    Absent,
    /// Somebody changed it or put something else there; it was left as it is.
    Left,
    /// The system says no.
    Failed,
}

/// What to do with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// Install it or bring it up to date.
    Teach,
    /// Remove it.
    Forget,
}

impl Admin {
    /// Writes or removes the skill of one agent, or of every installed one; also returns the names
    /// of the workflows that it was made from.
    pub fn teach(
        &self,
        named: Option<&HarnessName>,
        lesson: Lesson,
    ) -> Result<(Vec<Taught>, Vec<String>), DriverError> {
        self.callers.require_person("install a skill")?;
        let places = self.places_of_skills(named, lesson)?;
        let (text, workflows) = match lesson {
            Lesson::Teach => self.skill_text()?,
            Lesson::Forget => (String::new(), Vec::new()),
        };
        let taught = places.into_iter().map(|(harness, skills)| {
            let done = match lesson {
                Lesson::Teach => skill_file::put(&skills, &text),
                Lesson::Forget => skill_file::take_away(&skills),
            };
            let path = skill_file::path(&skills);
            let outcome = match &done {
                Ok(Outcome::Written) => Teaching::Written,
                Ok(Outcome::Updated) => Teaching::Updated,
                Ok(Outcome::Already) => Teaching::Already,
                Ok(Outcome::Removed) => Teaching::Removed,
                Ok(Outcome::Absent) => Teaching::Absent,
                Ok(Outcome::Left(_)) => Teaching::Left,
                Err(_) => Teaching::Failed,
            };
            let (reason, mend) = match &done {
                Ok(Outcome::Left(found)) => {
                    let mend = move_away(found, &path);
                    let again = match lesson {
                        Lesson::Teach => format!(", then run `orange install --harness {harness}`"),
                        Lesson::Forget => String::new(),
                    };
                    (Some(why_left(found)), Some(mend + &again))
                }
                Err(error) => {
                    let look = format!("ls -ld {}", skills.display());
                    let mend = format!("run `{look}`: it must be a directory you may write to");
                    (Some(error.to_string()), Some(mend))
                }
                Ok(_) => (None, None),
            };
            Taught {
                harness,
                path,
                outcome,
                reason,
                mend,
            }
        });
        Ok((taught.collect(), workflows))
    }

    /// The current text of the skill, and the workflows that it describes: the one from the
    /// settings first, then those of the projects.
    pub(crate) fn skill_text(&self) -> Result<(String, Vec<String>), DriverError> {
        let mut names = vec![self.context.settings(None)?.workflow];
        for project in &self.context.projects()?.projects {
            let own = self.context.settings(Some(project))?.workflow;
            if !names.contains(&own) {
                names.push(own);
            }
        }
        let loaded = names.iter().map(|name| Ok(self.context.workflow(name)?.0));
        let workflows: Vec<Workflow> = loaded.collect::<Result<_, DriverError>>()?;
        let workflows: Vec<&Workflow> = workflows.iter().collect();
        Ok((marked(&skill(&workflows)), names))
    }

    /// The harnesses concerned, each with its folder of skills. Removing includes agents that are
    /// no longer installed, because they may have left a skill behind.
    fn places_of_skills(
        &self,
        named: Option<&HarnessName>,
        lesson: Lesson,
    ) -> Result<Vec<(HarnessName, PathBuf)>, DriverError> {
        let harnesses = self.context.harnesses()?;
        let place = |harness: &Harness| {
            let skills = harness.skills(&self.context.environment)?;
            Some((harness.name.clone(), skills))
        };
        if let Some(name) = named {
            let harness = harnesses.require(name)?;
            let none = || DriverError::NoSkills(Some(name.clone()));
            return Ok(vec![place(harness).ok_or_else(none)?]);
        }
        let path = self.context.environment.variable("PATH");
        let is_meant = |it: &&Harness| lesson == Lesson::Forget || it.locate(path).is_ok();
        let usable = harnesses
            .all()
            .iter()
            .filter_map(|(_, it)| it.as_ref().ok());
        let places: Vec<_> = usable.filter(is_meant).filter_map(place).collect();
        if places.is_empty() {
            return Err(DriverError::NoSkills(None));
        }
        Ok(places)
    }
}

/// Why an existing file was left alone.
pub(crate) fn why_left(found: &Found) -> String {
    String::from(match found {
        Found::Changed => "somebody has changed it since orange wrote it",
        Found::Foreign(what) | Found::Elsewhere(what) => what,
        Found::Absent | Found::Own(_) => "it changes all the time",
    })
}

/// How the user can keep the existing file and make room; agents find no skill under the new name.
pub(crate) fn move_away(found: &Found, file: &Path) -> String {
    match (found, file.parent()) {
        (Found::Elsewhere(_), Some(folder)) => {
            format!("move it away with `mv {} ~/`", folder.display())
        }
        _ => format!("keep it beside with `mv {0} {0}.mine`", file.display()),
    }
}
