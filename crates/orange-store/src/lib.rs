//! Remembers: what was decided in `SQLite`, what was said in TASK.md.
//!
//! The events are what counts; every other row that speaks of a task is derived from them in the
//! same transaction, so that nothing can be half remembered. What performers note in between
//! (started, tried, placed) changes no status and is lost without harm.
//!
//! The files of a task directory are copies for people and for [`rebuild()`], except for the body
//! of TASK.md, which belongs to who writes it.

mod agent_events;
mod error;
mod events;
mod exchange;
mod filesystem;
mod gate_commands;
mod history;
mod import;
mod imports;
mod inbox;
mod migrations;
mod notified;
mod open;
mod parked;
mod pending;
mod placement;
mod projection;
mod queue;
mod reading;
mod rebuild;
mod record;
mod replaced;
mod rows;
mod run_processes;
mod runs;
mod sequence;
mod settling;
pub mod steps;
mod task_directory;
mod task_file;
mod tasks;
#[cfg(test)]
mod tests;
mod texts;
mod trash;
mod whole_file;
mod wishes;
mod workspaces;

pub use agent_events::{
    agent_events_file, append_agent_event, expect_agent_events, latest_agent_events,
    renew_expectation, untold_since,
};
pub use error::StoreError;
pub use events::{Raised, RecordedEvent};
pub use filesystem::{FileSystem, classify_magic, file_system_of};
pub use gate_commands::{GateAnswer, GateCommand};
pub use import::{Imported, Reading, Wish, import, peek};
pub use imports::{Import, StoredImport};
pub use inbox::{Delivery, InboxEntry, NewMessage, UnreadMessage};
pub use open::Store;
pub use pending::{Pending, PendingMark, Start};
pub use placement::{Released, bind, release};
pub use projection::{Projected, archive_section, project};
pub use reading::Unknown;
pub use rebuild::{Rebuilt, RebuiltTask, SkippedTask, rebuild};
pub use record::{Commit, Creation, Record, Recorded};
pub use rows::{ChangedRows, ChildCount, Kinds, ROUND, RowFilter, TaskRow, TaskRows};
pub use runs::{ProcessIdentity, RunPlace, RunRecord, RunSetup};
pub use task_directory::TaskDirectory;
pub use tasks::{Listing, StoredTask, TaskFilter, TaskSummary};
pub use trash::{put_away, take_back};
pub use workspaces::{Reservation, WorkspaceRecord, WorkspaceState};
