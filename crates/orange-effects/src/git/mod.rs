//! git operations that lose nothing: workspaces, facts, rescue, restore, release, merge.
//!
//! Three rules hold everywhere. A directory is changed only after git and our own marker agree that
//! it is our worktree of that repository. A file is removed only by moving it aside, and a moved
//! file is deleted only when a commit contains its hash. A branch is created when it is missing;
//! only a merge moves one, by a fast-forward, and only the default branch; and one is deleted only
//! when the default branch contains it.

mod error;
mod merge;
mod pool;
mod repository;
mod rescue;
mod worktree;

pub use error::GitError;
pub use merge::delete_branch::Deletion;
pub use merge::diff::{AskDiff, Difference, FileDifference, Part};
pub use merge::extent::Extent;
pub use merge::push::Pushed;
pub use merge::refusal::{MergeObstacle, MergeRefusal};
pub use merge::{MergeBranch, Merging};
pub use pool::acquire::{Acquire, Acquired, Acquisition};
pub use pool::acquire_refusal::AcquireRefusal;
pub use pool::marker::{Marker, Phase};
pub use pool::release::{Obstacle, Release, Released};
pub use pool::{Slot, SlotRefusal};
pub use repository::Git;
pub use repository::base::{Base, Freshness};
pub use repository::name::{require_branch, usual_branch};
pub use repository::remote::{RemoteAddress, without_password};
pub use rescue::rescued::{About, Rescued};
pub use rescue::restore::{RestoreRefusal, Restored};
pub use worktree::facts::{AskFacts, Condition};
pub use worktree::ignored::Ignored;
pub use worktree::include::Included;
pub use worktree::operation::Operation;
pub use worktree::status::Head;
pub use worktree::{Listed, Worktree};
