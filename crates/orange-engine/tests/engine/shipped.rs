//! The shipped workflows load without a single problem.

use orange_engine::{load, shipped};

#[test]
fn every_shipped_workflow_loads_clean() {
    for shipped in shipped::ALL {
        let loaded = load(shipped.source);
        let problems: Vec<String> = loaded
            .problems
            .iter()
            .map(|p| {
                format!(
                    "{}:{p}\n{}\n{:?}",
                    shipped.name,
                    p.at.picture(&p.excerpt),
                    p.hint
                )
            })
            .collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        assert_eq!(loaded.workflow.unwrap().name.as_str(), shipped.name);
    }
}
