//! What many of GitHub's answers have in common.

use orange_engine::forge::account::Account;
use orange_engine::forge::checks::CheckOutcome;
use orange_engine::forge::knowledge::Knowledge;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::List;
use crate::forge::client::{Conditional, Pages};

/// An account in an answer of REST; `null` when it was deleted.
#[derive(Deserialize)]
pub struct RestAccount {
    login: String,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// An account in an answer of GraphQL.
#[derive(Deserialize)]
pub struct GraphAccount {
    login: String,
    #[serde(default, rename = "__typename")]
    kind: Option<String>,
}

pub fn rest_account(account: Option<RestAccount>) -> Option<Account> {
    let account = account?;
    Some(Account::new(
        &account.login,
        account.kind.as_deref() == Some("Bot"),
    ))
}

pub fn graph_account(account: Option<GraphAccount>) -> Option<Account> {
    let account = account?;
    Some(Account::new(
        &account.login,
        account.kind.as_deref() == Some("Bot"),
    ))
}

/// Reads `null` as the type's default; with serde's `default`, a missing value too.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads `null` as `Knowledge::None`; with serde's `default`, a missing field is unknown.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<Knowledge<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let value = Option::deserialize(deserializer)?;
    Ok(value.map_or(Knowledge::None, Knowledge::Known))
}

/// An entry that may be of another type than requested, or lack a required field.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Maybe<T> {
    Whole(T),
    Other(IgnoredAny),
}

/// The outcome of a check run. The words may be in upper or lower case.
pub fn check_outcome(status: &str, conclusion: Option<&str>) -> CheckOutcome {
    if !status.eq_ignore_ascii_case("completed") {
        return CheckOutcome::Running;
    }
    match conclusion.unwrap_or_default().to_lowercase().as_str() {
        "success" | "neutral" => CheckOutcome::Passed,
        "skipped" => CheckOutcome::Skipped,
        "cancelled" => CheckOutcome::Cancelled,
        // GitHub has given up on this run; only a new run will have a conclusion.
        "stale" | "" => CheckOutcome::Running,
        // An unknown word never counts as a success.
        _ => CheckOutcome::Failed,
    }
}

/// The outcome of a commit status.
pub fn status_outcome(state: &str) -> CheckOutcome {
    match state.to_lowercase().as_str() {
        "success" => CheckOutcome::Passed,
        "pending" => CheckOutcome::Running,
        "expected" => CheckOutcome::Expected,
        _ => CheckOutcome::Failed,
    }
}

/// Whether GitHub blocks a merge, by the pull request's merge state in upper or lower case.
pub fn is_blocked(merge_state: Option<&str>) -> Knowledge<bool> {
    match merge_state.unwrap_or_default().to_lowercase().as_str() {
        "clean" | "has_hooks" | "unstable" => Knowledge::Known(false),
        "blocked" | "behind" | "dirty" => Knowledge::Known(true),
        _ => Knowledge::Unknown,
    }
}

/// The entries of all pages.
pub fn list<P, W, T>(
    pages: Conditional<Pages<P>>,
    entries: impl Fn(P) -> Vec<W>,
    neutral: impl Fn(W) -> T,
) -> Conditional<List<T>> {
    match pages {
        Conditional::Unchanged => Conditional::Unchanged,
        Conditional::Changed(pages) => {
            let items = pages.pages.into_iter().flat_map(entries);
            Conditional::Changed(List {
                items: items.map(neutral).collect(),
                is_complete: pages.is_complete,
                etag: pages.etag,
                moved_to: pages.moved_to,
            })
        }
    }
}

/// The list of a read that sent no `ETag`, so that it cannot be `Unchanged`.
pub fn whole<T>(list: Conditional<List<T>>) -> List<T> {
    match list {
        Conditional::Changed(list) => list,
        Conditional::Unchanged => List {
            items: Vec::new(),
            is_complete: false,
            etag: None,
            moved_to: None,
        },
    }
}
