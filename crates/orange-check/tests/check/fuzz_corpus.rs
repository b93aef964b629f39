//! Runs the fuzzers' corpus as ordinary tests.

use std::fs;
use std::path::Path;

#[path = "../../../../fuzz/exercise.rs"]
mod exercise;

fn run(target: &str, exercise: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut ran = 0;
    #[expect(clippy::disallowed_methods, reason = "the corpus is a folder of files")]
    for entry in fs::read_dir(&folder).unwrap() {
        exercise(&fs::read(entry.unwrap().path()).unwrap());
        ran += 1;
    }
    assert!(ran >= 3, "the corpus of {target} has only {ran} files");
}

#[test]
fn every_task_file_of_the_corpus_passes() {
    run("task_file", exercise::task_file);
}

#[test]
fn every_workflow_of_the_corpus_passes() {
    run("workflow", exercise::workflow);
}

#[test]
fn every_guard_of_the_corpus_passes() {
    run("when", exercise::when);
}

#[test]
fn every_prompt_of_the_corpus_passes() {
    run("prompt", exercise::prompt);
}
