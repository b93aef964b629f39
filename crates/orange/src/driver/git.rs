//! Asks git, with repository hooks and watchers off.

use std::path::Path;
use std::time::Duration;

use super::{Driver, DriverError};
use crate::effects::command::{Finished, Invocation};

/// How long git may take; a checkout of a large repository is slow.
const LONGEST: Duration = Duration::from_mins(5);

impl Driver {
    /// A call of git in a directory.
    pub(super) fn git_call(&self, directory: &Path, arguments: &[&str]) -> Invocation {
        let quiet = [
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
        ];
        let mut variables = self.environment.passed([]);
        variables.insert("GIT_TERMINAL_PROMPT".into(), "0".into());
        variables.insert("LC_ALL".into(), "C".into());
        Invocation::new("git", variables)
            .arguments(quiet)
            .arguments([Path::new("-C"), directory])
            .arguments(arguments)
            .timeout(LONGEST)
    }

    /// What git answers, without the end of its last line; any failure is an error.
    pub(super) fn git(&self, directory: &Path, arguments: &[&str]) -> Result<String, DriverError> {
        let finished = self.git_call(directory, arguments).require_success()?;
        Ok(said(&finished))
    }

    /// What git answers when it says yes; nothing when it says no.
    pub(super) fn git_if(
        &self,
        directory: &Path,
        arguments: &[&str],
    ) -> Result<Option<String>, DriverError> {
        let finished = self.git_call(directory, arguments).run()?;
        let yes = finished.ending == crate::effects::command::Ending::Code(0);
        Ok(yes.then(|| said(&finished)))
    }
}

fn said(finished: &Finished) -> String {
    let text = String::from_utf8_lossy(&finished.stdout.bytes);
    text.trim_end_matches('\n').to_owned()
}
