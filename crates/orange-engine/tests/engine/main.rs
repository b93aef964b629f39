//! Tests of the language and of `decide` through the public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    clippy::too_many_lines,
    reason = "a test stops at the first thing that is not as it should be, and tables are long"
)]

mod daily;
mod diff;
mod documentation;
mod explore;
mod fuzz_corpus;
mod generated;
mod graph;
mod guards;
mod kit;
mod large;
mod laws;
mod lessons;
mod load_rules;
mod mutations;
mod prompts;
mod races;
mod reviewed;
mod sane;
mod scheduling;
mod seeds;
mod shipped;
mod skill;
mod stories;
mod table;
mod times;
mod witness;
