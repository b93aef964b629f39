//! Tests of proofs, comparisons and drawings through the public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    clippy::too_many_lines,
    reason = "a test stops at the first thing that is not as it should be, and tables are long"
)]

mod clean_workflows;
mod diff;
mod documentation;
mod explore;
mod fuzz_corpus;
mod generated_workflows;
mod graph;
mod large_workflows;
mod mutations;
mod pull_requests;
mod seeds;
mod shipped_workflows;
mod witness;

#[expect(
    dead_code,
    reason = "the engine's own tests use all of it, these only a part"
)]
#[path = "../../../orange-engine/tests/engine/fixtures.rs"]
mod fixtures;
#[expect(dead_code, reason = "one strategy is for the engine's laws alone")]
#[path = "../../../orange-engine/tests/engine/random_histories.rs"]
mod random_histories;
#[path = "../../../orange-engine/tests/engine/source_documents.rs"]
mod source_documents;
