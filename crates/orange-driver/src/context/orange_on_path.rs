//! Lets agents call this program by its name.

use std::ffi::OsString;

use orange_config::Environment;

use super::Context;

impl Context {
    /// The environment with this program at the end of the `PATH`: agents call it by its name.
    pub(crate) fn with_orange_on_path(&self) -> Environment {
        let mut variables = self.environment.variables().clone();
        let folder = self.orange.parent();
        if let Some(folder) = folder.filter(|_| self.orange.ends_with("orange")) {
            let mut path = variables
                .get("PATH".as_ref() as &std::ffi::OsStr)
                .cloned()
                .unwrap_or_default();
            let is_there = std::env::split_paths(&path).any(|it| it == folder);
            if !is_there {
                if !path.is_empty() {
                    path.push(":");
                }
                path.push(folder);
                variables.insert(OsString::from("PATH"), path);
            }
        }
        Environment::of(variables)
    }
}
