//! Pull requests and issues, on a scripted GitHub over real git.

mod injection;
mod issue_consent;
mod issue_tasks;
mod linked_branches;
mod opening;
mod posting;
mod posting_faults;
mod reactions;
mod secrecy;
