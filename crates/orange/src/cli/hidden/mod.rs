//! Commands that orange calls itself.

pub(crate) mod background;
pub(crate) mod detach;
pub(crate) mod exec_run;
