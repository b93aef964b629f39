//! Replays the commits of a branch onto another commit, from objects alone.

use std::path::PathBuf;

use orange_engine::names::CommitId;

use crate::git::merge::result::{assistants, trailers};
use crate::git::repository::call::Author;
use crate::git::{Git, GitError, MergeObstacle, MergeRequest};

/// The trailer in the last replayed commit; it names the commit that the branch was replayed onto.
const BASE_TRAILER: &str = "Orange-Base";

/// A commit that was replayed.
struct Replayed {
    commit: CommitId,
    /// The parent of `commit`.
    parent: CommitId,
    tree: String,
    original: CommitId,
}

impl Git {
    /// The branch replayed onto the base. Fails if that would lose how merges in the branch
    /// resolved conflicts.
    pub(crate) fn rebase_result(
        &self,
        merge: &MergeRequest<'_>,
    ) -> Result<Result<CommitId, MergeObstacle>, GitError> {
        let rebased = self.rebased(merge)?;
        let range = format!("{}..{}", merge.base, merge.head);
        let merges = self.call(["rev-list", "--merges", "-1", &range, "--"]);
        if merges.text()?.is_empty() {
            return Ok(rebased.map_err(MergeObstacle::Conflicts));
        }
        let merged = self.merged_tree(merge.base, merge.head, None)?;
        Ok(match (rebased, merged) {
            (Ok(commit), Ok(tree)) if self.tree_of(&commit)? == tree => Ok(commit),
            _ => Err(MergeObstacle::MergesLost),
        })
    }

    /// The branch's commits since it left the default branch, replayed onto the base one by one; or
    /// the files in conflict.
    ///
    /// As with `git rebase`, merges are left out, and so are commits whose changes the base already
    /// has.
    /// The last replayed commit names the branch's own commit, so that a retry recognises it.
    fn rebased(
        &self,
        merge: &MergeRequest<'_>,
    ) -> Result<Result<CommitId, Vec<PathBuf>>, GitError> {
        let range = format!("{}..{}", merge.base, merge.head);
        let words = ["rev-list", "--reverse", "--topo-order", "--no-merges"];
        let listed = self.call(words).with_arguments([&*range, "--"]).text()?;
        let mut onto = merge.base.clone();
        let mut tree = self.tree_of(&onto)?;
        let mut last: Option<Replayed> = None;
        for original in listed.lines().map(CommitId::new) {
            let parent = format!("{original}^");
            let replayed = match self.merged_tree(&onto, &original, Some(&parent))? {
                Ok(replayed) => replayed,
                Err(conflicts) => return Ok(Err(conflicts)),
            };
            if replayed == tree {
                continue;
            }
            let commit = self.replay(merge, &replayed, &onto, &original, false)?;
            last = Some(Replayed {
                commit: commit.clone(),
                parent: onto,
                tree: replayed.clone(),
                original,
            });
            (onto, tree) = (commit, replayed);
        }
        let Some(last) = last else {
            return Ok(Ok(onto));
        };
        debug_assert_eq!(last.commit, onto);
        self.replay(merge, &last.tree, &last.parent, &last.original, true)
            .map(Ok)
    }

    pub(crate) fn tree_of(&self, commit: &CommitId) -> Result<String, GitError> {
        let tree = format!("{commit}^{{tree}}");
        self.call(["rev-parse", "--verify", &tree]).text()
    }

    /// Whether a commit is the result of replaying the branch onto the base that its trailer names.
    pub(crate) fn is_replayed(
        &self,
        commit: &str,
        merge: &MergeRequest<'_>,
    ) -> Result<bool, GitError> {
        let format = format!("--format=%(trailers:key={BASE_TRAILER},valueonly,separator=%x2C)");
        let named = self.call(["log", "-1", &format, commit, "--"]).text()?;
        let Some(base) = self.commit_named(&named)? else {
            return Ok(false);
        };
        let commit = CommitId::new(commit);
        if !self.contains(&commit, &base)? {
            return Ok(false);
        }
        let replayed = self.rebased(&MergeRequest {
            base: &base,
            ..*merge
        })?;
        match replayed {
            Ok(replayed) => Ok(self.tree_of(&replayed)? == self.tree_of(&commit)?),
            Err(_) => Ok(false),
        }
    }

    /// A commit with the author, date and message of the original.
    fn replay(
        &self,
        merge: &MergeRequest<'_>,
        tree: &str,
        parent: &CommitId,
        original: &CommitId,
        is_last: bool,
    ) -> Result<CommitId, GitError> {
        let format = "--format=%an%x00%ae%x00%ad%x00%B";
        let words = ["log", "-1", "--date=raw", "--encoding=UTF-8", format];
        let call = self.call(words).with_arguments([original.as_str(), "--"]);
        let text = call.bytes()?;
        let text = String::from_utf8_lossy(&text);
        let mut parts = text.splitn(4, '\0').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        let author = Author {
            name: part(),
            email: part(),
            date: part(),
        };
        let mut message = part().trim_end().to_owned() + "\n";
        if !merge.assisted_by.is_empty() {
            message = without_sign_offs(&message);
        }
        let mut added = assistants(merge);
        if is_last {
            added = trailers(merge);
            added.push(format!("{BASE_TRAILER}: {}", merge.base));
        }
        if !added.is_empty() {
            let mut call = self.call(["interpret-trailers"]);
            for trailer in &added {
                call = call.with_arguments(["--trailer", trailer]);
            }
            message = String::from_utf8_lossy(&call.input(message).bytes()?).into_owned();
        }
        let words = [tree, "-p", parent.as_str(), "-F", "-"];
        self.commit_as_user(merge, Some(&author), &words, &message)
    }
}

/// The message without `Signed-off-by` lines. An agent wrote them in the user's name, but only the
/// user can certify where the work comes from.
fn without_sign_offs(message: &str) -> String {
    let is_sign_off = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        line.contains(':') && name.trim().eq_ignore_ascii_case("signed-off-by")
    };
    let kept = message.lines().filter(|line| !is_sign_off(line));
    let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
    kept.trim_end().to_owned() + "\n"
}
