//! Finds empty submodules of worktrees, and kept ones of removed worktrees.

use orange_config::Project;

use super::{Checkup, Health};
use crate::admin::Admin;

impl Admin {
    pub(crate) fn check_submodules(&self, projects: &[Project], found: &mut Vec<Checkup>) {
        for project in projects {
            found.extend(self.empty_submodules(project));
            found.extend(self.kept_submodules(project));
        }
    }

    /// The git directories of submodules that were kept when their worktrees were removed. Another
    /// check reports a repository that cannot be opened.
    fn kept_submodules(&self, project: &Project) -> Option<Checkup> {
        let kept = self.workspaces.open_repository(project).ok()?;
        let kept = kept.kept_submodules();
        let folder = kept.first()?.parent()?.display().to_string();
        let (name, count) = (&project.name, kept.len());
        let text = format!(
            "project `{name}`: submodules of {count} removed worktrees are kept in `{folder}`"
        );
        let fix = "they may have commits that are nowhere else: for each git directory DIR in it, \
                   see `git --work-tree=. --git-dir=DIR log HEAD --all --not --remotes`; remove \
                   those that you do not need";
        Some(Checkup::new("submodules", Health::Warning, text).with_fix(fix))
    }

    /// Warns about a project that has submodules but no setup script: git does not check out the
    /// submodules of a new worktree.
    fn empty_submodules(&self, project: &Project) -> Option<Checkup> {
        let setup = self.context.setup_script(project);
        if setup.is_ok_and(|setup| !setup.command.is_empty())
            || !project.path.join(".gitmodules").is_file()
        {
            return None;
        }
        let name = &project.name;
        let text = format!("project `{name}` has submodules, which are empty in worktrees");
        let fix = format!(
            "if its tasks need them, run `orange project update {name} --setup 'git submodule update \
             --init'`"
        );
        Some(Checkup::new("submodules", Health::Warning, text).with_fix(fix))
    }
}
