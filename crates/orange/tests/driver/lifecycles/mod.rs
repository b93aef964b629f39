//! Whole task lifecycles, from the first command to the end.

mod abandoned_merges;
mod context_file;
mod conversation;
mod decompose;
mod delegation;
mod first_session;
mod headless;
mod hint_follower;
mod leftovers;
mod lessons;
mod merged_children;
mod merging;
mod reports;
mod rounds;
mod router;
pub mod routing;
mod scheduling;
mod stories;
mod without_worktree;
