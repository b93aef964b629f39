//! Finds settings that name a harness which does not exist.

use std::collections::BTreeSet;

use orange_config::{HarnessError, Harnesses};
use orange_engine::names::HarnessName;

use super::{Checkup, Health};

/// Reports each of these harnesses that does not exist. Another check reports invalid definitions.
pub(super) fn unknown_harnesses(
    harnesses: &Harnesses,
    names: &BTreeSet<HarnessName>,
) -> Vec<Checkup> {
    let unknown = names.iter().filter_map(|name| {
        let error = harnesses.require(name).err()?;
        if !matches!(error, HarnessError::NotFound { .. }) {
            return None;
        }
        let fix = "`orange harness list` shows every harness; correct `harness` or \
                   `review_harness` in config.toml, or in one project with `orange project update \
                   PROJECT --harness NAME`";
        Some(Checkup::new(name.as_str(), Health::Error, error.to_string()).with_fix(fix))
    });
    unknown.collect()
}
