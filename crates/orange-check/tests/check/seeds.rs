//! What is wrong with the source documents of the shipped workflows.

use std::fmt::Write as _;

use orange_check::check::{FindingCode, check};

use crate::fixtures::load_clean;
use crate::source_documents::{LARGE, MINIMAL};
use crate::witness;

/// One of the known mistakes in the documents.
struct KnownFinding {
    document: &'static str,
    code: FindingCode,
    message: &'static str,
    /// What the last steps of the story say; empty if the file alone shows the mistake.
    story: &'static [&'static str],
}

const KNOWN: [KnownFinding; 7] = [
    KnownFinding {
        document: MINIMAL,
        code: FindingCode::ExitTargetMissing,
        message: "the exit rule of `working` counts crashes up to 2, but names no state to go to",
        story: &[],
    },
    KnownFinding {
        document: LARGE,
        code: FindingCode::ExitRefused,
        message: "the reviewer crashes 2 times in `agent-review`, the exit rule leads to `stuck`",
        story: &["the human respawns the reviewer", "the reviewer dies"],
    },
    KnownFinding {
        document: LARGE,
        code: FindingCode::LimitExceeded,
        message: "from `stuck` to `agent-review` counts `review_round` beyond its limit of 2",
        story: &[
            "the reviewer requests `stuck`, with FAIL in `## Review`",
            "the human requests `agent-review`",
        ],
    },
    KnownFinding {
        document: LARGE,
        code: FindingCode::StaleArtifact,
        message: "an old FAIL in `## Review` leads from `agent-review` to `stuck` in a later round",
        story: &[
            "the worker requests `agent-review`, with `## Handoff` and the old FAIL in `## Review`",
            "the reviewer dies, with the old FAIL in `## Review`",
        ],
    },
    KnownFinding {
        document: LARGE,
        code: FindingCode::StaleArtifact,
        message: "an old `## Handoff` leads from `working` to `agent-review` in a later round",
        story: &["the worker dies, with the old `## Handoff`"],
    },
    KnownFinding {
        document: LARGE,
        code: FindingCode::SelfReview,
        message: "the worker can itself write the PASS that leads from `agent-review`",
        story: &[
            "the worker writes PASS in `## Review`",
            "the worker requests `agent-review`, with `## Handoff` and the old PASS in `## Review`",
            "the reviewer dies, with the old PASS in `## Review`",
        ],
    },
    KnownFinding {
        document: LARGE,
        code: FindingCode::RequesterKilled,
        message: "from `working` to `agent-review`, requested by the worker, kills the worker",
        story: &["the worker requests `agent-review`, with `## Handoff`"],
    },
];

#[test]
fn the_known_mistakes_of_the_seed_workflows_are_found() {
    for known in &KNOWN {
        let workflow = load_clean(known.document);
        let checked = check(&workflow);
        let mut findings = checked.findings.iter();
        let found = findings.find(|it| it.code == known.code && it.message.contains(known.message));
        let found = found.unwrap_or_else(|| panic!("{} {}", known.code, known.message));
        witness::is_true(&workflow, found);
        let steps = found.story.iter().flat_map(|story| &story.steps);
        let steps: Vec<&str> = steps.map(|step| step.what.as_str()).collect();
        assert_eq!(
            steps.is_empty(),
            known.story.is_empty(),
            "{}",
            known.message
        );
        let last = &steps[steps.len() - known.story.len()..];
        assert_eq!(last, known.story, "{steps:#?}");
    }
}

/// Every finding on both documents; the originals differ from the copies only in their prompts.
#[test]
fn all_findings_for_the_seed_workflows() {
    let mut shown = String::new();
    for (name, document) in [("large", LARGE), ("minimal", MINIMAL)] {
        let workflow = load_clean(document);
        let checked = check(&workflow);
        assert!(checked.coverage.is_complete);
        for finding in &checked.findings {
            witness::is_true(&workflow, finding);
            let (severity, code) = (finding.severity, finding.code);
            let _ = writeln!(shown, "{name}: {severity}: {code}: {}", finding.message);
            for told in finding.story.iter().flat_map(|story| &story.steps) {
                let _ = writeln!(shown, "    {} -> {}", told.what, told.status);
            }
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("seeds_findings", shown);
    });
}
