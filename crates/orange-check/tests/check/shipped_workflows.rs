//! The shipped workflows load without problems and are proved safe.

use std::fmt::Write as _;

use orange_check::check::{Severity, check};
use orange_engine::{load, shipped_workflows};

use crate::fixtures::shipped_workflow;
use crate::witness;

#[test]
fn every_shipped_workflow_loads_clean() {
    for shipped in shipped_workflows::ALL {
        let loaded = load(shipped.source);
        let problems: Vec<String> = loaded
            .problems
            .iter()
            .map(|p| {
                format!(
                    "{}:{p}\n{}\n{:?}",
                    shipped.name,
                    p.at.render_excerpt(&p.excerpt),
                    p.hint
                )
            })
            .collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        assert_eq!(loaded.workflow.unwrap().name.as_str(), shipped.name);
    }
}

#[test]
fn every_shipped_workflow_is_safe_to_the_last_situation() {
    let mut notes = String::new();
    for shipped in shipped_workflows::ALL {
        let workflow = shipped_workflow(shipped.name);
        let checked = check(&workflow);
        assert!(checked.coverage.is_complete, "{}", shipped.name);
        for finding in &checked.findings {
            assert_eq!(finding.severity, Severity::Note, "{finding:#?}");
            witness::is_true(&workflow, finding);
            let (name, code) = (shipped.name, finding.code);
            let _ = writeln!(notes, "{name}: {code}: {}", finding.message);
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("shipped_notes", notes);
    });
}
