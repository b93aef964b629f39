//! The committed schemas are what the pinned packages give.

use std::fs;
use std::path::Path;

use scripted_forge::packages::{find, installed};
use scripted_forge::prune;

#[test]
fn pruning_again_gives_the_committed_schemas() {
    let test = "pruning_again_gives_the_committed_schemas";
    let Some(packages) = find(test, installed().join("node_modules")) else {
        return;
    };
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, text) in prune::from_packages(&packages).unwrap() {
        let committed = fs::read_to_string(schema.join(name)).unwrap();
        let same = committed == text;
        assert!(
            same,
            "schema/{name} differs: run `cargo run --example prune target/forge/node_modules`"
        );
    }
}
