//! The directory in which orange keeps its files.

use std::path::{Path, PathBuf};

use orange_engine::names::ProjectName;

use super::Environment;

/// The home directory of orange, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home(PathBuf);

/// Why there is no home.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HomeError {
    /// No variable says where the home is.
    #[error("cannot find orange's home directory: neither `ORANGE_HOME` nor `HOME` is set")]
    Unknown,
    /// A relative path would mean a different directory wherever a command is run.
    #[error("cannot use `{}` as orange's home directory: it is not an absolute path", .0.display())]
    Relative(PathBuf),
}

impl Home {
    /// Finds the home: `ORANGE_HOME`, else `~/orange`.
    pub fn resolve(environment: &Environment) -> Result<Self, HomeError> {
        let default = || environment.home.as_ref().map(|home| home.join("orange"));
        let path = environment.orange_home.clone().or_else(default);
        match path {
            None => Err(HomeError::Unknown),
            Some(path) if path.is_relative() => Err(HomeError::Relative(path)),
            Some(path) => Ok(Self(path)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("orange.db")
    }

    /// The directory with one directory per project, and in it one per task.
    pub fn tasks(&self) -> PathBuf {
        self.0.join("tasks")
    }

    /// Where the directories of deleted tasks are.
    pub fn trash(&self) -> PathBuf {
        self.0.join("trash")
    }

    /// The directory of the user's own workflows.
    pub fn workflows(&self) -> PathBuf {
        self.0.join("workflows")
    }

    /// Which workflows `check` found safe.
    pub fn safe_workflows(&self) -> PathBuf {
        self.0.join("safe-workflows.json")
    }

    /// The directory of the user's own harness definitions.
    pub fn harnesses(&self) -> PathBuf {
        self.0.join("harnesses")
    }

    /// The user's skills.
    pub fn skills(&self) -> PathBuf {
        self.0.join("skills")
    }

    pub fn settings(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// What happens by the clock; the user may edit it.
    pub fn jobs(&self) -> PathBuf {
        self.0.join("jobs.toml")
    }

    pub fn projects(&self) -> PathBuf {
        self.0.join("projects.json")
    }

    /// The policy of a repository that the user allowed for a project.
    pub fn policy(&self, project: &ProjectName) -> PathBuf {
        self.policies().join(format!("{project}.json"))
    }

    /// The directory of the allowed policies, one file per project.
    pub fn policies(&self) -> PathBuf {
        self.0.join("policies")
    }

    /// The user's environment variables, for work that an agent's command starts.
    pub fn environment(&self) -> PathBuf {
        self.0.join("environment.json")
    }

    /// The directory of temporary git directories, which exist only while git runs.
    pub fn git(&self) -> PathBuf {
        self.0.join("git")
    }

    /// The directory of what `orange sandbox try` attacks, while it runs.
    pub fn attempts(&self) -> PathBuf {
        self.0.join("attempts")
    }

    pub fn workspaces(&self) -> PathBuf {
        self.0.join("workspaces")
    }

    /// The worktrees in which merged results are verified, one per project.
    pub fn verification(&self) -> PathBuf {
        self.0.join("verification")
    }

    /// The texts of pull requests that tasks review, one folder per project.
    pub fn pull_requests(&self) -> PathBuf {
        self.0.join("pull-requests")
    }

    /// When each repository on a forge was last looked at.
    pub fn forge_looks(&self) -> PathBuf {
        self.0.join("forge-looks.json")
    }

    /// One file for each repository that a webhook named; its time says when.
    pub fn forge_hints(&self) -> PathBuf {
        self.0.join("forge-hints")
    }

    /// Whether the last notification of each channel arrived.
    pub fn notifications(&self) -> PathBuf {
        self.0.join("notifications.json")
    }

    /// Notes about projects: accepted ones, and those that wait for the user.
    pub fn notes(&self) -> PathBuf {
        self.0.join("notes.json")
    }

    /// The devices that may use the web API.
    pub fn web(&self) -> PathBuf {
        self.0.join("web")
    }

    /// What the user has typed into the dashboard and not sent.
    pub fn drafts(&self) -> PathBuf {
        self.0.join("drafts.json")
    }

    /// Where files are staged on their way into a workspace; on the same disk as the workspaces.
    pub fn incoming(&self) -> PathBuf {
        self.workspaces().join(".incoming")
    }

    /// Where `orange workspace gc` puts ignored files; on the same disk as the workspaces.
    pub fn set_aside(&self) -> PathBuf {
        self.workspaces().join(".set-aside")
    }

    /// Where worktrees go before they are deleted; on the same disk as the workspaces.
    pub fn removed(&self) -> PathBuf {
        self.workspaces().join(".removed")
    }

    /// The log, in lines for the user.
    pub fn log(&self) -> PathBuf {
        self.0.join("orange.log")
    }

    /// The socket of the private tmux server.
    pub fn tmux_socket(&self) -> PathBuf {
        self.0.join("tmux.sock")
    }

    /// The path relative to the home if it is inside; otherwise the path itself.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.0).unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(orange_home: Option<&str>, home: Option<&str>) -> Result<Home, HomeError> {
        let set = [("ORANGE_HOME", orange_home), ("HOME", home)];
        let set = set
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        Home::resolve(&Environment::of(set))
    }

    #[test]
    fn the_variable_wins_over_the_default() {
        assert_eq!(resolve(Some("/a"), Some("/b")), Ok(Home("/a".into())));
        assert_eq!(resolve(None, Some("/b")), Ok(Home("/b/orange".into())));
    }

    #[test]
    fn a_home_must_be_set_and_absolute() {
        assert_eq!(resolve(None, None), Err(HomeError::Unknown));
        let relative = HomeError::Relative("a".into());
        assert_eq!(resolve(Some("a"), Some("/b")), Err(relative));
    }
}
