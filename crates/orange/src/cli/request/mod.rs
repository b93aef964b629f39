//! What commands about tasks share: requests, waiting, outcomes.

pub(crate) mod attending;
pub(crate) mod driving;
pub(crate) mod interrupted;
pub(crate) mod outcome;
