//! The tables of reads and writes leave no operation out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::reads::READS;
use crate::writes::WRITES;

/// The public functions of the client that talk to GitHub.
fn operations() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/forge/github");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() || ["wire.rs", "mod.rs", "tests.rs"].contains(&file.as_str()) {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let functions = source
            .lines()
            .filter_map(|it| it.trim().strip_prefix("pub fn "));
        names.extend(functions.map(|it| it.split('(').next().unwrap().to_owned()));
    }
    names
}

#[test]
fn no_operation_is_left_out() {
    let reads = READS.iter().map(|it| it.name);
    let tested = reads.chain(WRITES.iter().map(|it| it.name));
    let tested: BTreeSet<String> = tested.map(str::to_owned).collect();
    assert_eq!(tested, operations());
    assert_eq!(tested.len(), READS.len() + WRITES.len());
}
