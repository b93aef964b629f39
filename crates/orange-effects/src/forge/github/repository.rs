//! The repository itself, and which checks a branch requires.

use std::collections::BTreeSet;

use orange_engine::forge::knowledge::Knowledge;
use orange_engine::names::BranchName;
use serde::Deserialize;

use super::Repository;
use super::wire::or_default;
use crate::forge::client::encode;
use crate::forge::error::{ForgeError, Trouble};

/// What is known about a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Survives a new name.
    pub id: u64,
    /// `owner/name`, as it is now.
    pub full_name: String,
    pub default_branch: BranchName,
    pub is_archived: bool,
    pub has_issues: bool,
    /// Whether the token may push.
    pub may_push: Knowledge<bool>,
    pub allows_merge_commit: Knowledge<bool>,
    pub allows_squash: Knowledge<bool>,
    pub allows_rebase: Knowledge<bool>,
}

#[derive(Deserialize)]
struct RepositoryAnswer {
    id: u64,
    full_name: String,
    default_branch: String,
    #[serde(default, deserialize_with = "or_default")]
    archived: bool,
    #[serde(default)]
    has_issues: Option<bool>,
    #[serde(default)]
    permissions: Option<PermissionsAnswer>,
    #[serde(default)]
    allow_merge_commit: Option<bool>,
    #[serde(default)]
    allow_squash_merge: Option<bool>,
    #[serde(default)]
    allow_rebase_merge: Option<bool>,
}

#[derive(Deserialize)]
struct PermissionsAnswer {
    #[serde(default)]
    push: Option<bool>,
}

#[derive(Deserialize)]
struct RequiredChecksAnswer {
    #[serde(default, deserialize_with = "or_default")]
    contexts: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    checks: Vec<RequiredCheck>,
}

#[derive(Deserialize)]
struct RequiredCheck {
    context: String,
}

impl Repository<'_> {
    /// The repository, under its present name even when it is asked for under an old one.
    pub fn fetch_repository(&mut self) -> Result<RepositoryFacts, ForgeError> {
        let path = self.path("");
        let answer = self.client.fetch::<RepositoryAnswer>(&path)?.value;
        let known = |value: Option<bool>| value.map_or(Knowledge::Unknown, Knowledge::Known);
        Ok(RepositoryFacts {
            id: answer.id,
            full_name: answer.full_name,
            default_branch: BranchName::new(answer.default_branch),
            is_archived: answer.archived,
            has_issues: answer.has_issues.unwrap_or(true),
            may_push: known(answer.permissions.and_then(|it| it.push)),
            allows_merge_commit: known(answer.allow_merge_commit),
            allows_squash: known(answer.allow_squash_merge),
            allows_rebase: known(answer.allow_rebase_merge),
        })
    }

    /// The checks that a branch requires. GitHub hides this from most tokens behind the answer that
    /// an unprotected branch gets too, so without an answer it is unknown.
    pub fn fetch_required_checks(
        &mut self,
        branch: &BranchName,
    ) -> Result<Knowledge<BTreeSet<String>>, ForgeError> {
        let branch = encode(branch.as_str());
        let path = self.path(&format!(
            "/branches/{branch}/protection/required_status_checks"
        ));
        let answer = match self.client.fetch::<RequiredChecksAnswer>(&path) {
            Ok(fetched) => fetched.value,
            Err(error) => {
                return match error.trouble {
                    Trouble::AbsentOrNotAllowed { .. } | Trouble::Forbidden { .. } => {
                        Ok(Knowledge::Unknown)
                    }
                    _ => Err(error),
                };
            }
        };
        let checks = answer.checks.into_iter().map(|it| it.context);
        let names: BTreeSet<String> = answer.contexts.into_iter().chain(checks).collect();
        Ok(if names.is_empty() {
            Knowledge::None
        } else {
            Knowledge::Known(names)
        })
    }
}
