//! The files of a new private repository and of its remote.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use orange_engine::names::CommitId;

use super::configuration::{self, Values};
use super::ref_table::RefTable;
use crate::git::GitError;
use crate::git::repository::call::quote_path;

/// Directories that git expects even while they are empty.
const FOLDERS: [&str; 6] = [
    "common/logs",
    "common/objects/pack",
    "common/refs/heads",
    "common/refs/tags",
    "upstream/objects/pack",
    "upstream/refs",
];

/// A path below the new repository, and its content.
type File = (PathBuf, Vec<u8>);

/// What a new private repository is made of.
pub(super) struct Layout<'a> {
    /// The name of the worktree in git's records.
    pub worktree: &'a str,
    /// The full name of the task's branch.
    pub reference: &'a str,
    pub base: &'a CommitId,
    /// The `HEAD` of the user's checkout.
    pub main_head: String,
    pub refs: &'a RefTable,
    /// How the real repository is stored.
    pub format: &'a str,
    pub values: &'a Values,
    pub remote: Option<Remote<'a>>,
    /// Where the real objects are, inside.
    pub objects: &'a Path,
    pub lists: Lists,
}

/// What stands for the remote.
pub(super) struct Remote<'a> {
    pub name: &'a str,
    /// Where it is, inside.
    pub path: &'a Path,
    /// The remote-tracking ref that the remote's `HEAD` names.
    pub head: Option<String>,
}

/// Files that are copied from the real repository; an empty one is not written.
pub(super) struct Lists {
    pub exclude: Vec<u8>,
    pub attributes: Vec<u8>,
    pub sparse: Vec<u8>,
    /// Where the worktree is.
    pub gitdir: Vec<u8>,
}

impl Layout<'_> {
    /// Writes everything but the index.
    pub fn write_to(self, new: &Path) -> Result<(), GitError> {
        for folder in FOLDERS {
            make_folder(&new.join(folder))?;
        }
        let files = self.upstream_files().into_iter();
        let files = files.chain(self.common_files());
        for (path, content) in files.chain(self.worktree_files()) {
            if !content.is_empty() {
                write(&new.join(path), &content)?;
            }
        }
        Ok(())
    }

    fn common_files(&self) -> Vec<File> {
        let common = Path::new("common");
        let remote = self.remote.as_ref();
        let config = configuration::private(
            self.format,
            self.values,
            remote.map(|remote| (remote.name, remote.path)),
        );
        let mut others = self.refs.clone();
        others.0.remove(self.reference);
        let mut files = vec![
            (common.join("HEAD"), line(&self.main_head)),
            (common.join("config"), config.into_bytes()),
            (common.join("packed-refs"), others.to_packed().into_bytes()),
            // A file of its own, so that its commit can be read without a program.
            (common.join(self.reference), line(self.base.as_str())),
            (
                common.join("objects/info/alternates"),
                quote_path(self.objects),
            ),
            (common.join("info/exclude"), self.lists.exclude.clone()),
            (
                common.join("info/attributes"),
                self.lists.attributes.clone(),
            ),
        ];
        let head = remote.and_then(|remote| Some((remote.name, remote.head.as_ref()?)));
        files.extend(head.map(|(name, target)| {
            let path = common.join(format!("refs/remotes/{name}/HEAD"));
            (path, line(&format!("ref: {target}")))
        }));
        files
    }

    fn worktree_files(&self) -> Vec<File> {
        let directory = Path::new("common/worktrees").join(self.worktree);
        let head = format!("ref: {}", self.reference);
        vec![
            (directory.join("HEAD"), line(&head)),
            (directory.join("commondir"), line("../..")),
            (directory.join("gitdir"), self.lists.gitdir.clone()),
            (
                directory.join("info/sparse-checkout"),
                self.lists.sparse.clone(),
            ),
        ]
    }

    fn upstream_files(&self) -> Vec<File> {
        let upstream = Path::new("upstream");
        let name = self.remote.as_ref().map_or("origin", |remote| remote.name);
        let head = self.remote.as_ref().and_then(|remote| remote.head.as_ref());
        let branch = head.and_then(|head| head.strip_prefix(&format!("refs/remotes/{name}/")));
        let head = format!("ref: refs/heads/{}", branch.unwrap_or("main"));
        let refs = self.refs.as_remote(name).to_packed();
        vec![
            (upstream.join("HEAD"), line(&head)),
            (
                upstream.join("config"),
                configuration::upstream(self.format).into_bytes(),
            ),
            (
                upstream.join("objects/info/alternates"),
                quote_path(self.objects),
            ),
            (upstream.join("packed-refs"), refs.into_bytes()),
        ]
    }
}

fn line(text: &str) -> Vec<u8> {
    format!("{text}\n").into_bytes()
}

fn make_folder(path: &Path) -> Result<(), GitError> {
    let mut folders = fs::DirBuilder::new();
    let made = folders.recursive(true).mode(0o700).create(path);
    made.map_err(GitError::system("create", path))
}

fn write(path: &Path, content: &[u8]) -> Result<(), GitError> {
    make_folder(path.parent().unwrap_or(Path::new("/")))?;
    fs::write(path, content).map_err(GitError::system("write", path))
}
