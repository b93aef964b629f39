//! Tests of proofs, comparisons and drawings through the public interface.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::result_large_err,
    clippy::too_many_lines,
    reason = "a test stops at the first thing that is not as it should be, and tables are long"
)]

mod diff;
mod documentation;
mod explore;
mod fuzz_corpus;
mod generated;
mod graph;
mod large;
mod mutations;
mod sane;
mod seeds;
mod shipped;
mod witness;

#[expect(dead_code, reason = "one strategy is for the engine's laws alone")]
#[path = "../../../orange-engine/tests/engine/happenings.rs"]
mod happenings;
#[expect(
    dead_code,
    reason = "the engine's own tests use all of it, these only a part"
)]
#[path = "../../../orange-engine/tests/engine/kit.rs"]
mod kit;
#[path = "../../../orange-engine/tests/engine/originals.rs"]
mod originals;
