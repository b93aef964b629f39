//! Which of your files an agent needs in its sandbox.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::Problem;
use super::readiness::resolve_path;
use super::skills::is_below_home;
use crate::Environment;

/// Files of the user's home for an agent that has a home of its own in a sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxFiles {
    read: Vec<String>,
    copy: Vec<String>,
    share: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxTable {
    #[serde(default)]
    read: Vec<Spanned<String>>,
    #[serde(default)]
    copy: Vec<Spanned<String>>,
    #[serde(default)]
    share: Vec<Spanned<String>>,
}

impl SandboxFiles {
    /// Visible, and read-only.
    pub fn read(&self, environment: &Environment) -> Vec<PathBuf> {
        resolve(&self.read, environment)
    }

    /// Copied into the private home at each start; changes stay there.
    pub fn copy(&self, environment: &Environment) -> Vec<PathBuf> {
        resolve(&self.copy, environment)
    }

    /// Visible, and the agent writes your own file.
    pub fn share(&self, environment: &Environment) -> Vec<PathBuf> {
        resolve(&self.share, environment)
    }
}

fn resolve(paths: &[String], environment: &Environment) -> Vec<PathBuf> {
    let paths = paths.iter();
    let paths = paths.filter_map(|path| resolve_path(path, environment));
    // A variable may set a relative path, which could mean any folder.
    paths.filter(|path| path.is_absolute()).collect()
}

/// Accepts only paths below `~`, as for skills.
pub(super) fn validate_sandbox(table: SandboxTable) -> Result<SandboxFiles, Problem> {
    Ok(SandboxFiles {
        read: validate_paths(table.read)?,
        copy: validate_paths(table.copy)?,
        share: validate_paths(table.share)?,
    })
}

fn validate_paths(paths: Vec<Spanned<String>>) -> Result<Vec<String>, Problem> {
    for path in &paths {
        if !is_below_home(path.get_ref()) {
            let text = path.get_ref().escape_debug();
            let message = format!("`{text}` is not a valid path for a sandbox");
            let hint = "write a path below `~`, such as `~/.agent/settings.json`, or \
                        `${AGENT_HOME:-~/.agent}/settings.json` where a variable may move it";
            return Err((path.span(), message, hint.to_owned()));
        }
    }
    Ok(paths.into_iter().map(Spanned::into_inner).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Environment, Harness};

    fn parsed(table: &str) -> Result<Harness, String> {
        let text = format!("name = \"a\"\nbinary = \"a\"\n[args]\nfull = []\n[sandbox]\n{table}\n");
        Harness::parse("a.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_below_the_home_or_where_a_variable_moves_them() {
        let harness = parsed(
            "read = [\"~/.agent/skills\", \"${AGENT:-~/.agent}/s.json\"]\ncopy = [\"~/.a.json\"]",
        );
        let files = harness.unwrap().sandbox;
        let environment = Environment::of([("HOME", "/ada"), ("AGENT", "/ada/moved")]);
        let expected = [
            Path::new("/ada/.agent/skills"),
            Path::new("/ada/moved/s.json"),
        ];
        assert_eq!(files.read(&environment), expected);
        assert_eq!(files.copy(&environment), [Path::new("/ada/.a.json")]);
        assert!(files.share(&environment).is_empty());
    }

    #[test]
    fn other_paths_are_refused_with_their_line() {
        for table in [
            "read = [\"/etc/shadow\"]",
            "copy = [\"~/../x\"]",
            "share = [\"~\"]",
        ] {
            let error = parsed(table).unwrap_err();
            assert!(error.starts_with("a.toml:6: "), "{error}");
        }
        parsed("write = []").unwrap_err();
    }
}
