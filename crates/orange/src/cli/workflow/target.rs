//! Resolves the arguments NAME and FILE to workflows.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf, is_separator};

use clap::builder::{OsStringValueParser, TypedValueParser};
use orange_config::{
    Catalog, Environment, Home, LoadedWorkflow, PinnedPolicy, Projects, Source, load_workflow,
};
use orange_engine::Workflow;
use orange_engine::language::nearest;
use serde_json::json;

use super::{Error, Exit};

/// One workflow, as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Stdin,
    /// An argument with a path separator or a YAML extension.
    File(PathBuf),
    Name(String),
}

impl From<OsString> for Target {
    fn from(typed: OsString) -> Self {
        let text = typed.to_string_lossy();
        let ending = Path::new(&typed).extension().and_then(OsStr::to_str);
        if text == "-" {
            Target::Stdin
        } else if text.contains(is_separator) || matches!(ending, Some("yml" | "yaml")) {
            Target::File(typed.into())
        } else {
            Target::Name(text.into_owned())
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Stdin => formatter.write_str("-"),
            Target::File(path) => path.display().fmt(formatter),
            Target::Name(name) => formatter.write_str(name),
        }
    }
}

impl Target {
    /// Parses a target, even if it is not valid UTF-8.
    pub fn parser() -> impl TypedValueParser<Value = Target> {
        OsStringValueParser::new().map(Target::from)
    }
}

/// Finds every target; the error lists all that do not exist.
pub fn resolve(
    verb: &'static str,
    targets: &[Target],
    environment: &Environment,
) -> Result<Vec<Source>, Error> {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for target in targets {
        match find(target, environment)? {
            // Skip a duplicate: stdin can be read only once, and a second answer about the same
            // workflow is useless.
            Some(source) if found.contains(&source) => {}
            Some(source) => found.push(source),
            None => missing.push(target.clone()),
        }
    }
    if missing.is_empty() {
        return Ok(found);
    }
    Err(MissingTargets {
        verb,
        targets: missing,
        required_together: Vec::new(),
        names: catalog(environment)?.names(),
    }
    .into())
}

/// Finds the targets of a command that needs both; the error says which do not exist.
pub fn resolve_both(
    verb: &'static str,
    targets: [&Target; 2],
    environment: &Environment,
) -> Result<(Source, Source), Error> {
    let [first, second] = targets;
    let found = (find(first, environment)?, find(second, environment)?);
    if let (Some(first), Some(second)) = found {
        return Ok((first, second));
    }
    let missing = [(first, found.0), (second, found.1)];
    let missing = missing.into_iter().filter(|(_, source)| source.is_none());
    Err(MissingTargets {
        verb,
        targets: missing.map(|(target, _)| target.clone()).collect(),
        required_together: targets.map(Clone::clone).to_vec(),
        names: catalog(environment)?.names(),
    }
    .into())
}

fn find(target: &Target, environment: &Environment) -> Result<Option<Source>, Error> {
    Ok(match target {
        Target::Stdin => Some(Source::stdin()),
        Target::File(path) => Source::file(path),
        Target::Name(name) => catalog(environment)?.find(name).cloned(),
    })
}

/// Loads the workflow of a source; the error lists all its problems.
pub fn load(verb: &str, source: &Source) -> Result<Workflow, Error> {
    let LoadedWorkflow {
        workflow, findings, ..
    } = load_workflow(source);
    workflow.ok_or_else(|| super::problem::invalid(verb, &source.name, &findings))
}

/// Every workflow that has a name: the shipped ones, the user's own, and those that the user allowed
/// in the policy of the project in whose checkout the command runs.
pub fn catalog(environment: &Environment) -> Result<Catalog, Error> {
    let home = Home::resolve(environment)?;
    // Other commands report projects and policies that cannot be read.
    let projects = Projects::load(&home).unwrap_or_default();
    let directory = environment.directory();
    let project = directory.and_then(|it| Some(projects.find_containing(&it)?.name.clone()));
    let pinned = project.and_then(|it| PinnedPolicy::load(&home, &it).ok()?);
    let policy = pinned.and_then(|pinned| pinned.policy(&home).ok());
    Ok(Catalog::load_with(&home, policy.as_ref())?)
}

struct MissingTargets {
    verb: &'static str,
    targets: Vec<Target>,
    /// Every target, if the command needs all of them.
    required_together: Vec<Target>,
    names: Vec<String>,
}

fn quote_all(values: &[impl fmt::Display]) -> String {
    let quoted: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
    quoted.join(", ")
}

fn cause(targets: &[Target]) -> &'static str {
    match targets {
        [Target::File(_)] => "there is no such file",
        [_] => "there is no workflow of that name",
        _ => "there are no such workflows or files",
    }
}

impl From<MissingTargets> for Error {
    fn from(missing: MissingTargets) -> Self {
        let (targets, names) = (&missing.targets, &missing.names);
        let verb = match missing.verb {
            "graph" => "draw",
            "diff" => "compare",
            verb => verb,
        };
        let message = format!("cannot {verb} {}: {}", quote_all(targets), cause(targets));
        let targets: Vec<_> = targets.iter().map(ToString::to_string).collect();
        Error::new(Exit::NotFound, "workflow-not-found", message)
            .hints(missing.commands())
            .hint(format!(
                "the workflows are {}; `orange workflow list` describes them",
                quote_all(names)
            ))
            .details(json!({ "missing": targets, "names": names }))
    }
}

impl MissingTargets {
    /// Commands for the workflows that the user probably meant.
    fn commands(&self) -> Vec<String> {
        let verb = self.verb;
        let hint = |name: &str, arguments: &str| {
            format!("`{name}` is a workflow: run `orange workflow {verb} {arguments}`")
        };
        let with_suggestion = |target: &Target| Some((target.clone(), self.suggestion(target)?));
        let all: Vec<(Target, String)> = self.targets.iter().filter_map(with_suggestion).collect();
        if self.required_together.is_empty() {
            return all.iter().map(|(_, name)| hint(name, name)).collect();
        }
        if all.len() < self.targets.len() {
            return Vec::new();
        }
        let corrected = self.required_together.iter().map(|target| {
            let found = all.iter().find(|(missing, _)| missing == target);
            found.map_or_else(|| target.to_string(), |(_, name)| name.clone())
        });
        let arguments = corrected.collect::<Vec<_>>().join(" ");
        let first = all.first().map(|(_, name)| hint(name, &arguments));
        first.into_iter().collect()
    }

    /// The workflow that the user probably meant by a target that does not exist.
    fn suggestion(&self, target: &Target) -> Option<String> {
        let names = || self.names.iter().map(String::as_str);
        let name = match target {
            Target::File(path) => path.file_stem()?.to_str(),
            Target::Name(name) => nearest(name, names()),
            Target::Stdin => None,
        }?;
        names().any(|known| known == name).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_or_a_yaml_ending_makes_a_file() {
        let target = |typed: &str| Target::from(OsString::from(typed));
        for typed in ["./default", "a/b", "x.yml", "x.yaml", "/"] {
            assert_eq!(target(typed), Target::File(typed.into()), "{typed}");
        }
        for typed in ["default", "yml", "x.yml.bak", "", "--"] {
            assert_eq!(target(typed), Target::Name(typed.into()), "{typed}");
        }
        assert_eq!(target("-"), Target::Stdin);
    }
}
