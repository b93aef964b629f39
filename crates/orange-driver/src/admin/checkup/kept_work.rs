//! Reports rescued work, and repositories that are gone.

use orange_config::Project;
use orange_engine::time::Timestamp;

use super::{Checkup, Health};
use crate::DriverError;
use crate::admin::Admin;

impl Admin {
    /// Reports how much unsaved work each repository keeps, and since when.
    pub(crate) fn check_kept_work(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            let what = format!("kept work of {}", project.name);
            match self.kept_since(project) {
                Ok(kept) => found.push(told(what, &kept)),
                Err(error) => {
                    let what = format!("project {}", project.name);
                    let name = &project.name;
                    let mend = format!(
                        "bring `{}` back, or run `orange project remove {name}`",
                        project.path.display()
                    );
                    let gone = Checkup::new(what, Health::Bad, error.to_string());
                    found.push(gone.mended_by(mend));
                }
            }
        }
    }

    /// The task and creation time of each rescue, oldest first.
    fn kept_since(&self, project: &Project) -> Result<Vec<(String, Timestamp)>, DriverError> {
        Ok(self.workspaces.open_repository(project)?.rescue_times()?)
    }
}

fn told(what: String, kept: &[(String, Timestamp)]) -> Checkup {
    let Some((task, since)) = kept.first() else {
        return Checkup::new(what, Health::Good, "no unsaved work is kept");
    };
    let count = kept.len();
    let found = format!("{count} kept; the oldest is of task `{task}`, from {since}");
    let mend = format!(
        "`orange task restore {task}` shows it; `orange workspace gc` lists what the default \
         branch holds by now"
    );
    Checkup::new(what, Health::Good, found).mended_by(mend)
}
