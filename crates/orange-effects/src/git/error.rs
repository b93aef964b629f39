//! Why a git or file operation failed.

use std::io;
use std::path::{Path, PathBuf};

use orange_config::reason;

use crate::command::CommandError;
use crate::private_file::PrivateFileError;

/// Why an operation failed. Work that is not proved to be saved is still where it was.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git could not be run, or it failed and printed a message.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// git's output exceeds the read limit, so nothing can be concluded from it.
    #[error("cannot use the output of {0}: it is too long")]
    TooLong(String),
    /// git's output is malformed.
    #[error("cannot parse the output of {call}: `{answer}`")]
    Garbled {
        /// The command.
        call: String,
        /// Its output.
        answer: String,
    },
    /// The repository's configuration is malformed.
    #[error(
        "cannot read `{}`: line {line} is invalid; fix it, for example with `git config --edit`",
        .path.display()
    )]
    Configuration { path: PathBuf, line: usize },
    /// The repository's configuration names another remote than the registered one.
    #[error(
        "cannot use the remote: the repository is configured with {configured}, but the project is \
         registered with {registered}; if you changed it, run `{accept}`, else restore it with \
         `git remote set-url`"
    )]
    RemoteChanged {
        /// The configured address.
        configured: String,
        /// The registered address.
        registered: String,
        /// The command that accepts the change.
        accept: String,
    },
    /// A pipe, socket or device is where git expects a file, and would block it.
    #[error(
        "cannot let git read `{}`: it is a pipe, a socket or a device, and git would block on it; \
         remove it",
        .0.display()
    )]
    NotRegularFile(PathBuf),
    /// There is no repository.
    #[error(
        "cannot open a repository at `{}`: {reason}; run `git init` there, or name another \
         directory",
        .path.display()
    )]
    NotARepository {
        /// The directory that was searched.
        path: PathBuf,
        /// git's message.
        reason: String,
    },
    /// The directory is not the top of a checkout.
    #[error(
        "cannot open a repository at `{}`: {}",
        .path.display(),
        .outer.as_ref().map_or_else(
            || String::from("it has no `.git`"),
            |outer| format!("its `.git` is not a repository; `{}` around it is one", outer.display()),
        )
    )]
    NotACheckout {
        path: PathBuf,
        /// The top of the checkout around it.
        outer: Option<PathBuf>,
    },
    /// The directory does not match git's record.
    #[error(
        "cannot use `{}` as a worktree: {reason}; check with `git worktree list`",
        .path.display()
    )]
    WorktreeMismatch {
        path: PathBuf,
        /// What does not match.
        reason: String,
    },
    /// A name that git or the file system would interpret as something else.
    #[error("cannot use `{value}` as {what}: {reason}; choose another")]
    BadName {
        /// The kind of name.
        what: &'static str,
        /// The name, shortened.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Neither the configuration nor the repository names a default branch.
    #[error(
        "cannot determine the default branch of `{}`: there is neither `main` nor `master` nor \
         `origin/HEAD`; run `git remote set-head origin --auto` there, or create `main`",
        .0.display()
    )]
    NoDefaultBranch(PathBuf),
    /// A repository without a commit has nothing to start from.
    #[error("cannot start from `{branch}`: it has no commit yet; create one with `git commit`")]
    NoCommit { branch: String },
    /// Another git process may be running.
    #[error(
        "cannot change `{}`: another git process holds `{}`; wait for it, or remove that file if \
         no git is running",
        .worktree.display(), .lock.display()
    )]
    Locked { worktree: PathBuf, lock: PathBuf },
    /// The remote cannot be reached.
    #[error("cannot reach `{remote}`: {reason}")]
    Unreachable {
        remote: String,
        /// git's message.
        reason: String,
    },
    /// Another merge into the same repository is in progress.
    #[error("cannot merge in `{}`: another merge is in progress there; try again", .0.display())]
    MergeInProgress(PathBuf),
    /// git has no user name for a commit.
    #[error(
        "cannot commit in `{}`: git does not know your name; run `git config --global \
         user.name NAME` and `git config --global user.email ADDRESS`",
        .0.display()
    )]
    NoIdentity(PathBuf),
    /// This git cannot merge without a worktree.
    #[error("cannot merge: {version} is older than {needed}; install a newer git")]
    TooOld {
        needed: &'static str,
        /// The version that git reports.
        version: String,
    },
    /// The files keep changing, so they cannot be saved.
    #[error(
        "cannot save `{}`: its files keep changing; stop what writes there, then try again",
        .0.display()
    )]
    FilesChanging(PathBuf),
    /// Saved work is incomplete, or cannot be read or written.
    #[error("cannot verify the saved work `{reference}`: {reason}; nothing was removed; try again")]
    NotSaved {
        /// The ref or commit.
        reference: String,
        /// What is missing.
        reason: String,
    },
    #[error("task `{task}` has no saved work {number}")]
    NoRescue { task: String, number: u32 },
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("cannot {verb} `{}`: {reason}", .path.display())]
    System {
        verb: &'static str,
        path: PathBuf,
        reason: String,
    },
}

impl GitError {
    /// Turns an I/O error into an error about a path.
    pub(super) fn system(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::System {
            verb,
            path: path.clone(),
            reason: reason(&error),
        }
    }
}
