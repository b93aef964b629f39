//! Checks whether installed skills are up to date.

use orange_config::Harness;
use orange_effects::skill_file::{self, SkillState};

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::admin::skills::{move_away_hint, reason_kept};

impl Admin {
    /// Checks the skill of an agent that is installed and supports skills.
    pub(crate) fn check_skill(&self, harness: &Harness) -> Option<Checkup> {
        let path = self.context.environment.variable("PATH");
        harness.locate(path).ok()?;
        let skills = harness.skills(&self.context.environment)?;
        let name = &harness.name;
        let what = format!("skill of {name}");
        let install = format!("run `orange install --harness {name}`");
        Some(match (skill_file::inspect(&skills), self.skill_text()) {
            (Err(error), _) => {
                Checkup::new(what, Health::Unknown, error.to_string()).with_fix(install)
            }
            (_, Err(error)) => Checkup::new(what, Health::Unknown, error.to_string())
                .with_fix("run `orange workflow check`"),
            (Ok(SkillState::Absent), _) => {
                Checkup::new(what, Health::Missing, "not installed").with_fix(install)
            }
            (Ok(SkillState::Own(found)), Ok((text, _))) if found == text => {
                Checkup::new(what, Health::Ok, "up to date")
            }
            (Ok(SkillState::Own(_)), Ok(_)) => {
                let message = "out of date: the workflows have changed";
                Checkup::new(what, Health::Warning, message).with_fix(install)
            }
            (Ok(found), Ok(_)) => {
                let fix = move_away_hint(&found, &skill_file::path(&skills));
                let message = format!("not kept up to date: {}", reason_kept(&found));
                Checkup::new(what, Health::Warning, message)
                    .with_fix(format!("{fix}, then {install}"))
            }
        })
    }
}
