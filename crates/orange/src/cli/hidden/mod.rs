//! Commands that orange calls itself.

pub(crate) mod detach;
pub(crate) mod exec_run;
pub(crate) mod gather;
pub(crate) mod perform;
