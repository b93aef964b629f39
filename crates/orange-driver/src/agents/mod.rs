//! Agents: seen, heard, judged, shown and ended.

pub(crate) mod activity;
pub(crate) mod attach;
pub(crate) mod confirm_starts;
pub(crate) mod death;
pub(crate) mod events;
pub(crate) mod exhausted;
pub(crate) mod hear;
pub(crate) mod location;
pub(crate) mod observe;
pub(crate) mod observe_many;
pub(crate) mod orphans;
pub(crate) mod output;
pub(crate) mod recover;
pub(crate) mod results;
pub(crate) mod screen;
