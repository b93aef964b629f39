//! Whether an agent would ask something before it works.
//!
//! Agents keep the answers to their first dialogs in their own files. A definition names these
//! files; orange never writes to them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::{Environment, reason};

/// The size of the largest such file that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// A condition that must hold so that an agent starts without asking a question.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Readiness {
    /// A description, such as "it is logged in".
    pub what: String,
    /// How to make it true.
    #[serde(alias = "mend")]
    pub fix: String,
    /// The condition matters only when this variable is set.
    pub when_set: Option<String>,
    /// The condition holds if one of these variables is set and not empty.
    #[serde(default)]
    pub variables: Vec<String>,
    /// The condition holds if one of these places records it.
    #[serde(default)]
    pub places: Vec<AnswerPlace>,
}

/// Where an agent records an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerPlace {
    /// The file, starting with `~`, or with `${VARIABLE:-~/…}` where a variable may move it.
    pub file: String,
    /// The keys that lead to the answer; without keys, it is enough that the file exists.
    #[serde(default)]
    pub keys: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadyState {
    /// The condition holds, or does not matter here.
    Yes,
    /// The condition does not hold.
    No,
    /// It is unknown, for this reason.
    Unknown(String),
}

impl Readiness {
    /// Whether the condition is about one repository rather than about the user.
    pub fn is_about_repository(&self) -> bool {
        let keys = self.places.iter().flat_map(|place| &place.keys);
        keys.into_iter().any(|key| key.starts_with('{'))
    }

    /// Whether the condition matters in this environment.
    pub fn applies(&self, environment: &Environment) -> bool {
        let is_set = |name: &String| environment.variable(name).is_some_and(|it| !it.is_empty());
        self.when_set.as_ref().is_none_or(is_set)
    }

    /// Checks whether the condition holds; `repository` is where the agent is to work.
    pub fn check(&self, environment: &Environment, repository: Option<&Path>) -> ReadyState {
        let is_set = |name: &String| environment.variable(name).is_some_and(|it| !it.is_empty());
        if !self.applies(environment) || self.variables.iter().any(is_set) {
            return ReadyState::Yes;
        }
        let mut state = ReadyState::No;
        for place in &self.places {
            match place.check(environment, repository) {
                ReadyState::Yes => return ReadyState::Yes,
                ReadyState::No => {}
                unknown @ ReadyState::Unknown(_) => state = unknown,
            }
        }
        state
    }
}

impl AnswerPlace {
    fn check(&self, environment: &Environment, repository: Option<&Path>) -> ReadyState {
        let Some(path) = resolve_path(&self.file, environment) else {
            return ReadyState::Unknown(String::from("HOME is not set"));
        };
        let unknown = |cause: String| ReadyState::Unknown(format!("`{}`: {cause}", path.display()));
        if self.keys.is_empty() {
            return match path.try_exists() {
                Ok(true) => ReadyState::Yes,
                Ok(false) => ReadyState::No,
                Err(error) => unknown(reason(&error)),
            };
        }
        match read(&path) {
            Ok(Some(found)) => {
                let is_recorded = has(&found, &self.keys, repository);
                if is_recorded {
                    ReadyState::Yes
                } else {
                    ReadyState::No
                }
            }
            Ok(None) => ReadyState::No,
            Err(cause) => unknown(cause),
        }
    }
}

/// The path with `~` and variables resolved; `None` when there is no home directory.
pub(crate) fn resolve_path(file: &str, environment: &Environment) -> Option<PathBuf> {
    if let Some((variable, rest)) = file.strip_prefix("${").and_then(|it| it.split_once(":-")) {
        let (default, rest) = rest.split_once('}')?;
        let value = environment.variable(variable);
        let folder = match value.filter(|it| !it.is_empty()) {
            Some(value) => PathBuf::from(value),
            None => resolve_path(default, environment)?,
        };
        return Some(folder.join(rest.trim_start_matches('/')));
    }
    let home = Path::new(environment.variable("HOME")?);
    Some(home.join(file.strip_prefix('~')?.trim_start_matches('/')))
}

/// The content of a TOML or JSON file as a JSON value; `None` when the file does not exist.
fn read(path: &Path) -> Result<Option<Value>, String> {
    let length = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(reason(&error)),
        Ok(found) if !found.is_file() => return Err(String::from("it is not a regular file")),
        Ok(found) => found.len(),
    };
    if length > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let text = fs::read_to_string(path).map_err(|error| reason(&error))?;
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    let read = if is_toml {
        toml::from_str(&text).map_err(|_| "it is not valid TOML")
    } else {
        serde_json::from_str(&text).map_err(|_| "it is not valid JSON")
    };
    Ok(Some(read?))
}

/// Whether the keys lead to a value other than `null`, `false`, an empty string or an empty list.
fn has(found: &Value, keys: &[String], repository: Option<&Path>) -> bool {
    let Some((key, rest)) = keys.split_first() else {
        return match found {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            _ => true,
        };
    };
    let below = |key: &str| found.get(key).is_some_and(|it| has(it, rest, repository));
    let folders = repository.into_iter().flat_map(Path::ancestors);
    match key.as_str() {
        "{repository}" => repository.is_some_and(|it| below(&it.to_string_lossy())),
        "{folder}" => folders.into_iter().any(|it| below(&it.to_string_lossy())),
        key => below(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readiness(text: &str) -> Readiness {
        toml::from_str(&format!("what = \"a\"\nfix = \"b\"\n{text}")).unwrap()
    }

    #[test]
    fn an_answer_is_read_from_the_agents_own_file() {
        let home = tempfile::tempdir().unwrap();
        let environment = |more: &[(&str, &str)]| {
            let home = [("HOME", home.path().to_str().unwrap())];
            Environment::of(home.iter().chain(more).copied())
        };
        let write = |file: &str, text: &str| fs::write(home.path().join(file), text).unwrap();
        let trusted = readiness(
            "places = [{ file = \"~/a.json\", keys = [\"projects\", \"{folder}\", \"trusted\"] }]",
        );
        assert!(trusted.is_about_repository());
        let look = |at: &str| trusted.check(&environment(&[]), Some(Path::new(at)));
        assert_eq!(look("/code/app"), ReadyState::No);
        write(
            "a.json",
            r#"{"projects":{"/code":{"trusted":true},"/x":{"trusted":false}}}"#,
        );
        assert_eq!(look("/code/app"), ReadyState::Yes);
        assert_eq!(look("/x"), ReadyState::No);
        assert_eq!(look("/codes"), ReadyState::No);
        write("a.json", "{");
        assert!(
            matches!(look("/code"), ReadyState::Unknown(why) if why.contains("not valid JSON"))
        );

        let moved =
            readiness("places = [{ file = \"${AGENT_HOME:-~/.agent}/b.toml\", keys = [\"k\"] }]");
        let set = environment(&[("AGENT_HOME", home.path().to_str().unwrap())]);
        assert_eq!(moved.check(&set, None), ReadyState::No);
        write("b.toml", "k = \"v\"");
        assert_eq!(moved.check(&set, None), ReadyState::Yes);
        assert_eq!(moved.check(&environment(&[]), None), ReadyState::No);
    }

    #[test]
    fn a_variable_can_replace_a_file_or_name_it() {
        let login = readiness("variables = [\"KEY\"]\nplaces = [{ file = \"~/login\" }]");
        let of = |pairs: &[(&str, &str)]| Environment::of(pairs.iter().copied());
        assert_eq!(
            login.check(&of(&[("HOME", "/nowhere"), ("KEY", "k")]), None),
            ReadyState::Yes
        );
        assert_eq!(
            login.check(&of(&[("HOME", "/nowhere"), ("KEY", "")]), None),
            ReadyState::No
        );
        assert!(matches!(
            login.check(&of(&[]), None),
            ReadyState::Unknown(_)
        ));
        let about = readiness("when_set = \"KEY\"\nplaces = [{ file = \"~/login\" }]");
        assert_eq!(
            about.check(&of(&[("HOME", "/nowhere")]), None),
            ReadyState::Yes
        );
        assert_eq!(
            about.check(&of(&[("HOME", "/nowhere"), ("KEY", "k")]), None),
            ReadyState::No
        );
    }
}
