//! Protects what a private repository borrows from the user's `gc`.
//!
//! A ref of the task keeps the commit that the work is based on. The other commits that the private
//! repository names are in the reflog of that ref, which `gc` honours and `git log --all` does not
//! show.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use orange_engine::names::{CommitId, TaskId};

use super::ref_table::RefTable;
use crate::git::repository::name::task_part;
use crate::git::{Git, GitError};
use crate::private_file;

/// Where these refs are.
const REFS: &str = "refs/orange/base";

/// The author of the entries in the reflog.
const AUTHOR: &str = "orange <orange@localhost>";

impl Git {
    /// Makes the real repository keep the commit that the work is based on and everything that the
    /// refs name.
    pub(super) fn keep_borrowed(
        &self,
        task: &TaskId,
        base: &CommitId,
        refs: &RefTable,
        now: i64,
    ) -> Result<(), GitError> {
        let name = format!("{REFS}/{}", task_part(task)?);
        let known = self.refs(std::slice::from_ref(&name))?;
        if known.commits.get(&name) != Some(base) {
            let update = ["update-ref", "-m", "orange: base of a task", &name];
            self.call(update)
                .with_arguments([base.as_str()])
                .succeed()?;
        }
        let mut ids: BTreeSet<&CommitId> = refs.0.values().collect();
        ids.remove(base);
        let mut text = String::new();
        let mut before = self.null_id();
        for id in ids.into_iter().chain([base]) {
            let _never_fails =
                writeln!(text, "{before} {id} {AUTHOR} {now} +0000\torange: borrowed");
            before = id.to_string();
        }
        let log = self.directory().join("logs").join(&name);
        Ok(private_file::write_unsynced(&log, text.as_bytes())?)
    }

    /// Lets `gc` have what a task's private repository borrowed, once that is removed.
    pub fn forget_borrowed(&self, task: &TaskId) -> Result<(), GitError> {
        self.clear_incoming(task)?;
        let name = format!("{REFS}/{}", task_part(task)?);
        let known = self.refs(std::slice::from_ref(&name))?;
        if known.commits.contains_key(&name) {
            self.call(["update-ref", "-d", &name]).succeed()?;
        }
        // git removes the reflog with the ref; one that was left by a killed process goes too.
        let _absent = fs::remove_file(self.directory().join("logs").join(&name));
        Ok(())
    }

    /// The tasks whose private repositories borrow something.
    pub fn borrowers(&self) -> Result<Vec<TaskId>, GitError> {
        let prefix = format!("{REFS}/");
        let call = self.call(["for-each-ref", "--format=%(refname)", &prefix]);
        let output = call.text()?;
        let tasks = output.lines().filter_map(|it| it.strip_prefix(&prefix));
        Ok(tasks.map(TaskId::new).collect())
    }
}
