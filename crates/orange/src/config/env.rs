//! Reads the environment, and lists every variable that matters.
//!
//! `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE` matter too; anstream reads them for `output/`.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where orange keeps its files; an absolute path.
const ORANGE_HOME: &str = "ORANGE_HOME";

/// The person's own directory, in which `orange` is the default home.
const HOME: &str = "HOME";

/// What the environment said when the program started. An empty variable counts as unset.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `ORANGE_HOME`.
    pub orange_home: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
}

impl Environment {
    /// Reads every variable, once.
    pub fn read() -> Self {
        Self {
            orange_home: variable(ORANGE_HOME).map(PathBuf::from),
            home: variable(HOME).map(PathBuf::from),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the door to the environment"
)]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
