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
fn the_corpus_of_task_files_holds() {
    run("task_file", exercise::task_file);
}

#[test]
fn the_corpus_of_workflows_holds() {
    run("workflow", exercise::workflow);
}

#[test]
fn the_corpus_of_guards_holds() {
    run("when", exercise::when);
}

#[test]
fn the_corpus_of_prompts_holds() {
    run("prompt", exercise::prompt);
}
