//! Pull requests and issues, on a scripted GitHub over real git.

mod faults;
mod figures;
mod gone_branches;
mod hints;
mod injection;
mod issue_consent;
mod issue_tasks;
mod lessons;
mod linked_branches;
mod opening;
mod posting;
mod posting_faults;
mod queueing;
mod reactions;
mod reviewing;
mod searching;
mod secrecy;
