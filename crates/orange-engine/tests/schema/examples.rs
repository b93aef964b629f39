//! Every workflow that loads also satisfies the schema.

use orange_engine::shipped_workflows;

use crate::fixtures::{EVERYTHING, json, problems, schema_errors};

fn accept(name: &str, yaml: &str) {
    let document = json(yaml);
    assert_eq!(schema_errors(&document), [] as [String; 0], "{name}");
    // Check the reader as well, or an empty document would pass this test.
    assert_eq!(problems(&document), [], "{name}");
}

#[test]
fn the_shipped_workflows() {
    for shipped in shipped_workflows::ALL {
        accept(shipped.name, shipped.source);
    }
}

#[test]
fn the_workflow_that_uses_everything() {
    accept("everything", EVERYTHING);
}

#[test]
fn the_seed_workflows() {
    accept("large", include_str!("../engine/seeds/large.yml"));
    accept("minimal", include_str!("../engine/seeds/minimal.yml"));
}

#[test]
fn the_examples_of_the_reference() {
    let reference = include_str!("../../../../docs/workflow-language.md");
    let blocks = reference.split("```yaml\n").skip(1);
    let examples: Vec<&str> = blocks.filter_map(|it| it.split("```").next()).collect();
    assert_eq!(examples.len(), 2, "the examples were not found");
    for example in examples {
        accept(example, example);
    }
}
