//! Builds the commit of a merge, from objects alone.

use std::path::PathBuf;

use orange_engine::effect::MergeStrategy;
use orange_engine::names::CommitId;

use crate::command::CommandExit;
use crate::git::repository::call::{path, split_zero_terminated};
use crate::git::repository::name::root_file;
use crate::git::{Git, GitError, MergeObstacle, MergeRequest};

/// The trailer in our commits that names the merged commit of the branch.
const HEAD_TRAILER: &str = "Orange-Head";

/// How many commits a squash message lists.
const MAX_SUBJECTS: usize = 50;

/// The longest first line of a message.
const LONGEST: usize = 200;

/// git's exit code for an unknown option.
const UNKNOWN_OPTION: i32 = 129;

impl Git {
    /// Whether a commit contains what the merge should bring: the branch's commit itself, or a
    /// squash of it made since the merge was decided.
    pub(crate) fn is_merged(
        &self,
        tip: &CommitId,
        merge: &MergeRequest<'_>,
    ) -> Result<bool, GitError> {
        if self.contains(tip, merge.head)? {
            return Ok(true);
        }
        if merge.strategy != MergeStrategy::Squash {
            return Ok(false);
        }
        let range = format!("{}..{tip}", merge.base);
        let format = format!("--format=%H %(trailers:key={HEAD_TRAILER},valueonly,separator=%x2C)");
        let call = self.call(["rev-list", "--first-parent", "--no-commit-header", &format]);
        let text =
            String::from_utf8_lossy(&call.with_arguments([&*range, "--"]).bytes()?).into_owned();
        for line in text.lines() {
            let Some((commit, head)) = line.split_once(' ') else {
                continue;
            };
            // Anyone can write the trailer, but not fake the content.
            if head == merge.head.as_str() && self.is_squash(commit, merge.head)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_squash(&self, commit: &str, head: &CommitId) -> Result<bool, GitError> {
        let (parent, tree) = (format!("{commit}^"), format!("{commit}^{{tree}}"));
        let before = self.call(["rev-parse", "--verify", "--quiet", &parent]);
        let Some(before) = before.answer()? else {
            return Ok(false);
        };
        let before = CommitId::new(String::from_utf8_lossy(&before).trim());
        let tree = self.call(["rev-parse", "--verify", &tree]).text()?;
        Ok(self.merged_tree(&before, head)? == Ok(tree))
    }

    /// The commit that the default branch should have.
    pub(crate) fn result(
        &self,
        merge: &MergeRequest<'_>,
    ) -> Result<Result<CommitId, MergeObstacle>, GitError> {
        let found = self.branch(merge.branch)?;
        if found.as_ref() != Some(merge.tip) {
            let expected = merge.tip.clone();
            return Ok(Err(MergeObstacle::BranchMoved { expected, found }));
        }
        let file = root_file(merge.task_file)?;
        // A squash would no longer bring it in, but the gates refuse it all the same: the reviewed
        // branch must not contain it.
        if self.commits_between(merge.base, merge.head, Some(file))?
            || self.has_file(merge.head.as_str(), file)?
        {
            return Ok(Err(MergeObstacle::TaskFile(file.to_owned())));
        }
        if merge.strategy == MergeStrategy::Ff {
            let follows = self.contains(merge.head, merge.base)?;
            return Ok(if follows {
                Ok(merge.head.clone())
            } else {
                Err(MergeObstacle::NotFastForward)
            });
        }
        let tree = match self.merged_tree(merge.base, merge.head)? {
            Ok(tree) => tree,
            Err(conflicts) => return Ok(Err(MergeObstacle::Conflicts(conflicts))),
        };
        let before = format!("{}^{{tree}}", merge.base);
        let before = self.call(["rev-parse", "--verify", &before]).text()?;
        if merge.strategy == MergeStrategy::Squash && tree == before {
            // Everything is already there; the commit would be empty.
            return Ok(Ok(merge.base.clone()));
        }
        self.commit(merge, &tree).map(Ok)
    }

    /// The merged tree of two commits, or the conflicting files.
    fn merged_tree(
        &self,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Result<String, Vec<PathBuf>>, GitError> {
        let words = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            base.as_str(),
            head.as_str(),
        ];
        let call = self.call_as_of(base.as_str(), words).with_long_timeout();
        let finished = call.finish()?;
        let has_conflicts = match finished.ending {
            CommandExit::Code(0) => false,
            CommandExit::Code(1) => true,
            CommandExit::Code(UNKNOWN_OPTION) => {
                let version = self.call(["version"]).text()?;
                return Err(GitError::TooOld { version });
            }
            _ => return Err(call.error_for(finished)),
        };
        let answer = &finished.stdout.bytes;
        let mut parts = split_zero_terminated(answer);
        let tree = parts.next().map(String::from_utf8_lossy);
        let tree = tree.filter(|tree| tree.len() == self.id_digits());
        let tree = tree.ok_or_else(|| call.malformed_output(answer))?;
        if has_conflicts {
            return Ok(Err(parts.map(path).collect()));
        }
        Ok(Ok(tree.into_owned()))
    }

    fn commit(&self, merge: &MergeRequest<'_>, tree: &str) -> Result<CommitId, GitError> {
        let mut words = vec!["commit-tree", tree, "-p", merge.base.as_str()];
        if merge.strategy == MergeStrategy::Merge {
            words.extend(["-p", merge.head.as_str()]);
        }
        words.extend(["-F", "-"]);
        let message = self.message(merge)?;
        // An agent can write the repository's settings, so the user's own name is tried first.
        for identity in [Vec::new(), self.settings.identity()] {
            let call = self.call_as_user(merge.at, &identity, &words);
            let error = match call.input(message.clone()).text() {
                Ok(made) => return Ok(CommitId::new(made)),
                Err(error) => error,
            };
            // git uses the same code for every failure; check whether it knows the user.
            let known = self.call_as_user(merge.at, &identity, ["var", "GIT_COMMITTER_IDENT"]);
            if known.text().is_ok() {
                return Err(error);
            }
        }
        Err(GitError::NoIdentity(self.directory().to_owned()))
    }

    /// The commit message. It is deterministic, so that a retry creates the same commit.
    fn message(&self, merge: &MergeRequest<'_>) -> Result<String, GitError> {
        let MergeRequest {
            task, branch, head, ..
        } = merge;
        let summary = one_line(merge.summary);
        let first = match merge.strategy {
            MergeStrategy::Squash if !summary.is_empty() => summary,
            _ if summary.is_empty() => format!("Merge branch '{branch}'"),
            _ => format!("Merge branch '{branch}': {summary}"),
        };
        let mut lines = vec![first, String::new()];
        if merge.strategy == MergeStrategy::Squash {
            let range = format!("{}..{head}", merge.base);
            let words = ["rev-list", "--reverse", "--no-merges", "--no-commit-header"];
            let call = self
                .call(words)
                .with_arguments(["--format=%s", &range, "--"]);
            let subjects = String::from_utf8_lossy(&call.bytes()?).into_owned();
            let subjects: Vec<&str> = subjects.lines().collect();
            if subjects.len() > 1 {
                let named = subjects.iter().take(MAX_SUBJECTS);
                lines.extend(named.map(|subject| format!("* {}", one_line(subject))));
                let more = subjects.len().saturating_sub(MAX_SUBJECTS);
                lines.extend((more > 0).then(|| format!("* and {more} more")));
                lines.push(String::new());
            }
        }
        lines.push(format!("Orange-Task: {task}"));
        lines.push(format!("{HEAD_TRAILER}: {head}"));
        lines.push(String::new());
        Ok(lines.join("\n"))
    }
}

/// A text reduced to one line.
fn one_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST).collect()
}
