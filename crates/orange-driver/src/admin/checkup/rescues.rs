//! Reports saved work, and repositories that are gone.

use orange_config::Project;
use orange_engine::time::Timestamp;

use super::{Checkup, Health};
use crate::DriverError;
use crate::admin::Admin;

impl Admin {
    /// Reports how much saved work each repository has, and since when.
    pub(crate) fn check_kept_work(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            let what = format!("saved work of {}", project.name);
            match self.rescue_times(project) {
                Ok(load) => found.push(rescue_checkup(what, &load)),
                Err(error) => {
                    let what = format!("project {}", project.name);
                    let name = &project.name;
                    let fix = format!(
                        "restore `{}`, or run `orange project remove {name}`",
                        project.path.display()
                    );
                    let gone = Checkup::new(what, Health::Error, error.to_string());
                    found.push(gone.with_fix(fix));
                }
            }
        }
    }

    /// The task and creation time of each rescue, oldest first.
    fn rescue_times(&self, project: &Project) -> Result<Vec<(String, Timestamp)>, DriverError> {
        Ok(self.workspaces.open_repository(project)?.rescue_times()?)
    }
}

fn rescue_checkup(what: String, kept: &[(String, Timestamp)]) -> Checkup {
    let Some((task, since)) = kept.first() else {
        return Checkup::new(what, Health::Ok, "none");
    };
    let count = kept.len();
    let found = format!("entries: {count}; the oldest is from task `{task}`, {since}");
    let fix = format!(
        "run `orange task restore {task}` to list it, or `orange workspace gc` to list saved work \
         that the default branch already contains"
    );
    Checkup::new(what, Health::Ok, found).with_fix(fix)
}
