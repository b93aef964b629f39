//! The files of a task: TASK.md, history, agents' events.

pub(crate) mod agent_events;
pub(crate) mod exchange;
pub(crate) mod field_edits;
pub(crate) mod filesystem;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod merge_replaced;
pub(crate) mod permission_requests;
pub(crate) mod placement;
pub(crate) mod read_document;
pub(crate) mod replaced_file;
pub(crate) mod status_edits;
pub(crate) mod task_directory;
pub(crate) mod task_file;
pub(crate) mod trash;
pub(crate) mod whole_file;
