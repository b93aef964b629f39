//! Tests of the language and of `decide` through the public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    clippy::too_many_lines,
    reason = "a test stops at the first thing that is not as it should be, and tables are long"
)]

mod fixtures;
mod formats;
mod golden;
mod guards;
mod laws;
mod lessons;
mod load_rules;
mod messages;
mod moves;
mod other_requests;
mod prompts;
mod pull_requests;
mod races;
mod random_histories;
mod reopen;
mod reviewed_commit;
mod scheduling;
mod seeds;
mod skill;
mod source_documents;
mod split;
mod status_comment;
mod stop;
mod stories;
mod summaries;
mod table;
mod times;
