//! What commands about tasks share: requests, waiting, outcomes.

pub(crate) mod interruption;
pub(crate) mod issue_number;
pub(crate) mod missing_sandbox;
pub(crate) mod outcome;
pub(crate) mod permission;
pub(crate) mod progress;
pub(crate) mod registration;
pub(crate) mod requests;
pub(crate) mod several;
