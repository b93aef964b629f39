//! Where an agent keeps its skills.

use std::path::PathBuf;

use toml::Spanned;

use super::Problem;
use super::readiness::resolve_path;
use crate::{Environment, Harness};

impl Harness {
    /// The folder in which this agent looks for the user's skills. `None` if its definition names no
    /// folder, or if the home directory is unknown.
    pub fn skills(&self, environment: &Environment) -> Option<PathBuf> {
        let folder = resolve_path(self.skills.as_deref()?, environment)?;
        // A variable may set a relative path, which could mean any folder.
        folder.is_absolute().then_some(folder)
    }
}

/// Accepts only folders below `~`. A relative path would be a different folder in each directory
/// that orange runs in.
pub(crate) fn validate_skills(folder: Spanned<String>) -> Result<String, Problem> {
    let text = folder.get_ref();
    if !is_below_home(text) {
        let message = format!("`{}` is not a valid folder for skills", text.escape_debug());
        let hint = "write a folder below `~`, such as `~/.agent/skills`, or \
                    `${AGENT_HOME:-~/.agent}/skills` where a variable may move it";
        return Err((folder.span(), message, hint.to_owned()));
    }
    Ok(folder.into_inner())
}

/// Whether a path is below `~`, or below a variable whose default is below `~`.
pub(super) fn is_below_home(text: &str) -> bool {
    let default = match text.strip_prefix("${").and_then(|it| it.split_once(":-")) {
        Some((_, default)) if default.contains('}') => default,
        Some(_) => "",
        None => text,
    };
    let has_parent_part = text.split('/').any(|part| part == "..");
    (default.starts_with("~/") || default.starts_with("~}"))
        && !has_parent_part
        && !text.contains('\0')
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parsed(skills: &str) -> Result<Harness, String> {
        let text =
            format!("name = \"a\"\nbinary = \"a\"\nskills = {skills:?}\n[args]\nfull = []\n");
        Harness::parse("a.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_variable_moves_the_skill_folder() {
        let harness = parsed("${AGENT_HOME:-~/.agent}/skills").unwrap();
        let at = |pairs: &[(&str, &str)]| harness.skills(&Environment::of(pairs.iter().copied()));
        let expected = |path: &str| Some(Path::new(path).to_owned());
        assert_eq!(at(&[("HOME", "/ada")]), expected("/ada/.agent/skills"));
        let moved = [("HOME", "/ada"), ("AGENT_HOME", "/opt")];
        assert_eq!(at(&moved), expected("/opt/skills"));
        assert_eq!(at(&[("AGENT_HOME", "here")]), None);
        assert_eq!(at(&[]), None);
        let plain = parsed("~/.agent/skills").unwrap();
        let home = Environment::of([("HOME", "/ada")]);
        assert_eq!(plain.skills(&home), expected("/ada/.agent/skills"));
    }

    #[test]
    fn an_invalid_location_is_refused_with_its_line() {
        for skills in [
            "skills",
            "/etc/skills",
            "~",
            "~/../x",
            "${A:-~/b",
            "${A:-b}/c",
            "",
        ] {
            let error = parsed(skills).unwrap_err();
            assert!(error.starts_with("a.toml:3: "), "{error}");
        }
    }
}
