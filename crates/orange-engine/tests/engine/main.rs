//! Tests of the language and of `decide` through the public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    clippy::too_many_lines,
    reason = "a test stops at the first thing that is not as it should be, and tables are long"
)]

mod daily;
mod guards;
mod happenings;
mod kit;
mod laws;
mod lessons;
mod load_rules;
mod originals;
mod prompts;
mod races;
mod reviewed;
mod scheduling;
mod seeds;
mod skill;
mod stories;
mod table;
mod times;
