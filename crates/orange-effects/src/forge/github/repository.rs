//! The repository itself, and which checks a branch requires.

use std::collections::BTreeSet;

use orange_engine::forge::knowledge::Knowledge;
use orange_engine::names::BranchName;
use serde::Deserialize;

use super::wire::{list, or_default, whole};
use super::{MAX_PAGES, PER_PAGE, Repository};
use crate::forge::client::encode;
use crate::forge::error::{ForgeError, Trouble};

/// What is known about a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// Stays the same when the repository is renamed.
    pub id: u64,
    /// `owner/name`, as it is now.
    pub full_name: String,
    pub default_branch: BranchName,
    pub is_archived: Knowledge<bool>,
    pub has_issues: Knowledge<bool>,
    /// Whether the token may push.
    pub may_push: Knowledge<bool>,
    pub allows_merge_commit: Knowledge<bool>,
    pub allows_squash: Knowledge<bool>,
    pub allows_rebase: Knowledge<bool>,
}

#[derive(Deserialize)]
pub(super) struct RepositoryAnswer {
    id: u64,
    full_name: String,
    default_branch: String,
    #[serde(default)]
    archived: Option<bool>,
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
pub(super) struct RequiredChecksAnswer {
    #[serde(default, deserialize_with = "or_default")]
    contexts: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    checks: Vec<RequiredCheck>,
}

#[derive(Deserialize)]
struct RequiredCheck {
    context: String,
}

/// A rule of a ruleset that applies to a branch. Rules about other things have other parameters.
#[derive(Deserialize)]
pub(super) struct RuleAnswer {
    #[serde(default, deserialize_with = "or_default")]
    parameters: RuleParameters,
}

#[derive(Default, Deserialize)]
struct RuleParameters {
    #[serde(default, deserialize_with = "or_default")]
    required_status_checks: Vec<RequiredCheck>,
}

impl RepositoryAnswer {
    pub(super) fn into_facts(self) -> RepositoryFacts {
        let known = |value: Option<bool>| value.map_or(Knowledge::Unknown, Knowledge::Known);
        RepositoryFacts {
            id: self.id,
            full_name: self.full_name,
            default_branch: BranchName::new(self.default_branch),
            is_archived: known(self.archived),
            has_issues: known(self.has_issues),
            may_push: known(self.permissions.and_then(|it| it.push)),
            allows_merge_commit: known(self.allow_merge_commit),
            allows_squash: known(self.allow_squash_merge),
            allows_rebase: known(self.allow_rebase_merge),
        }
    }
}

impl RequiredChecksAnswer {
    pub(super) fn into_names(self) -> BTreeSet<String> {
        let checks = self.checks.into_iter().map(|it| it.context);
        self.contexts.into_iter().chain(checks).collect()
    }
}

impl RuleAnswer {
    pub(super) fn into_names(self) -> Vec<String> {
        let checks = self.parameters.required_status_checks.into_iter();
        checks.map(|it| it.context).collect()
    }
}

impl Repository<'_> {
    /// The repository, under its present name even when it is asked for under an old one.
    pub fn fetch_repository(&mut self) -> Result<RepositoryFacts, ForgeError> {
        let path = self.path("");
        let answer = self.client.fetch::<RepositoryAnswer>(&path)?;
        Ok(answer.value.into_facts())
    }

    /// The checks that a branch requires, by its protection and by rulesets. For most tokens,
    /// GitHub answers "not found" about the protection, as for an unprotected branch; the result is
    /// then unknown.
    pub fn fetch_required_checks(
        &mut self,
        branch: &BranchName,
    ) -> Result<Knowledge<BTreeSet<String>>, ForgeError> {
        let branch = encode(branch.as_str());
        let path = self.path(&format!(
            "/branches/{branch}/protection/required_status_checks"
        ));
        let protection = self.client.fetch::<RequiredChecksAnswer>(&path);
        let Some(protection) = visible(protection)? else {
            return Ok(Knowledge::Unknown);
        };
        let path = self.path(&format!("/rules/branches/{branch}?per_page={PER_PAGE}"));
        let rules = self.client.fetch_pages(&path, None, MAX_PAGES);
        let Some(rules) = visible(rules)? else {
            return Ok(Knowledge::Unknown);
        };
        let entries = |page: Vec<RuleAnswer>| page;
        let rules = whole(list(rules, entries, RuleAnswer::into_names));
        if !rules.is_complete {
            return Ok(Knowledge::Unknown);
        }
        let mut names = protection.value.into_names();
        names.extend(rules.items.into_iter().flatten());
        Ok(if names.is_empty() {
            Knowledge::None
        } else {
            Knowledge::Known(names)
        })
    }
}

/// What was read; `None` if the token may not see it.
fn visible<T>(read: Result<T, ForgeError>) -> Result<Option<T>, ForgeError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ForgeError {
            trouble: Trouble::AbsentOrNotAllowed { .. } | Trouble::Forbidden { .. },
            ..
        }) => Ok(None),
        Err(error) => Err(error),
    }
}
