//! Reads refs from git's files where possible, else from git.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use orange_engine::names::{BranchName, CommitId};

use super::name::branch_ref;
use super::own_directory::read_file;
use super::settings::Settings;
use crate::git::{Git, GitError};

/// Where git stores refs that have no file.
const PACKED: &str = "packed-refs";

/// Upper bound on the size of that file, and of the file of a ref.
const LIMIT: u64 = 1024 * 1024 * 1024;

/// The values of some refs, by full name: the commit and, for a symbolic ref, its target.
#[derive(Debug, Default)]
pub(crate) struct Refs {
    pub commits: BTreeMap<String, CommitId>,
    pub targets: BTreeMap<String, String>,
}

impl Git {
    /// Reads refs by their full names; the result omits those that do not exist.
    pub(crate) fn refs(&self, names: &[String]) -> Result<Refs, GitError> {
        match self.refs_in_files(names) {
            Some(refs) => Ok(refs),
            None => self.refs_by_git(names),
        }
    }

    /// An existing branch that makes this name impossible, as `a` and `a/b` exclude each other: git
    /// may need a file and a directory of the same name.
    pub fn clashing_branch(&self, branch: &BranchName) -> Result<Option<BranchName>, GitError> {
        let name = branch.as_str();
        for (at, _) in name.match_indices('/') {
            let above = BranchName::new(&name[..at]);
            if self.branch(&above)?.is_some() {
                return Ok(Some(above));
            }
        }
        let below = format!("{}/", branch_ref(branch)?);
        if self.has_no_ref_below(&below) {
            return Ok(None);
        }
        let format = "--format=%(refname:lstrip=2)";
        let call = self.call(["for-each-ref", "--count=1", format, &below]);
        let found = call.text()?;
        let found = found.trim();
        Ok((!found.is_empty()).then(|| BranchName::new(found)))
    }

    /// Creates a branch at a commit. Fails if the branch exists.
    pub fn create_branch(&self, branch: &BranchName, at: &CommitId) -> Result<(), GitError> {
        let name = branch_ref(branch)?;
        let call = self.call(["update-ref", "-m", "orange: new branch", &name, at.as_str()]);
        call.with_arguments([self.null_id()]).succeed()
    }

    /// The objects of all branches and tags, by their full names.
    pub fn branches_and_tags(&self) -> Result<BTreeMap<String, CommitId>, GitError> {
        let format = "--format=%(objectname) %(refname)";
        let text = self
            .call(["for-each-ref", format, "refs/heads/", "refs/tags/"])
            .text()?;
        let rows = text.lines().filter_map(|line| line.split_once(' '));
        Ok(rows
            .map(|(id, name)| (name.to_owned(), CommitId::new(id)))
            .collect())
    }

    fn refs_by_git(&self, names: &[String]) -> Result<Refs, GitError> {
        let format = "--format=%(refname)%00%(objectname)%00%(symref)%00";
        let call = self.call(["for-each-ref", format]).with_arguments(names);
        let text = String::from_utf8_lossy(&call.bytes()?).into_owned();
        let parts: Vec<&str> = text.split('\0').map(str::trim).collect();
        let mut refs = Refs::default();
        for row in parts.chunks_exact(3) {
            let [name, commit, target] = row else {
                continue;
            };
            // Checked, because git takes a name as a prefix that also matches everything below it.
            if names.iter().any(|wanted| wanted == name) {
                refs.commits
                    .insert((*name).to_owned(), CommitId::new(commit));
                if !target.is_empty() {
                    refs.targets
                        .insert((*name).to_owned(), (*target).to_owned());
                }
            }
        }
        Ok(refs)
    }

    /// Reads refs from files in git's own order: first a ref's own file, then the packed refs,
    /// which git writes before it removes a ref's own file. `None` when in doubt.
    fn refs_in_files(&self, names: &[String]) -> Option<Refs> {
        if !self.settings.has_plain_files() {
            return None;
        }
        let mut refs = Refs::default();
        let mut missing: Vec<&str> = Vec::new();
        for name in names {
            match read_if_exists(&self.directory().join(name)).ok()? {
                None => missing.push(name),
                Some(text) => {
                    let id = self.id_in(&text)?;
                    refs.commits.insert(name.clone(), id);
                }
            }
        }
        if missing.is_empty() {
            return Some(refs);
        }
        let packed = self.read_packed_refs()?;
        for line in packed.lines() {
            if let Some((id, name)) = line.split_once(' ')
                && missing.contains(&name)
            {
                let id = self.id_in(id.as_bytes())?;
                refs.commits.insert(name.to_owned(), id);
            }
        }
        Some(refs)
    }

    /// Whether there is certainly no ref below a prefix that ends in `/`.
    pub(crate) fn has_no_ref_below(&self, prefix: &str) -> bool {
        has_no_ref_below(self.directory(), &self.settings, prefix)
    }

    fn read_packed_refs(&self) -> Option<String> {
        read_packed_refs(self.directory())
    }

    /// The branch or the commit that a HEAD names; `None` when in doubt.
    pub(crate) fn head_in_file(
        &self,
        directory: &Path,
    ) -> Option<(Option<BranchName>, Option<CommitId>)> {
        if !self.settings.has_plain_files() {
            return None;
        }
        let text = read_file(&directory.join("HEAD"), LIMIT).ok()??;
        if let Some(id) = self.id_in(&text) {
            return Some((None, Some(id)));
        }
        let text = std::str::from_utf8(&text).ok()?.trim_end();
        let name = text.strip_prefix("ref: refs/heads/")?;
        Some((Some(BranchName::new(name)), None))
    }

    fn id_in(&self, text: &[u8]) -> Option<CommitId> {
        let text = std::str::from_utf8(text.trim_ascii_end()).ok()?;
        let is_id = text.len() == self.id_digits() && text.bytes().all(|it| it.is_ascii_hexdigit());
        is_id.then(|| CommitId::new(text))
    }
}

/// Whether a repository has certainly no ref below a prefix that ends in `/`.
pub(crate) fn has_no_ref_below(directory: &Path, settings: &Settings, prefix: &str) -> bool {
    let is_empty = || {
        let is_gone = fs::symlink_metadata(directory.join(prefix))
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let packed = Some(directory).filter(|_| is_gone);
        let packed = packed.and_then(read_packed_refs)?;
        let mut names = packed.lines().filter_map(|line| line.split_once(' '));
        Some(!names.any(|(_, name)| name.starts_with(prefix)))
    };
    settings.has_plain_files() && is_empty() == Some(true)
}

fn read_packed_refs(directory: &Path) -> Option<String> {
    let packed = read_if_exists(&directory.join(PACKED)).ok()?;
    String::from_utf8(packed.unwrap_or_default()).ok()
}

/// The content of a file; `None` when it does not exist, or when it is a directory, which holds
/// refs with longer names.
fn read_if_exists(path: &Path) -> io::Result<Option<Vec<u8>>> {
    if path.is_dir() {
        return Ok(None);
    }
    match read_file(path, LIMIT) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        read => read,
    }
}
