//! Enforces the rules of the source tree by reading the sources.
//!
//! Every rule is a function from one file to its violations. Each is tested here on the real tree,
//! and in its own module on planted violations, because a check that cannot fail protects nothing.

mod commands;
mod crates;
mod cycles;
mod dangerous_calls;
mod drawing;
mod fidelity;
mod file_headers;
mod leftovers;
mod links;
mod names;
mod seed;
mod size;
mod source;
mod statuses;
mod tree;
mod verdict;

use source::Source;
use tree::Tree;
use verdict::{Exception, Law, Violation, report};

/// Every place that may break a rule, and why.
///
/// An exception that excuses nothing is reported, so the table only shrinks.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/language/verbs.rs",
        what: "\"stuck\"",
        reason: "a verb of the language, which finds the state of that name",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/language/read/gates.rs",
        what: "\"pending\"",
        reason: "the state of a pull request's checks, in the forge's words",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/refusal/gate_failure.rs",
        what: "\"pending\"",
        reason: "the state of a pull request's checks, in the forge's words",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/report/mod.rs",
        what: "\"done\"",
        reason: "a headless run's own claim, compared by gates and never with a status",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/report/mod.rs",
        what: "\"in_progress\"",
        reason: "a headless run's own claim, compared by gates and never with a status",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/report/mod.rs",
        what: "\"needs_review\"",
        reason: "a headless run's own claim, compared by gates and never with a status",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-effects/src/forge/github/wire.rs",
        what: "\"pending\"",
        reason: "the state of a commit status, in the forge's words",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-effects/src/forge/github/wire.rs",
        what: "\"cancelled\"",
        reason: "the conclusion of a check, in the forge's words",
    },
    Exception {
        law: Law::Doors,
        path: "crates/orange-store/src/tests/mod.rs",
        what: "Command",
        reason: "tests that start themselves again, to be killed between two steps",
    },
];

/// The violations of a rule that are not excused.
fn violations(law: Law, violations: impl IntoIterator<Item = Violation>) -> String {
    let violations: Vec<_> = violations.into_iter().collect();
    let report = report(law, &violations, EXCEPTIONS);
    if report.is_empty() {
        return report;
    }
    format!("{law:?} is broken:\n{report}")
}

/// Reading the tree takes longer than all rules together, so one test checks them all.
#[test]
fn the_laws_of_the_tree_hold() {
    let tree = Tree::load().unwrap();
    require_everything(&tree);
    let each = |law, check: fn(&Source) -> Vec<Violation>| {
        violations(law, tree.sources.iter().flat_map(check))
    };
    let manifests = crates::manifests();
    let manifests = manifests
        .flat_map(|(name, path)| crates::check(name, &path, tree.text(&path).unwrap_or_default()));
    let workflows = tree.texts.iter();
    let workflows = workflows.filter(|text| text.path.starts_with("workflows/"));
    let unlisted = workflows.flat_map(|text| statuses::unlisted(&text.path, &text.content));
    let texts = tree.texts.iter();
    let leftovers = texts.flat_map(|text| leftovers::check(&text.path, &text.content));
    let names = tree.names.iter().flat_map(|name| names::check(name));
    let reports = [
        violations(Law::Commands, commands::check(&tree.sources, &tree.names)),
        violations(Law::Crates, manifests),
        violations(Law::Cycles, cycles::check(&tree.sources)),
        each(Law::Doors, dangerous_calls::check),
        each(Law::Drawing, drawing::check),
        each(Law::Statuses, statuses::check),
        violations(Law::StatusList, unlisted),
        each(Law::Size, size::check),
        each(Law::Opening, file_headers::check),
        violations(Law::Names, names),
        violations(Law::Leftovers, leftovers),
    ];
    let reports = reports.concat();
    assert!(reports.is_empty(), "{reports}");
}

/// A rule about files that were not read would always hold.
fn require_everything(tree: &Tree) {
    let sources = [
        "crates/orange-engine/src/lib.rs",
        "crates/orange/src/lib.rs",
        "crates/orange/tests/architecture/main.rs",
    ];
    let others: Vec<String> = drawing::gathering_files().collect();
    for path in sources.into_iter().chain(others.iter().map(String::as_str)) {
        let is_read = tree.sources.iter().any(|it| it.path.starts_with(path));
        assert!(is_read, "{path} was not read");
    }
    for path in [
        "Cargo.toml",
        ".ci/run",
        "workflows/default.yml",
        "crates/orange-engine/Cargo.toml",
    ] {
        assert!(tree.text(path).is_some(), "{path} was not read");
    }
    let mut names = tree.names.iter();
    assert!(names.any(|name| name == "crates/orange-engine/src"));
}
