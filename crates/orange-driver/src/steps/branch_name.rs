//! Names the branch of a task that was created without one.

use orange_config::Project;
use orange_effects::git::{GitError, branch_words, default_task_branch, require_branch};
use orange_engine::names::{BranchName, TaskId};

use crate::steps::Steps;
use crate::steps::create::NewTaskRequest;

/// A branch name with the summary filled in, but not the id.
pub(crate) struct BranchPattern {
    /// Absent if the pattern needs words and the summary has none.
    pattern: Option<String>,
    /// Whether the name is in use, so that the id has to be added.
    pub(crate) is_taken: bool,
}

impl BranchPattern {
    pub(super) fn new(template: &str, summary: &str) -> BranchPattern {
        let words = branch_words(summary);
        let is_usable = !words.is_empty() || !template.contains("{summary}");
        BranchPattern {
            pattern: is_usable.then(|| template.replace("{summary}", &words)),
            is_taken: false,
        }
    }

    pub(crate) fn branch_of(&self, task: &TaskId) -> Result<BranchName, GitError> {
        let Some(pattern) = &self.pattern else {
            return Ok(default_task_branch(task));
        };
        let mut name = pattern.replace("{id}", task.as_str());
        if self.is_taken {
            name = format!("{name}-{task}");
        }
        let branch = BranchName::new(name);
        require_branch(&branch)?;
        Ok(branch)
    }
}

impl Steps {
    /// The pattern of a new task's branch. A branch that exists is never taken over: it may hold
    /// work that has nothing to do with the task.
    pub(crate) fn branch_pattern(
        &self,
        project: &Project,
        template: &str,
        new: &NewTaskRequest,
    ) -> BranchPattern {
        // The tasks of a group have the same summary, and differ in their agent.
        let agent = new.queueing.group.as_ref().and(new.harness.as_ref());
        let template = match agent {
            Some(agent) => format!("{template}-{agent}"),
            None => template.to_owned(),
        };
        let mut pattern = BranchPattern::new(&template, &new.summary);
        let name = pattern.pattern.as_ref().filter(|it| !it.contains("{id}"));
        if let Some(name) = name {
            let branch = BranchName::new(name);
            let git = self.workspaces.open_repository(project).ok();
            let is_free = git.and_then(|git| {
                let clash = git.clashing_branch(&branch).ok()?;
                Some(clash.is_none() && !git.has_branch(&branch).ok()?)
            }) == Some(true);
            pattern.is_taken = !is_free;
        }
        pattern
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(template: &str, summary: &str, is_taken: bool) -> Result<String, GitError> {
        let pattern = BranchPattern {
            is_taken,
            ..BranchPattern::new(template, summary)
        };
        let branch = pattern.branch_of(&TaskId::new("k3f9"))?;
        Ok(branch.as_str().to_owned())
    }

    #[test]
    fn a_branch_is_named_after_the_summary() {
        let named = |template, summary, is_taken| named(template, summary, is_taken).unwrap();
        assert_eq!(named("{summary}", "Fix it", false), "fix-it");
        assert_eq!(named("{summary}", "Fix it", true), "fix-it-k3f9");
        assert_eq!(
            named("me/{summary}-{id}", "Fix it", false),
            "me/fix-it-k3f9"
        );
        assert_eq!(named("tasks/{id}", "", false), "tasks/k3f9");
        assert_eq!(named("{summary}", "?!", false), "orange-tasks/k3f9");
        // A summary cannot contain a variable.
        assert_eq!(named("{summary}", "{id}", false), "id");
    }

    #[test]
    fn a_template_that_git_rejects_is_an_error() {
        assert!(named("a..b/{id}", "Fix it", false).is_err());
    }
}
