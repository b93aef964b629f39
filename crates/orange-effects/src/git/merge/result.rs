//! Builds the commit of a merge, from objects alone.

use std::path::PathBuf;

use orange_engine::effect::MergeStrategy;
use orange_engine::names::CommitId;

use crate::command::CommandExit;
use crate::git::repository::call::{Author, path, split_zero_terminated};
use crate::git::repository::name::root_file;
use crate::git::{Git, GitError, MergeObstacle, MergeRequest};

/// The trailer in our commits that names the merged commit of the branch.
const HEAD_TRAILER: &str = "Orange-Head";

/// How many commits a squash message lists.
const MAX_SUBJECTS: usize = 50;

/// Maximum length in characters of a message's line that is made of a summary or a subject.
const MAX_LINE_CHARS: usize = 200;

/// git's exit code for an unknown option.
const UNKNOWN_OPTION: i32 = 129;

impl Git {
    /// Whether a commit already contains the result of the merge: the branch's commit itself, or a
    /// squash or rebase of it made since the merge was decided.
    pub(crate) fn is_merged(
        &self,
        tip: &CommitId,
        merge: &MergeRequest<'_>,
    ) -> Result<bool, GitError> {
        if self.contains(tip, merge.head)? {
            return Ok(true);
        }
        if !matches!(
            merge.strategy,
            MergeStrategy::Rebase | MergeStrategy::Squash
        ) {
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
            // Anyone can write the trailer, so the content, which cannot be faked, is checked too.
            if head != merge.head.as_str() {
                continue;
            }
            let is_match = match merge.strategy {
                MergeStrategy::Rebase => self.is_replayed(commit, merge)?,
                _ => self.is_squash(commit, merge.head)?,
            };
            if is_match {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a commit has the files that a merge of `head` into the commit's parent would give.
    pub(crate) fn is_squash(&self, commit: &str, head: &CommitId) -> Result<bool, GitError> {
        let (parent, tree) = (format!("{commit}^"), format!("{commit}^{{tree}}"));
        let before = self.call(["rev-parse", "--verify", "--quiet", &parent]);
        let Some(before) = before.answer()? else {
            return Ok(false);
        };
        let before = CommitId::new(String::from_utf8_lossy(&before).trim());
        let tree = self.call(["rev-parse", "--verify", &tree]).text()?;
        Ok(self.merged_tree(&before, head, None)? == Ok(tree))
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
        // A task file that a later commit removed would not be part of a squash. The merge is
        // refused all the same, as it is by the gates: the reviewed branch must not contain the
        // file.
        if self.has_commits_since(&[merge.base], merge.head, Some(file))?
            || self.has_file(merge.head.as_str(), file)?
        {
            return Ok(Err(MergeObstacle::TaskFile(file.to_owned())));
        }
        let conflicts = |files| Ok(Err(MergeObstacle::Conflicts(files)));
        match merge.strategy {
            MergeStrategy::Auto | MergeStrategy::Ff | MergeStrategy::Rebase
                if self.contains(merge.head, merge.base)? =>
            {
                return Ok(Ok(merge.head.clone()));
            }
            MergeStrategy::Ff => return Ok(Err(MergeObstacle::NotFastForward)),
            MergeStrategy::Rebase => return self.rebase_result(merge),
            MergeStrategy::Auto | MergeStrategy::Merge | MergeStrategy::Squash => {}
        }
        let tree = match self.merged_tree(merge.base, merge.head, None)? {
            Ok(tree) => tree,
            Err(files) => return conflicts(files),
        };
        if merge.strategy == MergeStrategy::Squash && tree == self.tree_of(merge.base)? {
            // The base already has all changes, so the commit would be empty.
            return Ok(Ok(merge.base.clone()));
        }
        self.commit(merge, &tree).map(Ok)
    }

    /// The merged tree of two commits, or the conflicting files. The changes of `head` are those
    /// since `since`, or, without it, since the merge base of both commits.
    pub(crate) fn merged_tree(
        &self,
        base: &CommitId,
        head: &CommitId,
        since: Option<&str>,
    ) -> Result<Result<String, Vec<PathBuf>>, GitError> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages"];
        let call = self
            .call_as_of(base.as_str(), words)
            .with_arguments(since.map(|since| format!("--merge-base={since}")))
            .with_arguments(["-z", base.as_str(), head.as_str()])
            .with_long_timeout();
        let finished = call.finish()?;
        let has_conflicts = match finished.ending {
            CommandExit::Code(0) => false,
            CommandExit::Code(1) => true,
            CommandExit::Code(UNKNOWN_OPTION) => {
                let version = self.call(["version"]).text()?;
                let needed = if since.is_some() { "2.40" } else { "2.38" };
                return Err(GitError::TooOld { needed, version });
            }
            _ => return Err(call.error_for(finished)),
        };
        let output = &finished.stdout.bytes;
        let mut parts = split_zero_terminated(output);
        let tree = parts.next().map(String::from_utf8_lossy);
        let tree = tree.filter(|tree| tree.len() == self.id_digits());
        let tree = tree.ok_or_else(|| call.malformed_output(output))?;
        if has_conflicts {
            return Ok(Err(parts.map(path).collect()));
        }
        Ok(Ok(tree.into_owned()))
    }

    fn commit(&self, merge: &MergeRequest<'_>, tree: &str) -> Result<CommitId, GitError> {
        let mut words = vec![tree, "-p", merge.base.as_str()];
        if merge.strategy != MergeStrategy::Squash {
            words.extend(["-p", merge.head.as_str()]);
        }
        words.extend(["-F", "-"]);
        self.commit_as_user(merge, None, &words, &self.message(merge)?)
    }

    /// Makes a commit in the user's name, signed if the user's own configuration says so.
    pub(crate) fn commit_as_user(
        &self,
        merge: &MergeRequest<'_>,
        author: Option<&Author>,
        words: &[&str],
        message: &str,
    ) -> Result<CommitId, GitError> {
        let sign = self.call(["config", "--get", "--type=bool", "commit.gpgSign"]);
        let signs = !merge.is_trial && sign.answer()?.is_some_and(|it| it == b"true\n");
        let signature = if signs { &["-S"][..] } else { &[] };
        let words: Vec<&str> = [&["commit-tree"][..], signature, words].concat();
        // An agent can write the repository's settings, so the user's own name is tried first.
        for identity in [Vec::new(), self.settings.identity()] {
            let call = self.call_as_user(merge.at, author, &identity, &words);
            let error = match call.input(message.to_owned()).text() {
                Ok(made) => return Ok(CommitId::new(made)),
                Err(error) => error,
            };
            // git exits with the same code for every failure, so check whether it knows who the
            // user is.
            let identity_call =
                self.call_as_user(merge.at, None, &identity, ["var", "GIT_COMMITTER_IDENT"]);
            if identity_call.text().is_ok() {
                return Err(error);
            }
        }
        Err(GitError::NoIdentity(self.directory().to_owned()))
    }

    /// The commit message. It is deterministic, so that a retry creates the same commit.
    fn message(&self, merge: &MergeRequest<'_>) -> Result<String, GitError> {
        let MergeRequest { branch, head, .. } = merge;
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
        lines.extend(trailers(merge));
        lines.push(String::new());
        Ok(lines.join("\n"))
    }
}

/// The lines that say where a commit comes from.
pub(crate) fn trailers(merge: &MergeRequest<'_>) -> Vec<String> {
    let MergeRequest { task, head, .. } = merge;
    let mut trailers = assistants(merge);
    trailers.push(format!("Orange-Task: {task}"));
    trailers.push(format!("{HEAD_TRAILER}: {head}"));
    trailers
}

/// The lines that name the agents. They have no address: the author stays the user, and the agent
/// is named beside.
pub(crate) fn assistants(merge: &MergeRequest<'_>) -> Vec<String> {
    let named = merge.assisted_by.iter();
    let named = named.map(|name| format!("Assisted-by: {}", one_line(name)));
    named.collect()
}

/// A text reduced to one line.
fn one_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(MAX_LINE_CHARS).collect()
}
