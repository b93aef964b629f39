//! Checks whether installed skills are up to date.

use orange_config::Harness;
use orange_effects::skill_file::{self, Found};

use super::{Checkup, Health};
use crate::admin::Admin;
use crate::admin::skills::{move_away, why_left};

impl Admin {
    /// Checks the skill of an agent that is installed and supports skills.
    pub(crate) fn check_skill(&self, harness: &Harness) -> Option<Checkup> {
        let path = self.context.environment.variable("PATH");
        harness.locate(path).ok()?;
        let skills = harness.skills(&self.context.environment)?;
        let name = &harness.name;
        let what = format!("skill of {name}");
        let install = format!("run `orange install --harness {name}`");
        Some(match (skill_file::look(&skills), self.skill_text()) {
            (Err(error), _) => {
                Checkup::new(what, Health::Unknown, error.to_string()).mended_by(install)
            }
            (_, Err(error)) => Checkup::new(what, Health::Unknown, error.to_string())
                .mended_by("run `orange workflow check`"),
            (Ok(Found::Absent), _) => {
                Checkup::new(what, Health::Absent, "not installed").mended_by(install)
            }
            (Ok(Found::Own(found)), Ok((text, _))) if found == text => {
                Checkup::new(what, Health::Good, "it tells what the workflows say")
            }
            (Ok(Found::Own(_)), Ok(_)) => {
                let older = "it tells of workflows as they were";
                Checkup::new(what, Health::Doubtful, older).mended_by(install)
            }
            (Ok(found), Ok(_)) => {
                let mend = move_away(&found, &skill_file::path(&skills));
                let theirs = format!("nobody keeps it true: {}", why_left(&found));
                Checkup::new(what, Health::Doubtful, theirs)
                    .mended_by(format!("{mend}, then {install}"))
            }
        })
    }
}
