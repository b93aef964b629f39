//! git commands in a worktree.

use std::ffi::OsStr;
use std::path::Path;

use super::Worktree;
use crate::git::repository::call::Call;

impl Worktree<'_> {
    /// A command in this worktree; it cannot act on any other.
    pub(crate) fn call<A: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = A>) -> Call {
        self.invoke(&[], words)
    }

    /// Like [`Worktree::call`], but git may record its findings in the index if no other process
    /// has locked it.
    pub(crate) fn call_updating_index<A: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        self.invoke(&[("GIT_OPTIONAL_LOCKS", "1".as_ref())], words)
    }

    /// Like [`Worktree::call`], but on another index.
    pub(crate) fn call_on<A: AsRef<OsStr>>(
        &self,
        index: &Path,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        self.invoke(&[("GIT_INDEX_FILE", index.as_os_str())], words)
    }

    /// Like [`Worktree::call`], but with the attributes of a commit; git before 2.41 uses the
    /// worktree's.
    pub(crate) fn call_as_of<A: AsRef<OsStr>>(
        &self,
        commit: &str,
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        self.invoke(&[("GIT_ATTR_SOURCE", commit.as_ref())], words)
    }

    fn invoke<A: AsRef<OsStr>>(
        &self,
        more: &[(&str, &OsStr)],
        words: impl IntoIterator<Item = A>,
    ) -> Call {
        let git = self.git();
        let mut variables = git.caller.variables(self.own_settings());
        git.set_directories(&mut variables, self.directory());
        variables.insert("GIT_WORK_TREE".into(), self.path().into());
        for (name, value) in more {
            variables.insert((*name).into(), (*value).into());
        }
        git.caller
            .invoke(variables, self.path())
            .with_arguments(words)
    }
}
