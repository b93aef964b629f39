//! What a merge would do now, without moving anything.

use orange_engine::names::CommitId;

use crate::git::merge::fast_forward::FastForward;
use crate::git::{Git, GitError, MergeObstacle, MergeRequest};

/// What a merge would do, as far as this repository knows: nothing is fetched from the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePreview {
    /// The commit that the default branch is at.
    pub base: CommitId,
    /// How many commits the default branch has that the branch lacks.
    pub behind: u64,
    /// Whether the default branch would be fast-forwarded to the branch's own commit.
    pub is_fast_forward: bool,
    /// Whether the default branch already contains the branch.
    pub is_merged: bool,
    pub obstacle: Option<MergeObstacle>,
}

impl Git {
    /// Computes a merge and looks for obstacles.
    pub fn preview_merge(&self, merge: &MergeRequest<'_>) -> Result<MergePreview, GitError> {
        let tips = self.tips(merge.default)?;
        let base = tips.target().clone();
        let behind = self.count(merge.head, &base)?;
        let is_merged = self.is_merged(&base, merge)?;
        let mut preview = MergePreview {
            base: base.clone(),
            behind,
            is_fast_forward: false,
            is_merged,
            obstacle: None,
        };
        if is_merged {
            return Ok(preview);
        }
        let onto = MergeRequest {
            base: &base,
            ..*merge
        };
        match self.result(&onto)? {
            Err(obstacle) => preview.obstacle = Some(obstacle),
            Ok(to) => {
                preview.is_fast_forward = to == *merge.head;
                preview.obstacle = self.find_obstacle(&FastForward {
                    branch: merge.default,
                    from: tips.local.as_ref(),
                    to: &to,
                })?;
            }
        }
        Ok(preview)
    }
}
