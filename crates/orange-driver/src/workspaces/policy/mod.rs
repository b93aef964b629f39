//! The policy of a repository, as its default branch has it.
//!
//! Only the commit of the default branch is read, by git's own commands: an agent or a pull request
//! can write to the files of a worktree and to other branches.

mod state;

use std::path::Path;

use orange_config::{
    MAX_POLICY_BYTES, MAX_POLICY_FILES, POLICY_FILE, POLICY_FOLDER, POLICY_WORKFLOWS, PolicyFile,
    Project, policy_hash,
};
use orange_effects::git::{CommittedEntry, Git, GitError};
use orange_engine::names::CommitId;

pub use state::PolicyState;

use crate::DriverError;
use crate::workspaces::Workspaces;

/// The files of a policy, as a commit has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedPolicy {
    pub commit: CommitId,
    pub files: Vec<PolicyFile>,
    pub hash: String,
}

impl Workspaces {
    /// Reads the policy on the default branch; `None` if there is none.
    pub(crate) fn committed_policy(
        &self,
        project: &Project,
    ) -> Result<Option<CommittedPolicy>, DriverError> {
        let git = self.open_repository(project)?;
        let commit = default_commit(&git, project)?;
        let entries = policy_entries(&git, &commit)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let files = read_files(&git, &entries)?;
        let files = files.map_err(|problems| DriverError::PolicyInvalid {
            project: project.name.clone(),
            commit: commit.clone(),
            problems,
        })?;
        Ok(Some(CommittedPolicy {
            hash: policy_hash(&files),
            commit,
            files,
        }))
    }
}

/// The commit of the default branch in this repository.
fn default_commit(git: &Git, project: &Project) -> Result<CommitId, DriverError> {
    let commit = git.branch(&project.default_branch)?;
    commit.ok_or_else(|| DriverError::NoBranch {
        path: project.path.clone(),
        branch: project.default_branch.clone(),
    })
}

/// What belongs to the policy of a commit, be it a file or not.
fn policy_entries(git: &Git, commit: &CommitId) -> Result<Vec<CommittedEntry>, GitError> {
    let entries = git.entries_below(commit, POLICY_FOLDER)?.into_iter();
    Ok(entries.filter(is_of_policy).collect())
}

fn is_of_policy(entry: &CommittedEntry) -> bool {
    let path = &entry.path;
    let extension = path.extension().and_then(|it| it.to_str());
    let is_workflow =
        path.starts_with(POLICY_WORKFLOWS) && matches!(extension, Some("yml" | "yaml"));
    // A link or a submodule in place of a folder could hide a policy.
    let hides_folder = [POLICY_FOLDER, POLICY_WORKFLOWS]
        .iter()
        .any(|it| path.as_path() == Path::new(it));
    is_workflow || path.starts_with(POLICY_FILE) || (hides_folder && !entry.is_file)
}

/// The texts of the files, or everything that is wrong with them.
fn read_files(
    git: &Git,
    entries: &[CommittedEntry],
) -> Result<Result<Vec<PolicyFile>, Vec<String>>, GitError> {
    if entries.len() > MAX_POLICY_FILES {
        let count = entries.len();
        let problem = format!("it has {count} files, and may have {MAX_POLICY_FILES}");
        return Ok(Err(vec![problem]));
    }
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    let mut free = MAX_POLICY_BYTES;
    for entry in entries {
        let name = entry.path.to_string_lossy().escape_debug().to_string();
        if !entry.is_file {
            problems.push(format!("`{name}` is not a regular file"));
            continue;
        }
        let bytes = match git.blob(&entry.object) {
            Err(GitError::TooLong(_)) => None,
            bytes => Some(bytes?),
        };
        let Some(bytes) = bytes.filter(|bytes| bytes.len() <= free) else {
            let problem = format!("its files have more than {MAX_POLICY_BYTES} bytes: `{name}`");
            problems.push(problem);
            break;
        };
        free -= bytes.len();
        match (entry.path.to_str(), String::from_utf8(bytes)) {
            (Some(path), Ok(text)) => files.push(PolicyFile {
                path: path.to_owned(),
                object: entry.object.clone(),
                text,
            }),
            _ => problems.push(format!("`{name}` is not UTF-8")),
        }
    }
    Ok(if problems.is_empty() {
        Ok(files)
    } else {
        Err(problems)
    })
}
