//! Persistent state: decisions in `SQLite`, text in TASK.md.
//!
//! The events are authoritative; every other row about a task is derived from them in the same
//! transaction, so that nothing can be half recorded. What performers note in between (started,
//! tried, placed) changes no status and can be lost without harm.
//!
//! The files of a task directory are copies for users and for [`rebuild()`], except for the body of
//! TASK.md, which belongs to its authors.

mod error;
mod files;
mod migrations;
mod open;
mod projection;
mod rebuild;
mod record;
mod sequence;
pub mod steps;
mod tables;
#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use files::agent_events::{
    agent_events_file, append_agent_event, expect_agent_events, latest_agent_events,
    renew_expectation, untold_since,
};
pub use files::filesystem::{FileSystem, classify_magic, file_system_of};
pub use files::import::{Imported, Reading, Wish, import, peek};
pub use files::placement::{Released, bind, release};
pub use files::reading::Unknown;
pub use files::task_directory::TaskDirectory;
pub use files::trash::{put_away, take_back};
pub use open::Store;
pub use projection::{Projected, archive_section, project};
pub use rebuild::{Rebuilt, RebuiltTask, SkippedTask, rebuild};
pub use record::{Commit, Creation, Record, Recorded};
pub use tables::events::{Raised, RecordedEvent};
pub use tables::gate_commands::{GateAnswer, GateCommand};
pub use tables::imports::{Import, StoredImport};
pub use tables::inbox::{Delivery, InboxEntry, NewMessage, UnreadMessage};
pub use tables::pending::{Pending, PendingMark, Start};
pub use tables::rows::{ChangedRows, ChildCount, Kinds, ROUND, RowFilter, TaskRow, TaskRows};
pub use tables::runs::{ProcessIdentity, RunPlace, RunRecord, RunSetup};
pub use tables::tasks::{Listing, StoredTask, TaskFilter, TaskSummary};
pub use tables::workspaces::{Reservation, WorkspaceRecord, WorkspaceState};
