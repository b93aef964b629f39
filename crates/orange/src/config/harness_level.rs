//! How much an agent may do, in the words of a definition.

use std::collections::BTreeMap;

use orange_engine::language::workflow::Permissions;
use orange_engine::role::Role;
use toml::Spanned;

/// A list of arguments in a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything.
    Full,
    /// What the program calls safe.
    Reduced,
    /// What a judge of others' work needs; a definition without it means `Reduced`.
    Review,
}

/// Variables as a definition writes them.
pub(super) type LevelVariables = BTreeMap<Spanned<String>, Spanned<String>>;

impl Level {
    /// What an agent of this role gets with these permissions.
    pub fn of(permissions: Permissions, role: &Role) -> Self {
        match (permissions, role) {
            (Permissions::Full, _) => Level::Full,
            (Permissions::Reduced, Role::Reviewer) => Level::Review,
            (Permissions::Reduced, _) => Level::Reduced,
        }
    }
}
