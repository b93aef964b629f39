//! What commands about tasks share: asking, waiting and outcomes.

pub(crate) mod attending;
pub(crate) mod driving;
pub(crate) mod interrupted;
pub(crate) mod outcome;
