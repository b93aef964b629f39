//! Reports saved work, merged branches, and repositories that are gone.

use std::collections::BTreeSet;

use orange_config::Project;
use orange_engine::language::workflow::Kind;
use orange_engine::time::Timestamp;
use orange_store::{RowFilter, Store};

use super::{Checkup, Health};
use crate::DriverError;
use crate::admin::Admin;

impl Admin {
    /// Reports how much saved work each repository has, and since when.
    pub(crate) fn check_kept_work(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            let what = format!("saved work of {}", project.name);
            match self.rescue_times(project) {
                Ok(rescues) => {
                    found.push(rescue_checkup(what, &rescues));
                    found.extend(self.check_merged_branches(project));
                }
                Err(error) => {
                    let what = format!("project {}", project.name);
                    let name = &project.name;
                    let fix = format!(
                        "restore `{}`, or run `orange project update {name} --path DIRECTORY` if \
                         you moved it, or `orange project remove {name}`",
                        project.path.display()
                    );
                    let gone = Checkup::new(what, Health::Error, error.to_string());
                    found.push(gone.with_fix(fix));
                }
            }
        }
    }

    /// Reports the branches of finished tasks that are merged into the default branch and still
    /// exist.
    fn check_merged_branches(&self, project: &Project) -> Option<Checkup> {
        // Other checks report problems with the database or the repository.
        let store = Store::open_read_only(&self.context.home).ok()?;
        let filter = RowFilter {
            project: Some(project.name.clone()),
            ..RowFilter::default()
        };
        let rows = store.rows(&filter).ok()?.rows;
        let ended = rows.iter().filter(|it| it.kind == Some(Kind::Terminal));
        let ended: BTreeSet<&str> = ended.map(|it| it.branch.as_str()).collect();
        let git = self.workspaces.open_repository(project).ok()?;
        let mut merged = git.merged_branches(&project.default_branch).ok()?;
        merged.retain(|branch| ended.contains(branch.as_str()));
        let first = merged.first()?;
        let name = &project.name;
        let found = format!("kept after merging: {}, such as `{first}`", merged.len());
        let fix = format!(
            "delete one with `git branch -d {first}`; `orange project update {name} \
             --delete-branch true` deletes them from now on"
        );
        let what = format!("branches of {name}");
        Some(Checkup::new(what, Health::Ok, found).with_fix(fix))
    }

    /// The task and creation time of each rescue, oldest first.
    fn rescue_times(&self, project: &Project) -> Result<Vec<(String, Timestamp)>, DriverError> {
        Ok(self.workspaces.open_repository(project)?.rescue_times()?)
    }
}

fn rescue_checkup(what: String, rescues: &[(String, Timestamp)]) -> Checkup {
    let Some((task, since)) = rescues.first() else {
        return Checkup::new(what, Health::Ok, "none");
    };
    let count = rescues.len();
    let found = format!("entries: {count}; the oldest is from task `{task}`, {since}");
    let fix = format!(
        "run `orange task restore {task}` to list it, or `orange workspace gc` to list saved work \
         that the default branch already contains"
    );
    Checkup::new(what, Health::Ok, found).with_fix(fix)
}
