//! Registers a repository as a project.

use std::path::Path;

use orange_engine::names::{BranchName, HarnessName, ProjectName};

use super::{Driver, DriverError};
use crate::config::{Project, Projects};

impl Driver {
    /// Registers the repository that holds a directory; answers with whether it is new.
    pub fn add_project(
        &self,
        directory: &Path,
        name: Option<ProjectName>,
        workflow: Option<String>,
        harness: Option<HarnessName>,
    ) -> Result<(Project, bool), DriverError> {
        let wrong = |reason: String| DriverError::NoRepository {
            path: directory.to_owned(),
            reason,
        };
        let top = self.git_if(directory, &["rev-parse", "--show-toplevel"])?;
        let top = top.ok_or_else(|| wrong(String::from("it is in no git repository")))?;
        let path = Path::new(&top).to_owned();
        // What git says is read as text; a path that is none must not become another one.
        if !path.is_dir() || top.contains(char::is_control) {
            return Err(wrong(String::from(
                "its path holds control characters or is not UTF-8; give it a plain one",
            )));
        }
        let head = ["rev-parse", "--verify", "--quiet", "HEAD"];
        if self.git_if(&path, &head)?.is_none() {
            return Err(wrong(String::from("the repository has no commit yet")));
        }
        let branch = self.default_branch(&path)?;
        let branch = branch.ok_or_else(|| wrong(String::from("it is on no branch")))?;
        let name = name.unwrap_or_else(|| {
            let last = path.file_name().unwrap_or_default();
            ProjectName::new(last.to_string_lossy())
        });
        let mut project = Project::new(name, path, BranchName::new(branch));
        if let Some(workflow) = workflow {
            project.workflow = workflow;
        }
        project.harness = harness;
        Ok(Projects::add(&self.home, project)?)
    }

    /// What the remote calls its default branch, else the branch that is checked out.
    fn default_branch(&self, path: &Path) -> Result<Option<String>, DriverError> {
        let remote = [
            "symbolic-ref",
            "--quiet",
            "--short",
            "refs/remotes/origin/HEAD",
        ];
        if let Some(found) = self.git_if(path, &remote)?
            && let Some(name) = found.strip_prefix("origin/")
            && self
                .git_if(
                    path,
                    &[
                        "show-ref",
                        "--verify",
                        "--quiet",
                        &format!("refs/heads/{name}"),
                    ],
                )?
                .is_some()
        {
            return Ok(Some(name.to_owned()));
        }
        self.git_if(path, &["symbolic-ref", "--quiet", "--short", "HEAD"])
    }
}
