//! The person's variables, kept for what agents set going.
//!
//! A performer that an agent's call starts would see that agent's variables and no others: not the
//! key of another agent that it has to start, and a `PATH` that the agent may have changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::{Driver, DriverError};
use crate::config::{Environment, ORANGE_HOME};
use crate::effects::private_file;
use crate::effects::run::RawText;

/// No environment is larger.
const LARGEST: u64 = 4 * 1024 * 1024;

impl Driver {
    /// What a process apart may see: the person's variables, whoever calls.
    pub(super) fn person_variables(&self) -> Result<BTreeMap<OsString, OsString>, DriverError> {
        let harnesses = self.harnesses()?;
        let passed = harnesses.all().iter();
        let passed = passed.filter_map(|(_, harness)| harness.as_ref().ok());
        let passed = passed.flat_map(|harness| harness.pass.iter().map(String::as_str));
        let own = self.environment.passed(passed);
        let path = self.home.environment();
        let kept = kept(&path);
        if self.is_called_by_agent() {
            return Ok(kept.unwrap_or(own));
        }
        if kept.as_ref() != Some(&own) {
            keep(&path, &own);
        }
        Ok(own)
    }
}

impl Driver {
    /// The same driver with the variables that the person last had.
    ///
    /// Whoever performs for a long time would see those of the day it was started, or none at all
    /// when a service manager started it.
    #[must_use]
    pub fn with_person_variables(&self) -> Driver {
        let mut driver = self.clone();
        if let Some(mut kept) = kept(&self.home.environment()) {
            kept.insert(ORANGE_HOME.into(), self.home.path().into());
            driver.environment = Environment::of(kept);
        }
        driver
    }
}

fn kept(path: &Path) -> Option<BTreeMap<OsString, OsString>> {
    let bytes = private_file::read(path, LARGEST).ok()?;
    let kept: Vec<(RawText, RawText)> = serde_json::from_slice(&bytes).ok()?;
    let kept = kept.into_iter();
    Some(kept.map(|(name, value)| (name.0, value.0)).collect())
}

/// Where it cannot be kept, agents set things going with what they have.
fn keep(path: &Path, variables: &BTreeMap<OsString, OsString>) {
    let raw: Vec<(RawText, RawText)> = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    if let Ok(bytes) = serde_json::to_vec(&raw) {
        let _unkept = private_file::write(path, &bytes);
    }
}
