//! Which hints about repositories were heeded.

use std::collections::BTreeMap;
use std::time::SystemTime;

use orange_effects::forge::host::RepositoryAddress;

use crate::forge::Forge;

/// For each repository, the last hint that was heeded.
#[derive(Debug, Default)]
pub(super) struct SeenHints(BTreeMap<String, (RepositoryAddress, Option<SystemTime>)>);

impl SeenHints {
    /// Whether one of the known repositories has a new hint.
    pub(super) fn has_new(&self, forge: &Forge) -> bool {
        let mut known = self.0.values();
        known.any(|(address, seen)| forge.last_hint(address) != *seen)
    }

    /// Whether a repository has a new hint, which from now on counts as heeded. A hint from before
    /// the first question is not new, because the first round looks at everything.
    pub(super) fn is_new(&mut self, forge: &Forge, address: &RepositoryAddress) -> bool {
        let last = forge.last_hint(address);
        let known = self.0.insert(address.to_string(), (address.clone(), last));
        known.is_some_and(|(_, seen)| seen != last)
    }

    /// Forgets the repositories that no task needs any more.
    pub(super) fn retain(&mut self, is_needed: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| is_needed(name));
    }
}
