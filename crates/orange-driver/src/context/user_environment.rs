//! The user's variables, saved for processes that agents trigger.
//!
//! A performer started by an agent's call would see only that agent's variables: not the API key of
//! another agent that it has to start, and a `PATH` that the agent may have changed. Only the keys
//! that a harness in use passes on are saved.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use orange_config::{Environment, ORANGE_HOME, Policy};
use orange_effects::private_file;
use orange_effects::run::RawText;
use orange_engine::names::HarnessName;
use orange_store::StoreError;

use crate::DriverError;
use crate::context::Context;

/// The most bytes that are read from the file with the saved variables.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

impl Context {
    /// The variables for a detached process: the user's, even if an agent calls.
    pub(crate) fn user_variables(&self) -> Result<BTreeMap<OsString, OsString>, DriverError> {
        self.variables_for(&[])
    }

    /// Like `user_variables`, plus the variables of these harnesses, which a task is about to use.
    pub(crate) fn variables_for(
        &self,
        extra: &[&HarnessName],
    ) -> Result<BTreeMap<OsString, OsString>, DriverError> {
        let path = self.home.environment();
        let saved = load(&path);
        let is_called_by_agent = self.is_called_by_agent();
        if let (true, Some(saved)) = (is_called_by_agent, &saved) {
            return Ok(saved.clone());
        }
        let current = self.variables_in_use(extra)?;
        if is_called_by_agent {
            return Ok(current);
        }
        if saved.as_ref() != Some(&current) {
            save(&path, &current);
        }
        Ok(current)
    }

    /// The variables that every program may see, plus those passed on by harnesses that a project
    /// or an unfinished task may use.
    fn variables_in_use(
        &self,
        extra: &[&HarnessName],
    ) -> Result<BTreeMap<OsString, OsString>, DriverError> {
        let mut in_use = match self.read_store() {
            Ok(store) => store.harnesses_in_use()?,
            Err(StoreError::Missing { .. }) => BTreeSet::new(),
            Err(error) => return Err(error.into()),
        };
        in_use.extend(extra.iter().map(|it| (*it).clone()));
        for project in self.projects()?.projects {
            // An error in its policy is reported by the code that needs it.
            let policy = self.policy(&project.name).ok().flatten();
            in_use.extend(policy.iter().flat_map(Policy::harnesses));
            in_use.extend(project.harness.into_iter().chain(project.review_harness));
        }
        // An error in the settings is reported by the code that needs them.
        if let Ok(settings) = self.settings(None) {
            in_use.extend(settings.harness.into_iter().chain(settings.review_harness));
        }
        let harnesses = self.harnesses()?;
        let used = in_use.iter();
        let used = used.filter_map(|name| harnesses.require(name).ok());
        let passed = used.flat_map(|harness| harness.pass.iter().map(String::as_str));
        Ok(self.environment.passed_variables(passed))
    }
}

impl Context {
    /// The user's latest variables, if they were saved. This process keeps its own access to
    /// GitHub, which is never saved.
    pub(crate) fn saved_environment(&self) -> Option<Environment> {
        let mut saved = load(&self.home.environment())?;
        saved.extend(self.environment.forge_variables());
        saved.insert(ORANGE_HOME.into(), self.home.path().into());
        Some(Environment::of(saved))
    }
}

fn load(path: &Path) -> Option<BTreeMap<OsString, OsString>> {
    let bytes = private_file::read(path, MAX_BYTES).ok()?;
    let saved: Vec<(RawText, RawText)> = serde_json::from_slice(&bytes).ok()?;
    let saved = saved.into_iter();
    Some(saved.map(|(name, value)| (name.0, value.0)).collect())
}

/// Saves the variables as far as possible. If that fails, processes that agents trigger get the
/// agents' own variables.
fn save(path: &Path, variables: &BTreeMap<OsString, OsString>) {
    let raw: Vec<(RawText, RawText)> = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    if let Ok(bytes) = serde_json::to_vec(&raw) {
        let _unkept = private_file::write(path, &bytes);
    }
}
