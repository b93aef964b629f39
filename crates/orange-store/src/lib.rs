//! Persistent state: decisions in `SQLite`, text in TASK.md.
//!
//! The events are authoritative; every other row about a task is derived from them in the same
//! transaction, so that nothing can be half recorded. Performers also note their progress (started,
//! tried, placed); these notes change no status and can be lost without harm.
//!
//! The files of a task directory are copies for users and for [`rebuild()`], except for the body of
//! TASK.md, which belongs to its authors.

mod error;
mod files;
mod fleet;
mod migrations;
mod open;
mod projection;
mod rebuild;
mod record;
mod replayed;
mod sequence;
pub mod steps;
mod tables;
#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use files::agent_events::{
    AgentEventReader, ReportedEvent, agent_events_file, append_agent_event, expect_agent_events,
    latest_agent_events, restart_event_clock, silent_since,
};
pub use files::field_edits::FieldEdit;
pub use files::filesystem::{FileSystem, classify_magic, file_system_of};
pub use files::import::{ImportResult, ImportedDocument, StatusEdit, import, last_document, peek};
pub use files::permission_requests::{
    AnswerResult, FiledRequest, FoundRequest, answer_permission_request, is_outcome_taken,
    permission_requests,
};
pub use files::placement::{ReleaseOutcome, bind, release};
pub use files::read_document::{FileStamp, UnreadableReason};
pub use files::task_directory::TaskDirectory;
pub use files::trash::{move_to_trash, restore_from_trash};
pub use fleet::{Arrival, Claimed, EffectGate, Membership};
pub use open::Store;
pub use projection::{ProjectionReport, archive_section, project, write_issue};
pub use rebuild::{RebuildReport, RebuiltTask, SkippedTask, rebuild};
pub use record::{Commit, CommitOutcome, CommittedTask, Creation};
pub use replayed::ReplayedTask;
pub use tables::chat::{ChatKey, ChatRecord, ChatState, NewChatMessage};
pub use tables::events::{AttentionEvent, ChangeRow, RecordedEvent};
pub use tables::gate_commands::{GateCommand, GateResult};
pub use tables::imports::{Import, StoredImport};
pub use tables::inbox::{Delivery, InboxEntry, NewMessage, UnreadMessage};
pub use tables::issue_tasks::IssueTask;
pub use tables::issues::{IssueCursor, IssueDecision, StoredIssue};
pub use tables::jobs::{JobProgress, JobRun, JobRunState};
pub use tables::pending::{Pending, PendingProgress, StartAnswer};
pub use tables::posts::PostRecord;
pub use tables::pull_requests::PullRequestRecord;
pub use tables::rows::{
    ChangedRows, ChildCount, REVIEW_ROUND_FIELD, RowFilter, StatusKinds, TaskRow, TaskRows,
};
pub use tables::runs::{ProcessIdentity, RunPlace, RunRecord, RunSetup};
pub use tables::spend::RunSpend;
pub use tables::tasks::{Listing, StoredTask, TaskFilter, TaskSummary};
pub use tables::workspaces::{Reservation, WorkspaceRecord, WorkspaceState};
