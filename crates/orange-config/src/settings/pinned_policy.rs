//! The policies that the user allowed, one file per project.
//!
//! What orange uses is the text in this file, never what the repository says now.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::PathBuf;

use orange_engine::names::{BranchName, CommitId, ProjectName};
use orange_engine::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::policy::{Policy, PolicyFile, policy_hash};
use crate::projects::require_name;
use crate::{Home, reason, user_file};

/// The largest file that is read; JSON writes some characters of a policy with six.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A policy that the user allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedPolicy {
    pub project: ProjectName,
    /// The branch and the commit that it was read from.
    pub branch: BranchName,
    pub commit: CommitId,
    pub hash: String,
    pub allowed_at: Timestamp,
    pub files: Vec<PolicyFile>,
}

/// Why a pinned policy cannot be used or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {attempt} the policy of project `{project}` in `{}`: {reason}", .path.display())]
pub struct PinnedPolicyError {
    pub attempt: &'static str,
    pub project: ProjectName,
    pub path: PathBuf,
    pub reason: String,
}

impl PinnedPolicy {
    /// The policy that the user allowed for a project, if there is one. A file that was damaged is
    /// an error, because its sandbox must not be lost in silence.
    pub fn load(
        home: &Home,
        project: &ProjectName,
    ) -> Result<Option<PinnedPolicy>, PinnedPolicyError> {
        // Only a name that could be registered is part of a path.
        if require_name(project.as_str()).is_err() {
            return Ok(None);
        }
        let failed = |reason: String| failed("read", home, project, reason);
        let bytes = match read(home, project) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(|error| failed(reason(&error)))?,
        };
        let pinned: PinnedPolicy =
            serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        // A file system may take `App` and `app` for the same name.
        if pinned.project != *project {
            return Ok(None);
        }
        if policy_hash(&pinned.files) != pinned.hash {
            return Err(failed(String::from(
                "its text is not the one that was allowed",
            )));
        }
        Ok(Some(pinned))
    }

    /// What it says. An older version of orange may have allowed what this one rejects.
    pub fn policy(&self, home: &Home) -> Result<Policy, PinnedPolicyError> {
        let parsed = Policy::parse(&self.files);
        parsed.map_err(|problems| failed("use", home, &self.project, problems.join("; ")))
    }

    /// Replaces the policy of its project.
    pub fn save(&self, home: &Home) -> Result<(), PinnedPolicyError> {
        let failed = |reason: String| failed("write", home, &self.project, reason);
        require_name(self.project.as_str()).map_err(|error| failed(error.to_string()))?;
        let path = home.policy(&self.project);
        let text = serde_json::to_string_pretty(self).map_err(|it| failed(it.to_string()))?;
        let written = user_file::lock(&path).and_then(|_lock| user_file::write(&path, &text));
        written.map_err(|error| failed(reason(&error)))
    }

    /// Removes the policy of a project; returns whether there was one.
    pub fn remove(home: &Home, project: &ProjectName) -> Result<bool, PinnedPolicyError> {
        if require_name(project.as_str()).is_err() {
            return Ok(false);
        }
        let path = home.policy(project);
        if !path.exists() {
            return Ok(false);
        }
        let removed = user_file::lock(&path).and_then(|_lock| fs::remove_file(&path));
        removed.map_err(|error| failed("remove", home, project, reason(&error)))?;
        Ok(true)
    }
}

fn read(home: &Home, project: &ProjectName) -> io::Result<Vec<u8>> {
    let path = home.policy(project);
    // Reading a pipe could block forever.
    if !fs::metadata(&path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(&path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn failed(
    attempt: &'static str,
    home: &Home,
    project: &ProjectName,
    reason: String,
) -> PinnedPolicyError {
    PinnedPolicyError {
        attempt,
        project: project.clone(),
        path: home.policy(project),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    fn pinned() -> PinnedPolicy {
        let files = vec![PolicyFile {
            path: String::from(super::super::policy::POLICY_FILE),
            object: String::from("a"),
            text: String::from("workflow = \"minimal\"\n"),
        }];
        PinnedPolicy {
            project: ProjectName::new("app"),
            branch: BranchName::new("main"),
            commit: CommitId::new("c"),
            hash: policy_hash(&files),
            allowed_at: Timestamp::from_millis(0),
            files,
        }
    }

    #[test]
    fn what_was_saved_is_loaded_and_a_changed_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let home = Home::resolve(&Environment::of([("ORANGE_HOME", home)])).unwrap();
        let app = ProjectName::new("app");
        assert_eq!(PinnedPolicy::load(&home, &app), Ok(None));
        assert_eq!(PinnedPolicy::remove(&home, &app), Ok(false));
        assert!(!home.path().exists(), "reading creates nothing");
        let pinned = pinned();
        pinned.save(&home).unwrap();
        assert_eq!(PinnedPolicy::load(&home, &app), Ok(Some(pinned.clone())));
        assert_eq!(pinned.policy(&home).unwrap().values().count(), 1);
        let path = home.policy(&app);
        let text = fs::read_to_string(&path).unwrap();
        for damage in [
            text.replace("minimal", "evil"),
            text[..40].to_owned(),
            String::new(),
        ] {
            fs::write(&path, damage).unwrap();
            PinnedPolicy::load(&home, &app).unwrap_err();
        }
        fs::write(&path, text.replace("\"app\"", "\"App\"")).unwrap();
        assert_eq!(PinnedPolicy::load(&home, &app), Ok(None));
        assert_eq!(PinnedPolicy::remove(&home, &app), Ok(true));
        for name in ["../app", "", "a/b"] {
            let name = ProjectName::new(name);
            assert_eq!(PinnedPolicy::load(&home, &name), Ok(None));
            let project = name;
            PinnedPolicy {
                project,
                ..pinned.clone()
            }
            .save(&home)
            .unwrap_err();
        }
    }
}
