//! Finds projects whose submodules stay empty in worktrees.

use orange_config::Project;

use super::{Checkup, Health};
use crate::admin::Admin;

impl Admin {
    /// git does not check out the submodules of a new worktree, so a script of the project has to.
    pub(crate) fn check_submodules(projects: &[Project], found: &mut Vec<Checkup>) {
        let has_submodules = |it: &&Project| it.path.join(".gitmodules").is_file();
        let without_setup = projects.iter().filter(|it| it.setup.is_empty());
        for project in without_setup.filter(has_submodules) {
            let name = &project.name;
            let text = format!("project `{name}` has submodules, which are empty in worktrees");
            let fix = format!(
                "if its tasks need them, run `orange project update {name} --setup 'git submodule \
                 update --init'`"
            );
            found.push(Checkup::new("submodules", Health::Warning, text).with_fix(fix));
        }
    }
}
