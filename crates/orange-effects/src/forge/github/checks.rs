//! The checks of a commit: check runs and commit statuses.

use orange_engine::forge::checks::Check;
use orange_engine::names::CommitId;
use orange_engine::time::Timestamp;
use serde::Deserialize;

use super::wire::{check_outcome, list, or_default, status_outcome, whole};
use super::{List, MAX_PAGES, PER_PAGE, Repository};
use crate::forge::client::encode;
use crate::forge::error::ForgeError;

#[derive(Deserialize)]
pub(super) struct CheckRunsPage {
    check_runs: Vec<CheckRunAnswer>,
}

#[derive(Deserialize)]
pub(super) struct CheckRunAnswer {
    name: String,
    status: String,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    started_at: Option<Timestamp>,
    #[serde(default)]
    app: Option<AppAnswer>,
}

#[derive(Deserialize)]
struct AppAnswer {
    #[serde(default)]
    slug: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct StatusPage {
    #[serde(default, deserialize_with = "or_default")]
    statuses: Vec<StatusAnswer>,
}

#[derive(Deserialize)]
pub(super) struct StatusAnswer {
    context: String,
    state: String,
    #[serde(default)]
    created_at: Option<Timestamp>,
}

impl CheckRunAnswer {
    pub(super) fn into_facts(self) -> Check {
        Check {
            group: self.app.and_then(|it| it.slug).unwrap_or_default(),
            outcome: check_outcome(&self.status, self.conclusion.as_deref()),
            name: self.name,
            is_required: false,
            started: self.started_at,
        }
    }
}

impl StatusAnswer {
    pub(super) fn into_facts(self) -> Check {
        Check {
            group: String::new(),
            outcome: status_outcome(&self.state),
            name: self.context,
            is_required: false,
            started: self.created_at,
        }
    }
}

impl CheckRunsPage {
    pub(super) fn into_checks(self) -> Vec<Check> {
        let runs = self.check_runs.into_iter();
        runs.map(CheckRunAnswer::into_facts).collect()
    }
}

impl StatusPage {
    pub(super) fn into_checks(self) -> Vec<Check> {
        let statuses = self.statuses.into_iter();
        statuses.map(StatusAnswer::into_facts).collect()
    }
}

impl Repository<'_> {
    /// The check runs and commit statuses of a commit. The answers do not say which of them are
    /// required.
    pub fn fetch_checks(&mut self, commit: &CommitId) -> Result<List<Check>, ForgeError> {
        let commit = encode(commit.as_str());
        let path = self.path(&format!(
            "/commits/{commit}/check-runs?filter=latest&per_page={PER_PAGE}"
        ));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        let mut checks = whole(list(pages, CheckRunsPage::into_checks, |it| it));
        let path = self.path(&format!("/commits/{commit}/status?per_page={PER_PAGE}"));
        let pages = self.client.fetch_pages(&path, None, MAX_PAGES)?;
        let statuses = whole(list(pages, StatusPage::into_checks, |it| it));
        checks.items.extend(statuses.items);
        checks.is_complete &= statuses.is_complete;
        // Two lists have no common `ETag`.
        checks.etag = None;
        Ok(checks)
    }
}
