//! What is wrong with a harness, and how to fix it.

use std::fmt;
use std::path::PathBuf;

use orange_engine::language::nearest;
use orange_engine::names::HarnessName;

/// Why a harness cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HarnessError {
    /// The file is not a valid definition.
    #[error("{file}:{line}: {message}")]
    Invalid {
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
        /// How to fix it.
        hint: String,
    },
    /// The file cannot be read.
    #[error("cannot read `{}`: {reason}", .path.display())]
    Unreadable {
        /// The definition, or the directory of all definitions.
        path: PathBuf,
        reason: String,
    },
    /// No definition has this name.
    #[error("there is no harness `{name}`")]
    NotFound {
        /// The requested name.
        name: HarnessName,
        /// The names of all harnesses.
        names: Vec<String>,
        /// The directory in which the user can define it.
        folder: PathBuf,
    },
    /// The harness does not support the requested permissions.
    #[error("the harness `{harness}` has no arguments for `{level}` permissions")]
    LevelMissing {
        harness: HarnessName,
        /// The missing level.
        level: &'static str,
        /// The table that lacks this level.
        table: &'static str,
    },
    /// The program of the harness is not installed.
    #[error("`{binary}` {reason}")]
    ProgramMissing {
        harness: HarnessName,
        /// The `binary` of the definition.
        binary: String,
        /// Why `binary` is not a program.
        reason: &'static str,
    },
    /// The definition has no placeholder for this setting.
    #[error(
        "cannot set the {what} of harness `{harness}`: its definition has no placeholder for it"
    )]
    NoSetting {
        harness: HarnessName,
        /// The setting.
        what: &'static str,
    },
    /// A value cannot be passed as an argument.
    #[error("cannot start the harness `{harness}`: {what} {problem}")]
    ValueRefused {
        harness: HarnessName,
        /// Which value.
        what: &'static str,
        /// What is wrong with it.
        problem: ValueProblem,
    },
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueProblem {
    /// It contains a NUL character, which a program argument cannot contain.
    HasNul,
    /// A program argument cannot be that long.
    TooLong,
    /// It would be taken for a flag.
    LooksLikeFlag,
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ValueProblem::HasNul => "contains a NUL character, which an argument cannot have",
            ValueProblem::TooLong => "is too long for a program argument",
            ValueProblem::LooksLikeFlag => "begins with `-` and would be read as a flag",
        })
    }
}

impl HarnessError {
    /// How to fix it.
    pub fn hint(&self) -> String {
        match self {
            HarnessError::Invalid { hint, .. } => hint.clone(),
            HarnessError::Unreadable { path, .. } => {
                format!(
                    "run `ls -ld {}`: you must be able to read it",
                    path.display()
                )
            }
            HarnessError::NotFound {
                name,
                names,
                folder,
            } => {
                let suggestion = nearest(name.as_str(), names.iter().map(String::as_str));
                let suggestion = suggestion.map(|it| format!("did you mean `{it}`? "));
                let suggestion = suggestion.unwrap_or_default();
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let available = match names.as_slice() {
                    [] => "none is defined".to_owned(),
                    names => format!("available: {}", names.join(", ")),
                };
                format!(
                    "{suggestion}{available}; to add one, define it in `{}/NAME.toml`",
                    folder.display()
                )
            }
            HarnessError::LevelMissing {
                harness,
                level,
                table,
            } => format!("add `{level}` to `[{table}]` in the definition of `{harness}`"),
            HarnessError::ProgramMissing {
                harness, binary, ..
            } => format!(
                "install it, or correct `binary` in the definition of `{harness}`; try `command -v \
                 {binary}`"
            ),
            HarnessError::NoSetting { harness, what } => format!(
                "leave it out, or add the agent's own flag to every list under `[args]` in the \
                 definition of `{harness}`, such as `[\"--{what}\", \"{{{what}}}\"]`"
            ),
            HarnessError::ValueRefused { problem, .. } => match problem {
                ValueProblem::HasNul => "remove the NUL character",
                ValueProblem::TooLong => "shorten it, or use `{prompt_file}` in the definition",
                ValueProblem::LooksLikeFlag => "choose a value that does not begin with `-`",
            }
            .to_owned(),
        }
    }
}
