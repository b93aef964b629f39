//! What users and supervisors are shown; nothing here changes a task.

pub(crate) mod attention;
pub(crate) mod await_status;
pub(crate) mod follow;
pub(crate) mod glance;
pub(crate) mod inbox;
pub(crate) mod list;
pub(crate) mod notify;
pub(crate) mod queries;
pub(crate) mod watch;
