//! The token's account, its quotas, and the permissions of others.

use std::collections::BTreeMap;

use orange_engine::forge::account::{Account, Permission};
use orange_engine::forge::knowledge::Knowledge;
use orange_engine::forge::pace::Quota;
use orange_engine::time::Timestamp;
use serde::Deserialize;

use super::Repository;
use super::wire::{RestAccount, rest_account};
use crate::forge::client::{Client, encode};
use crate::forge::error::{ForgeError, Trouble};

#[derive(Deserialize)]
pub(super) struct Quotas {
    resources: BTreeMap<String, QuotaEntry>,
}

#[derive(Deserialize)]
struct QuotaEntry {
    limit: u64,
    remaining: u64,
    reset: i64,
}

#[derive(Deserialize)]
pub(super) struct PermissionAnswer {
    permission: String,
}

impl Quotas {
    pub(super) fn into_facts(self) -> BTreeMap<String, Quota> {
        let quotas = self.resources.into_iter().map(|(name, entry)| {
            let quota = Quota {
                limit: entry.limit,
                remaining: entry.remaining,
                resets: Timestamp::from_millis(entry.reset.saturating_mul(1000)),
            };
            (name, quota)
        });
        quotas.collect()
    }
}

impl PermissionAnswer {
    /// GitHub reports finer roles as one of these words; any other word is unknown.
    pub(super) fn into_facts(self) -> Knowledge<Permission> {
        match self.permission.as_str() {
            "admin" => Knowledge::Known(Permission::Admin),
            "write" | "maintain" => Knowledge::Known(Permission::Write),
            "read" | "triage" => Knowledge::Known(Permission::Read),
            "none" => Knowledge::Known(Permission::None),
            _ => Knowledge::Unknown,
        }
    }
}

/// The account that the token belongs to; fails for tokens without an account.
pub fn fetch_own_account(client: &mut Client) -> Result<Account, ForgeError> {
    let fetched = client.fetch::<RestAccount>("/user")?;
    rest_account(Some(fetched.value)).ok_or_else(|| ForgeError {
        request: String::from("GET /user"),
        trouble: Trouble::Malformed {
            reason: String::from("it names no account"),
        },
    })
}

/// What is left of each quota; asking costs nothing.
pub fn fetch_quotas(client: &mut Client) -> Result<BTreeMap<String, Quota>, ForgeError> {
    let quotas = client.fetch::<Quotas>("/rate_limit")?.value;
    Ok(quotas.into_facts())
}

impl Repository<'_> {
    /// What an account may do in this repository. The token needs permission to ask; without it,
    /// the answer is an error.
    pub fn fetch_permission(
        &mut self,
        account: &Account,
    ) -> Result<Knowledge<Permission>, ForgeError> {
        let account = encode(&account.address());
        let path = self.path(&format!("/collaborators/{account}/permission"));
        let answer = self.client.fetch::<PermissionAnswer>(&path)?;
        Ok(answer.value.into_facts())
    }
}
