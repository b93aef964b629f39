//! What many answers have in common.

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

/// A value that may be missing or `null`, as its default.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A value of which `null` is an answer; with `default`, a field that was left out is unknown.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<Knowledge<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let value = Option::deserialize(deserializer)?;
    Ok(value.map_or(Knowledge::None, Knowledge::Known))
}

/// An entry that may be something else than was asked for, or lack what it needs.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Maybe<T> {
    Whole(T),
    Other(IgnoredAny),
}

/// What became of a check run, by its status and conclusion, in either case of letters.
pub fn check_outcome(status: &str, conclusion: Option<&str>) -> CheckOutcome {
    if !status.eq_ignore_ascii_case("completed") {
        return CheckOutcome::Running;
    }
    match conclusion.unwrap_or_default().to_lowercase().as_str() {
        "success" | "neutral" => CheckOutcome::Passed,
        "skipped" => CheckOutcome::Skipped,
        "cancelled" => CheckOutcome::Cancelled,
        // GitHub gave up on it and will say nothing more; only a new run can.
        "stale" | "" => CheckOutcome::Running,
        // A word that is not known yet is no success.
        _ => CheckOutcome::Failed,
    }
}

/// What became of a commit status.
pub fn status_outcome(state: &str) -> CheckOutcome {
    match state.to_lowercase().as_str() {
        "success" => CheckOutcome::Passed,
        "pending" => CheckOutcome::Running,
        "expected" => CheckOutcome::Expected,
        _ => CheckOutcome::Failed,
    }
}

/// Whether GitHub blocks a merge, by its own word in either case of letters.
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

/// The list of a read that named nothing to compare with; it cannot be unchanged.
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
