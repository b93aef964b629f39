//! git operations that lose nothing: workspaces, facts, rescue, restore, release, merge.
//!
//! These rules hold everywhere. A directory is changed only after git and our own marker agree that
//! it is our worktree of this repository. A file is removed only by moving it aside, and a moved
//! file is deleted only when a commit contains its hash. A missing branch is created. Only a merge
//! moves a branch, the default branch, and only work of another machine the branch of a task: by a
//! fast-forward. A branch is deleted only when its commits
//! are contained elsewhere.

mod error;
mod merge;
mod moved_work;
mod pool;
mod private;
mod repository;
mod rescue;
mod worktree;

pub use error::GitError;
pub use merge::delete_branch::Deletion;
pub use merge::diff::{BranchDiff, DiffPart, DiffRequest, FileDiff};
pub use merge::diff_size::DiffSize;
pub use merge::elsewhere::FollowedBranch;
pub use merge::preview::MergePreview;
pub use merge::push::PushResult;
pub use merge::refusal::{MergeObstacle, MergeRefusal};
pub use merge::{MergeOutcome, MergeRequest, Verify};
pub use moved_work::{PackedWork, UnpackedWork};
pub use pool::acquire::{AcquireRequest, AcquireResult, AcquiredWorkspace};
pub use pool::acquire_refusal::AcquireRefusal;
pub use pool::marker::{Marker, Phase};
pub use pool::release::{Obstacle, ReleaseRequest, ReleaseResult};
pub use pool::remove::{RemoveRequest, RemoveResult};
pub use pool::{Slot, SlotRefusal};
pub use private::{
    Import, ImportRefusal, ImportRequest, Inside, InsidePaths, Mount, PrivateRepository,
    PrivateRequest, PrivateResult, Refresh, Uncovered,
};
pub use repository::Git;
pub use repository::base::{Base, Freshness};
pub use repository::name::{branch_words, default_task_branch, require_branch};
pub use repository::remote::{RemoteAddress, without_password};
pub use rescue::rescues::{Rescue, RescueOrigin, may_have_rescues};
pub use rescue::restore::{RestoreRefusal, RestoreResult};
pub use worktree::entry::CommittedEntry;
pub use worktree::facts::{Condition, FactsRequest};
pub use worktree::ignored_files::IgnoredEntry;
pub use worktree::include::IncludeResult;
pub use worktree::operation::Operation;
pub use worktree::status::Head;
pub use worktree::{ListedWorktree, Worktree};
