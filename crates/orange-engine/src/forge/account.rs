//! Accounts of the forge, and what they may do in a repository.

use std::collections::BTreeMap;
use std::fmt;

use super::knowledge::Knowledge;

/// An account of the forge. Names are compared without case, and a bot is the same account with and
/// without the ending `[bot]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Account {
    name: String,
    is_bot: bool,
}

/// The ending that some answers add to the name of a bot.
const BOT_ENDING: &str = "[bot]";

impl Account {
    /// An account by its name; `is_bot` is what the forge says about its kind.
    ///
    /// A person may have the name of a bot, so the kind is part of the identity.
    pub fn new(name: &str, is_bot: bool) -> Account {
        let name = name.trim().to_lowercase();
        match name.strip_suffix(BOT_ENDING) {
            Some(name) => Account {
                name: name.to_owned(),
                is_bot: true,
            },
            None => Account { name, is_bot },
        }
    }

    /// The name without the ending of a bot.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_bot(&self) -> bool {
        self.is_bot
    }

    /// The name by which the forge finds the account, bots included.
    pub fn address(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        if self.is_bot {
            formatter.write_str(BOT_ENDING)?;
        }
        Ok(())
    }
}

/// What an account may do in a repository; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    None,
    Read,
    Write,
    Admin,
}

/// The permissions that are known; about an account that is not listed, nothing is known.
pub type Permissions = BTreeMap<Account, Permission>;

/// Whether an account has at least this permission; `Knowledge::None` for a deleted account.
pub fn may(
    permissions: &Permissions,
    account: Option<&Account>,
    needed: Permission,
) -> Knowledge<bool> {
    let Some(account) = account else {
        return Knowledge::None;
    };
    match permissions.get(account) {
        Some(permission) => Knowledge::Known(*permission >= needed),
        None => Knowledge::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesson_62_a_bot_is_one_account_in_both_interfaces() {
        let rest = Account::new("Renovate[bot]", true);
        let graph = Account::new("renovate", true);
        assert_eq!(rest, graph);
        assert_eq!(rest.address(), "renovate[bot]");
        assert_ne!(Account::new("renovate", false), graph);
        assert_eq!(Account::new("renovate[bot]", false), graph);
    }

    #[test]
    fn lesson_94_only_a_permission_that_was_asked_for_counts() {
        let ada = Account::new("ada", false);
        let bob = Account::new("bob", false);
        let known = Permissions::from([(ada.clone(), Permission::Write)]);
        let can_write = |account| may(&known, account, Permission::Write);
        assert_eq!(can_write(Some(&ada)), Knowledge::Known(true));
        assert_eq!(can_write(Some(&bob)), Knowledge::Unknown);
        assert_eq!(can_write(None), Knowledge::None);
        assert_eq!(
            may(&known, Some(&ada), Permission::Admin),
            Knowledge::Known(false)
        );
    }
}
