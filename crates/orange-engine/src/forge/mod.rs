//! Judges facts from the forge, and decides reactions; touches no network.
//!
//! A fact that is about another commit, or that was not read whole, is unknown, and unknown is
//! never an answer.

pub mod account;
pub mod agent_settings;
pub mod checks;
pub mod consent;
pub mod failure;
pub mod feedback;
pub mod issue;
pub mod issue_claim;
pub mod issue_labels;
pub mod knowledge;
pub mod marker;
pub mod outside_text;
pub mod pace;
pub mod pull_request;
pub mod reaction;
pub mod readiness;
pub mod status_comment;
pub mod text;
