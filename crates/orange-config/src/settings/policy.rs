//! What a repository says about how its tasks are worked on.
//!
//! Nothing here reads a repository: `.orange/policy.toml` and `.orange/workflows/*.yml` come from a
//! commit that the driver read, or from the copy that orange pinned when the user allowed them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use orange_engine::names::HarnessName;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::file::{Author, parse};
use super::policy_keys::policy_keys;
use super::value::Value;
use crate::workflows::new_workflow::is_name;

/// The folder of a repository that orange reads.
pub const POLICY_FOLDER: &str = ".orange";

/// The settings of a policy.
pub const POLICY_FILE: &str = ".orange/policy.toml";

/// The folder with the workflows of a policy.
pub const POLICY_WORKFLOWS: &str = ".orange/workflows";

/// How many bytes all files of a policy may have together; a person has to read them.
pub const MAX_POLICY_BYTES: usize = 512 * 1024;

/// How many files a policy may have.
pub const MAX_POLICY_FILES: usize = 32;

/// A file of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFile {
    /// Its path in the repository.
    pub path: String,
    /// The git object with its text.
    pub object: String,
    pub text: String,
}

/// A policy that was read without mistakes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    values: BTreeMap<String, Value>,
    workflows: Vec<PolicyWorkflow>,
}

/// A workflow of a policy; its text is checked when it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyWorkflow {
    pub name: String,
    pub text: String,
}

impl Policy {
    /// Reads the files; the error lists all mistakes.
    pub fn parse(files: &[PolicyFile]) -> Result<Policy, Vec<String>> {
        let mut policy = Policy::default();
        let mut problems = Vec::new();
        for file in files {
            if file.path == POLICY_FILE {
                match parse(&file.text, Author::Repository) {
                    Ok(given) => {
                        let values = given.values.into_iter();
                        policy.values = values.map(|(key, (value, _))| (key, value)).collect();
                    }
                    Err(found) => problems.extend(found.into_iter().map(|it| {
                        let (line, column, message) = (it.line, it.column, it.message);
                        let nearest = it.nearest.map(|it| format!("; did you mean `{it}`?"));
                        let nearest = nearest.unwrap_or_default();
                        format!("{POLICY_FILE}, line {line}, column {column}: {message}{nearest}")
                    })),
                }
                continue;
            }
            match workflow_name(&file.path) {
                Some(name) => policy.workflows.push(PolicyWorkflow {
                    name: name.to_owned(),
                    text: file.text.clone(),
                }),
                None => problems.push(format!(
                    "`{}`: a workflow is a file `{POLICY_WORKFLOWS}/NAME.yml`, and NAME has \
                     lower-case letters, digits, `-` and `_`",
                    file.path
                )),
            }
        }
        if problems.is_empty() {
            Ok(policy)
        } else {
            Err(problems)
        }
    }

    /// The values that it sets, in the order of the documentation.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        policy_keys().filter_map(|key| Some((key.name, self.values.get(key.name)?)))
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// The harnesses that it names.
    pub fn harnesses(&self) -> impl Iterator<Item = HarnessName> {
        let named = ["harness", "review_harness"].into_iter();
        named.filter_map(|key| match self.values.get(key)? {
            Value::Text(name) => Some(HarnessName::new(name)),
            _ => None,
        })
    }

    /// The workflow of new tasks.
    pub fn workflow(&self) -> Option<&str> {
        match self.values.get("workflow")? {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }

    pub fn workflows(&self) -> &[PolicyWorkflow] {
        &self.workflows
    }
}

/// The name of the workflow in this file, if it is the file of one.
fn workflow_name(path: &str) -> Option<&str> {
    let file = path.strip_prefix(POLICY_WORKFLOWS)?.strip_prefix('/')?;
    file.strip_suffix(".yml").filter(|name| is_name(name))
}

/// The hash of the paths and texts of all files.
pub fn policy_hash(files: &[PolicyFile]) -> String {
    let mut hash = Sha256::new();
    for PolicyFile { path, text, .. } in files {
        // With the lengths, no two lists of files give the same bytes.
        hash.update(format!("{} {} ", path.len(), text.len()));
        hash.update(path);
        hash.update(text);
    }
    let mut digits = String::new();
    for byte in hash.finalize() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> PolicyFile {
        PolicyFile {
            path: path.to_owned(),
            object: String::from("a"),
            text: text.to_owned(),
        }
    }

    fn problems(text: &str) -> String {
        let problems = Policy::parse(&[file(POLICY_FILE, text)]).unwrap_err();
        problems.join("\n")
    }

    #[test]
    fn a_policy_sets_what_it_may() {
        let text = "workflow = \"team\"\nsetup = [\"sh\", \"-c\", \" a \\n\"]\n\
                    setup_timeout = \"2m\"\n[merge]\nverify = \"make test\"\n\
                    [sandbox]\nmode = \"required\"\nhosts = [\"registry.example.org\"]\n";
        let files = [
            file(POLICY_FILE, text),
            file(".orange/workflows/team.yml", "name: team\n"),
        ];
        let policy = Policy::parse(&files).unwrap();
        let keys: Vec<&str> = policy.values().map(|(key, _)| key).collect();
        assert_eq!(
            keys,
            [
                "workflow",
                "merge.verify",
                "sandbox.mode",
                "sandbox.hosts",
                "setup",
                "setup_timeout"
            ]
        );
        assert_eq!(policy.workflows()[0].name, "team");
    }

    #[test]
    fn what_concerns_the_user_is_refused() {
        for key in [
            "forge.token_command = \"steal\"",
            "forge.repository = \"github.com/evil/x\"",
            "sandbox.read = [\"~/.ssh\"]",
            "notify.webhook = \"https://example.org\"",
            "limits.agents = 9",
            "limits.harness.x = 9",
            "budget.hard = false",
            "open.editor = \"steal\"",
            "chat.matrix.allow = [\"@eve:example.org\"]",
            "permissions.wait = \"1ms\"",
            "pool.size = 100",
            "route = []",
        ] {
            let found = problems(key);
            assert!(found.contains("a repository may not set"), "{key}: {found}");
        }
        let found = problems("[[route]]\nharness = \"x\"\n");
        assert!(
            found.contains("a repository may not set `route`"),
            "{found}"
        );
        for key in [
            "push = true",
            "path = \"/\"",
            "merge.verfy = \"x\"",
            "remote = \"x\"",
        ] {
            let found = problems(key);
            assert!(found.contains("unknown key"), "{key}: {found}");
        }
        assert!(problems("merge.verfy = \"x\"").contains("did you mean `merge.verify`?"));
        assert!(problems("setup = [\"a\\u001b[2J\"]").contains("must be a program"));
        assert!(problems("setup = \"npm ci\"").contains("must be a program"));
        assert!(problems("a = \"\u{1b}\"").contains("line 1"));
    }

    #[test]
    fn a_workflow_has_a_plain_name() {
        for path in [
            ".orange/workflows/../x.yml",
            ".orange/workflows/a/b.yml",
            ".orange/workflows/.yml",
            ".orange/workflows/A.yml",
            ".orange/workflows/a.yaml",
            ".orange/workflows/a\u{202e}.yml",
            ".orange/workflowsa.yml",
            "a.yml",
        ] {
            Policy::parse(&[file(path, "")]).unwrap_err();
        }
    }

    #[test]
    fn the_hash_covers_every_path_and_text() {
        let hash = |files: &[(&str, &str)]| {
            let files: Vec<_> = files.iter().map(|(path, text)| file(path, text)).collect();
            policy_hash(&files)
        };
        let all = [
            hash(&[]),
            hash(&[("a", "b")]),
            hash(&[("ab", "")]),
            hash(&[("a", "b"), ("c", "d")]),
            hash(&[("a", "b1 1 cd")]),
            hash(&[("c", "d"), ("a", "b")]),
        ];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(all[0].len(), 64);
    }
}
