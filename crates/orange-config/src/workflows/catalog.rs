//! All workflows, by name.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orange_engine::shipped_workflows;

use crate::{Home, Origin, Policy, PolicyWorkflow, Source, reason};

/// Shipped workflows first, each replaced by the user's own with the same name; then the user's
/// other workflows, then those of a policy.
#[derive(Clone, Debug)]
pub struct Catalog {
    sources: Vec<Source>,
}

/// Why the workflows in the home could not be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot list the workflows in `{}`: {reason}", .path.display())]
pub struct CatalogError {
    pub path: PathBuf,
    pub reason: String,
}

impl Catalog {
    /// Lists the workflows without reading their texts. A home that does not exist has none of its
    /// own.
    pub fn load(home: &Home) -> Result<Self, CatalogError> {
        Self::load_with(home, None)
    }

    /// The same for a project: a workflow of its policy replaces a shipped one, and the user's own
    /// replaces both.
    pub fn load_with(home: &Home, policy: Option<&Policy>) -> Result<Self, CatalogError> {
        let mut own = user_workflows(&home.workflows())?;
        let in_policy = policy.into_iter().flat_map(Policy::workflows);
        let mut in_policy: Vec<Source> = in_policy
            .filter(|it| !own.iter().any(|own| own.name == it.name))
            .map(policy_source)
            .collect();
        let mut sources = Vec::new();
        for shipped in &shipped_workflows::ALL {
            let (mut same, others) = own.into_iter().partition(|own| own.name == shipped.name);
            own = others;
            let is_here = |it: &Source| it.name == shipped.name;
            same.extend(in_policy.extract_if(.., |it| is_here(it)));
            // A file that is not read as a workflow does not replace the shipped one.
            if !same.iter().any(Source::overrides_shipped) {
                sources.push(Source {
                    name: shipped.name.to_owned(),
                    origin: Origin::Shipped(shipped),
                });
            }
            sources.append(&mut same);
        }
        sources.append(&mut own);
        sources.append(&mut in_policy);
        Ok(Self { sources })
    }

    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    pub fn find(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.name == name)
    }

    /// Every name, without duplicates.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for source in &self.sources {
            if !names.contains(&source.name) {
                names.push(source.name.clone());
            }
        }
        names
    }
}

/// The workflow files of a directory, sorted by name.
fn user_workflows(directory: &Path) -> Result<Vec<Source>, CatalogError> {
    let failed = |error: io::Error| CatalogError {
        path: directory.to_owned(),
        reason: reason(&error),
    };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if is_workflow(&path) {
            paths.push(path);
        }
    }
    // `x.yml` comes before `x.yaml`, so the name `x` means the former.
    paths.sort_by_key(|path| {
        (
            path.file_stem().map(OsStr::to_owned),
            !has_yml_extension(path),
        )
    });
    Ok(paths.into_iter().map(own_source).collect())
}

fn own_source(path: PathBuf) -> Source {
    let stem = path.file_stem().unwrap_or_default();
    let name = stem.to_string_lossy().into_owned();
    Source {
        origin: Origin::Home {
            overrides_shipped: has_yml_extension(&path) && shipped_workflows::find(&name).is_some(),
            path,
        },
        name,
    }
}

fn policy_source(workflow: &PolicyWorkflow) -> Source {
    Source {
        name: workflow.name.clone(),
        origin: Origin::Policy {
            text: workflow.text.clone(),
            overrides_shipped: shipped_workflows::find(&workflow.name).is_some(),
        },
    }
}

/// Whether the user would take the file for a workflow. A hidden file is not a workflow: editors
/// keep such files next to the one they write.
fn is_workflow(path: &Path) -> bool {
    let is_hidden = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden
        && (has_yml_extension(path) || path.extension().is_some_and(|ending| ending == "yaml"))
}

/// Whether the file has the extension that a workflow in the home must have.
pub(crate) fn has_yml_extension(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yml")
}
