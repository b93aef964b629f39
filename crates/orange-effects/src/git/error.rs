//! Why git, or a file near it, did not obey.

use std::io;
use std::path::{Path, PathBuf};

use orange_config::reason;

use crate::command::CommandError;
use crate::private_file::PrivateFileError;

/// Why something could not be done. Whatever was not proved to be saved is still in its place.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git could not be asked, or said no, in its own words.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Git said more than is read, so that nothing can be concluded from it.
    #[error("cannot use the answer of {0}: it is too long")]
    TooLong(String),
    /// Git's answer makes no sense.
    #[error("cannot understand {call}: it answered `{answer}`")]
    Garbled {
        /// What was asked.
        call: String,
        /// What it said.
        answer: String,
    },
    /// The repository's configuration makes no sense.
    #[error(
        "cannot read `{}`: line {line} makes no sense; correct it, for example with `git config \
         --edit`",
        .path.display()
    )]
    Configuration { path: PathBuf, line: usize },
    /// The repository's configuration names another remote than the registered one.
    #[error(
        "cannot use the remote: the repository's configuration says {configured}, and the project \
         is registered with {registered}; if you changed it, run `{accept}`, else put it back with \
         `git remote set-url`"
    )]
    RemoteChanged {
        /// What the configuration says now.
        configured: String,
        /// What was recorded.
        registered: String,
        /// The command that accepts it.
        accept: String,
    },
    /// Something that git would wait for is where it expects a file.
    #[error(
        "cannot let git read `{}`: it is a pipe, a socket or a device, and git would wait for it; \
         remove it",
        .0.display()
    )]
    NoFile(PathBuf),
    /// There is no repository.
    #[error(
        "cannot open a repository at `{}`: {reason}; run `git init` there, or name another \
         directory",
        .path.display()
    )]
    NotARepository {
        /// Where it was looked for.
        path: PathBuf,
        /// What git said.
        reason: String,
    },
    /// The directory is not what git has on record.
    #[error(
        "cannot use `{}` as a worktree: {reason}; look with `git worktree list`",
        .path.display()
    )]
    NotThatWorktree {
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// A name that git or the file system would take for something else.
    #[error("cannot use `{value}` as {what}: {reason}; choose another")]
    BadName {
        /// What kind of name.
        what: &'static str,
        /// The name, shortened.
        value: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nobody says which branch the others start from.
    #[error(
        "cannot tell the default branch of `{}`: there is neither `main` nor `master` nor \
         `origin/HEAD`; run `git remote set-head origin --auto` there, or create `main`",
        .0.display()
    )]
    NoDefaultBranch(PathBuf),
    /// A repository without a commit has nothing to start from.
    #[error("cannot start from `{branch}`: it has no commit yet; make one with `git commit`")]
    NoCommit { branch: String },
    /// Another git is at work, as far as anybody can tell.
    #[error(
        "cannot change `{}`: another git holds `{}`; wait for it, or remove that file if none runs",
        .worktree.display(), .lock.display()
    )]
    Locked { worktree: PathBuf, lock: PathBuf },
    /// The remote does not answer.
    #[error("cannot ask `{remote}`: {reason}")]
    Unreachable {
        remote: String,
        /// What git said.
        reason: String,
    },
    /// Somebody else merges into the same repository.
    #[error("cannot merge in `{}`: another merge is on its way there; repeat it", .0.display())]
    Merging(PathBuf),
    /// Nobody's name can stand under a commit.
    #[error(
        "cannot make a commit in `{}`: git does not know your name; run `git config --global \
         user.name NAME` and `git config --global user.email ADDRESS`",
        .0.display()
    )]
    NoIdentity(PathBuf),
    /// Git cannot merge without a worktree.
    #[error("cannot merge: {version} is older than 2.38; install a newer git")]
    TooOld {
        /// What git says it is.
        version: String,
    },
    /// The files do not hold still long enough to be saved.
    #[error(
        "cannot save `{}`: its files keep changing; end what writes there, then repeat",
        .0.display()
    )]
    Changing(PathBuf),
    /// What was written is not what was to be written.
    #[error("cannot trust rescue `{reference}`: {reason}; nothing was removed, so repeat it")]
    NotSaved {
        /// The ref or commit.
        reference: String,
        /// What is missing.
        reason: String,
    },
    /// There is no such rescue.
    #[error("there is no rescue {number} of task `{task}`")]
    NoRescue { task: String, number: u32 },
    /// A file could not be read or written.
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
    /// Turns what the system says into an error about a path.
    pub(super) fn system(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::System {
            verb,
            path: path.clone(),
            reason: reason(&error),
        }
    }
}
