//! The scripts of a project: its own, else those of its policy.

use super::policy::Policy;
use super::value::Value;
use crate::Project;

/// A script that runs in the worktrees of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectScript {
    /// The program and its arguments; empty if there is no script.
    pub command: Vec<String>,
    /// The timeout in seconds, if it is set.
    pub timeout: Option<u64>,
}

impl Project {
    /// The script that prepares a worktree.
    pub fn setup_script(&self, policy: Option<&Policy>) -> ProjectScript {
        let own = ProjectScript {
            command: self.setup.clone(),
            timeout: self.setup_timeout,
        };
        own.or_of_policy(policy, "setup", "setup_timeout")
    }

    /// The script that runs before a worktree is released.
    pub fn teardown_script(&self, policy: Option<&Policy>) -> ProjectScript {
        let own = ProjectScript {
            command: self.teardown.clone(),
            timeout: self.teardown_timeout,
        };
        own.or_of_policy(policy, "teardown", "teardown_timeout")
    }
}

impl ProjectScript {
    /// The user's own script, with the timeout of the policy where the user sets none.
    fn or_of_policy(self, policy: Option<&Policy>, key: &str, timeout_key: &str) -> ProjectScript {
        let value = |key| policy.and_then(|policy| policy.value(key));
        let command = match value(key) {
            Some(Value::Arguments(command)) if self.command.is_empty() => command.clone(),
            _ => self.command,
        };
        let timeout = match value(timeout_key) {
            Some(Value::Duration(duration)) => Some(duration.as_secs().max(1)),
            _ => None,
        };
        ProjectScript {
            command,
            timeout: self.timeout.or(timeout),
        }
    }
}

#[cfg(test)]
mod tests {
    use orange_engine::names::{BranchName, ProjectName};

    use super::*;
    use crate::{POLICY_FILE, PolicyFile};

    #[test]
    fn the_users_script_wins() {
        let text = "setup = [\"npm\", \"ci\"]\nsetup_timeout = \"2m\"\nteardown = [\"stop\"]\n";
        let file = PolicyFile {
            path: POLICY_FILE.to_owned(),
            object: String::new(),
            text: text.to_owned(),
        };
        let policy = Policy::parse(&[file]).unwrap();
        let name = ProjectName::new("app");
        let mut project = Project::new(name, "/app".into(), BranchName::new("main"));
        assert_eq!(project.setup_script(None), ProjectScript::default());
        let setup = project.setup_script(Some(&policy));
        assert_eq!((setup.command.len(), setup.timeout), (2, Some(120)));
        let teardown = project.teardown_script(Some(&policy));
        assert_eq!((teardown.command.len(), teardown.timeout), (1, None));
        project.setup = vec![String::from("make")];
        project.setup_timeout = Some(7);
        let setup = project.setup_script(Some(&policy));
        assert_eq!(setup.command, ["make"]);
        assert_eq!(setup.timeout, Some(7));
    }
}
