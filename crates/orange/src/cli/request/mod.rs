//! What commands about tasks share: asking, waiting, outcomes and errors.

pub(crate) mod attending;
pub(crate) mod confirming;
pub(crate) mod copies;
pub(crate) mod driver_error;
pub(crate) mod driver_hints;
pub(crate) mod driving;
pub(crate) mod interrupted;
pub(crate) mod outcome;
pub(crate) mod waits;
