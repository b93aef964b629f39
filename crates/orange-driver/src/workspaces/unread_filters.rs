//! Finds git filters that a project's files need and orange ignores.

use orange_config::Project;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// A git filter that a repository's attributes use and only its own configuration defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadFilter {
    pub message: String,
    /// How to define the filter where orange reads it.
    pub fix: String,
}

impl Workspaces {
    /// The filters of a project that orange does not run.
    pub fn unread_filters(&self, project: &Project) -> Result<Vec<UnreadFilter>, DriverError> {
        let git = self.open_repository(project)?;
        let found = git.worktree(&project.path)?.unread_filters()?;
        let (name, path) = (&project.name, project.path.display());
        let found = found.into_iter().map(|filter| {
            let filter = filter.escape_debug();
            let message = format!(
                "project `{name}` uses the filter `{filter}` of the repository's own \
                 configuration, which orange does not run, because agents can change it"
            );
            let fix = format!(
                "put it into ~/.gitconfig: `git -C '{path}' config --get-regexp filter.{filter}` \
                 shows it, and `git config --global filter.{filter}.clean COMMAND` sets one of its \
                 keys; set all of them"
            );
            UnreadFilter { message, fix }
        });
        Ok(found.collect())
    }
}
