//! Detects what a private repository does not support.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use orange_engine::names::BranchName;

use crate::git::repository::own_directory::read_file;
use crate::git::worktree::entry::{GITLINK, parse_index};
use crate::git::{GitError, Operation, Worktree};

/// Upper bound on the size of a file with attributes, or of a list.
const LIMIT: u64 = 4 * 1024 * 1024;

/// Why a repository or a worktree cannot have a private repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uncovered {
    Submodules,
    PartialClone,
    Lfs,
    Shallow,
    /// Refs are not stored in the files that every git knows, or an extension is unknown.
    Format,
    /// History is changed by replace refs or grafts.
    Replaced,
    /// The repository borrows objects from another one.
    Alternates,
    /// It is the user's own checkout, which has no record of a worktree.
    OwnCheckout,
    /// The worktree is not on the task's branch.
    OtherBranch,
    /// An operation was begun outside of a sandbox and not finished.
    InProgress(Operation),
}

impl Uncovered {
    /// Whether it holds for every worktree of the repository.
    pub fn is_of_repository(&self) -> bool {
        !matches!(
            self,
            Uncovered::OwnCheckout | Uncovered::OtherBranch | Uncovered::InProgress(_)
        )
    }
}

impl fmt::Display for Uncovered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Uncovered::Submodules => "it has submodules",
            Uncovered::PartialClone => "it is a partial clone",
            Uncovered::Lfs => "it uses Git LFS",
            Uncovered::Shallow => "it is a shallow clone",
            Uncovered::Format => "its refs or its format need a newer git",
            Uncovered::Replaced => "it has replace refs or grafts",
            Uncovered::Alternates => "it borrows objects from another repository",
            Uncovered::OwnCheckout => "it is your own checkout, not a worktree",
            Uncovered::OtherBranch => "its worktree is not on the branch of the task",
            Uncovered::InProgress(operation) => {
                return write!(formatter, "a {operation} is in progress in its worktree");
            }
        })
    }
}

impl Worktree<'_> {
    /// Everything about this worktree and its repository that a private repository does not
    /// support.
    pub fn uncovered_by_private(&self, branch: &BranchName) -> Result<Vec<Uncovered>, GitError> {
        let mut found = BTreeSet::new();
        let directory = self.git().directory();
        let mut add = |is_so: bool, what: Uncovered| {
            if is_so {
                found.insert(what);
            }
        };
        let settings = self.settings();
        // In another format, refs cannot be read as files.
        let is_plain = settings.has_plain_files();
        add(!is_plain, Uncovered::Format);
        add(settings.is_partial_clone(), Uncovered::PartialClone);
        add(has_content(&directory.join("shallow")), Uncovered::Shallow);
        add(
            has_content(&directory.join("info/grafts")),
            Uncovered::Replaced,
        );
        add(is_plain && self.has_replace_refs()?, Uncovered::Replaced);
        let alternates = directory.join("objects/info/alternates");
        add(has_content(&alternates), Uncovered::Alternates);
        add(directory.join("modules").exists(), Uncovered::Submodules);
        let has_filter = settings
            .names("filter", &[".clean", ".process"])
            .contains("lfs");
        add(has_filter || directory.join("lfs").exists(), Uncovered::Lfs);
        add(self.directory() == directory, Uncovered::OwnCheckout);
        let head = self.git().head_in_file(self.directory());
        let is_on = head.is_some_and(|(name, _)| name.as_ref() == Some(branch));
        add(is_plain && !is_on, Uncovered::OtherBranch);
        for operation in Operation::found_in(self.directory()) {
            add(true, Uncovered::InProgress(operation));
        }
        let index = parse_index(&self.call(["ls-files", "-z", "--stage", "-v"]))?;
        add(
            index.iter().any(|it| it.entry.mode == GITLINK),
            Uncovered::Submodules,
        );
        let private = read_file(&directory.join("info/attributes"), LIMIT);
        add(
            names_lfs(&private.ok().flatten().unwrap_or_default()),
            Uncovered::Lfs,
        );
        let place = self.place()?;
        let attributes = index
            .iter()
            .filter(|it| it.path.ends_with(".gitattributes"));
        for attributes in attributes {
            let mut text = Vec::new();
            // A file that is missing, or is no file, has no attributes for git either.
            if let Ok(file) = place.open_file(&attributes.path) {
                let _unread = file.take(LIMIT).read_to_end(&mut text);
            }
            add(names_lfs(&text), Uncovered::Lfs);
        }
        Ok(found.into_iter().collect())
    }
}

impl Worktree<'_> {
    fn has_replace_refs(&self) -> Result<bool, GitError> {
        let below = "refs/replace/";
        if self.git().has_no_ref_below(below) {
            return Ok(false);
        }
        let call = self.git().call(["for-each-ref", "--count=1", below]);
        Ok(!call.bytes()?.is_empty())
    }
}

fn names_lfs(attributes: &[u8]) -> bool {
    let mut words = attributes.split(u8::is_ascii_whitespace);
    words.any(|word| word == b"filter=lfs")
}

fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.len() > 0)
}
