//! Installs and removes the skill that teaches agents to use orange.

use std::path::{Path, PathBuf};

use orange_config::Harness;
use orange_effects::skill_file::{self, Outcome, SkillState};
use orange_engine::Workflow;
use orange_engine::names::HarnessName;
use orange_engine::skill::{add_mark, skill};
use serde::Serialize;

use crate::DriverError;
use crate::admin::Admin;

/// The result for the skill of one agent, or for its entry of the MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct InstallReport {
    /// The harness.
    pub harness: HarnessName,
    /// The skill file, or the file with the agent's MCP servers.
    pub path: PathBuf,
    /// What was done.
    pub outcome: SkillOutcome,
    /// Why it was left as it is, or why it failed.
    pub reason: Option<String>,
    /// How to fix it.
    pub fix: Option<String>,
}

/// What was done with a skill file or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillOutcome {
    /// It was created.
    Written,
    /// It was updated.
    Updated,
    /// It was already up to date.
    Unchanged,
    /// It was removed.
    Removed,
    /// There was no file that orange wrote.
    Absent,
    /// The file was changed, or orange did not write it, so it was left unchanged.
    Kept,
    /// The file operation failed.
    Failed,
}

/// What to do with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillAction {
    /// Install it or bring it up to date.
    Install,
    /// Remove it.
    Remove,
}

impl Admin {
    /// Writes or removes the skill of one agent. Without a name, writes the skill of every
    /// installed agent, or removes that of every known agent. Also returns the names of the
    /// workflows that a written skill describes.
    pub fn update_skills(
        &self,
        name: Option<&HarnessName>,
        action: SkillAction,
    ) -> Result<(Vec<InstallReport>, Vec<String>), DriverError> {
        self.callers.require_user("install a skill")?;
        let places = self.skill_folders(name, action)?;
        let (text, workflows) = match action {
            SkillAction::Install => self.skill_text()?,
            SkillAction::Remove => (String::new(), Vec::new()),
        };
        let reports = places.into_iter().map(|(harness, skills)| {
            let result = match action {
                SkillAction::Install => skill_file::install(&skills, &text),
                SkillAction::Remove => skill_file::remove(&skills),
            };
            let path = skill_file::path(&skills);
            let outcome = match &result {
                Ok(Outcome::Written) => SkillOutcome::Written,
                Ok(Outcome::Updated) => SkillOutcome::Updated,
                Ok(Outcome::Unchanged) => SkillOutcome::Unchanged,
                Ok(Outcome::Removed) => SkillOutcome::Removed,
                Ok(Outcome::Absent) => SkillOutcome::Absent,
                Ok(Outcome::Kept(_)) => SkillOutcome::Kept,
                Err(_) => SkillOutcome::Failed,
            };
            let (reason, fix) = match &result {
                Ok(Outcome::Kept(found)) => {
                    let fix = move_away_hint(found, &path);
                    let again = match action {
                        SkillAction::Install => {
                            format!(", then run `orange install --harness {harness}`")
                        }
                        SkillAction::Remove => String::new(),
                    };
                    (Some(reason_kept(found)), Some(fix + &again))
                }
                Err(error) => {
                    let list = format!("ls -ld {}", skills.display());
                    let fix = format!("run `{list}`: it must be a directory you may write to");
                    (Some(error.to_string()), Some(fix))
                }
                Ok(_) => (None, None),
            };
            InstallReport {
                harness,
                path,
                outcome,
                reason,
                fix,
            }
        });
        Ok((reports.collect(), workflows))
    }

    /// The current text of the skill, and the workflows that it describes: the one from the
    /// settings first, then those of the projects.
    pub(crate) fn skill_text(&self) -> Result<(String, Vec<String>), DriverError> {
        let mut names = vec![self.context.settings(None)?.workflow];
        for project in &self.context.projects()?.projects {
            // The skill is for the agents of all projects, so it has no text of one's policy.
            let workflow = self.context.own_settings(project)?.workflow;
            if !names.contains(&workflow) {
                names.push(workflow);
            }
        }
        let loaded = names
            .iter()
            .map(|name| Ok(self.context.workflow(None, name)?.0));
        let workflows: Vec<Workflow> = loaded.collect::<Result<_, DriverError>>()?;
        let workflows: Vec<&Workflow> = workflows.iter().collect();
        Ok((add_mark(&skill(&workflows)), names))
    }

    /// The harnesses to update, each with its folder of skills. Removing includes agents that are
    /// no longer installed, because they may have left a skill behind.
    pub(super) fn skill_folders(
        &self,
        requested: Option<&HarnessName>,
        action: SkillAction,
    ) -> Result<Vec<(HarnessName, PathBuf)>, DriverError> {
        let harnesses = self.context.harnesses()?;
        let place = |harness: &Harness| {
            let skills = harness.skills(&self.context.environment)?;
            Some((harness.name.clone(), skills))
        };
        if let Some(name) = requested {
            let harness = harnesses.require(name)?;
            let no_skills = || DriverError::NoSkills(Some(name.clone()));
            return Ok(vec![place(harness).ok_or_else(no_skills)?]);
        }
        let path = self.context.environment.variable("PATH");
        let is_selected = |it: &&Harness| action == SkillAction::Remove || it.locate(path).is_ok();
        let usable = harnesses.all().filter_map(|(_, it)| it.ok());
        let places: Vec<_> = usable.filter(is_selected).filter_map(place).collect();
        if places.is_empty() {
            return Err(DriverError::NoSkills(None));
        }
        Ok(places)
    }
}

/// Why an existing file was left alone.
pub(crate) fn reason_kept(found: &SkillState) -> String {
    String::from(match found {
        SkillState::Changed => "it was changed after orange wrote it",
        SkillState::Foreign(what) | SkillState::ForeignFolder(what) => what,
        SkillState::Absent | SkillState::Own(_) => "it keeps changing",
    })
}

/// How the user can keep the existing file but make room for orange's. Agents do not read a skill
/// under the new name.
pub(crate) fn move_away_hint(found: &SkillState, file: &Path) -> String {
    match (found, file.parent()) {
        (SkillState::ForeignFolder(_), Some(folder)) => {
            format!("move it away with `mv {} ~/`", folder.display())
        }
        _ => format!("rename it with `mv {0} {0}.mine`", file.display()),
    }
}
