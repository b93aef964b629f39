//! Holds the laws of the source tree by reading the sources.
//!
//! Every law is a function from one file to its violations. Each is tried here
//! on the real tree, and in its own module on planted violations, because a check
//! that cannot fail guards nothing.

mod crates;
mod doors;
mod drawing;
mod leftovers;
mod names;
mod opening;
mod size;
mod source;
mod statuses;
mod tree;
mod verdict;

use source::Source;
use tree::Tree;
use verdict::{Exception, Law, Violation, report};

/// Every place that is allowed to break a law, and why.
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
        path: "crates/orange-engine/src/gate_failure.rs",
        what: "\"pending\"",
        reason: "the state of a pull request's checks, in the forge's words",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/report.rs",
        what: "\"done\"",
        reason: "a headless run's own claim, compared by gates and never with a status",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/report.rs",
        what: "\"in_progress\"",
        reason: "a headless run's own claim, compared by gates and never with a status",
    },
    Exception {
        law: Law::Statuses,
        path: "crates/orange-engine/src/report.rs",
        what: "\"needs_review\"",
        reason: "a headless run's own claim, compared by gates and never with a status",
    },
    Exception {
        law: Law::Doors,
        path: "crates/orange-store/src/tests/mod.rs",
        what: "Command",
        reason: "tests that start themselves again, to be killed between two steps",
    },
];

fn hold(law: Law, violations: impl IntoIterator<Item = Violation>) {
    let violations: Vec<_> = violations.into_iter().collect();
    let report = report(law, &violations, EXCEPTIONS);
    assert!(report.is_empty(), "{law:?} is broken:\n{report}");
}

fn hold_for_each(tree: &Tree, law: Law, check: impl Fn(&Source) -> Vec<Violation>) {
    hold(law, tree.sources.iter().flat_map(check));
}

#[test]
fn the_tree_was_found() {
    let tree = Tree::load().unwrap();
    for path in [
        "crates/orange-engine/src/lib.rs",
        "crates/orange/src/lib.rs",
        "crates/orange/tests/architecture/main.rs",
    ] {
        let is_read = tree.sources.iter().any(|source| source.path == path);
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
    assert!(
        tree.names
            .iter()
            .any(|name| name == "crates/orange-engine/src")
    );
}

#[test]
fn crates_depend_only_on_what_is_below_them() {
    let tree = Tree::load().unwrap();
    let all = crates::manifests();
    let found = all.flat_map(|(name, path)| crates::check(name, &path, tree.text(&path).unwrap()));
    hold(Law::Crates, found);
}

#[test]
fn dangerous_things_have_one_door() {
    hold_for_each(&Tree::load().unwrap(), Law::Doors, doors::check);
}

#[test]
fn whoever_draws_touches_nothing() {
    let tree = Tree::load().unwrap();
    hold_for_each(&tree, Law::Drawing, drawing::check);
    for path in drawing::others() {
        let is_there = tree.sources.iter().any(|it| it.path.starts_with(&path));
        assert!(is_there, "{path} is listed and not there");
    }
}

#[test]
fn no_status_name_is_written_in_code() {
    hold_for_each(&Tree::load().unwrap(), Law::Statuses, statuses::check);
}

#[test]
fn every_shipped_status_name_is_looked_for() {
    let tree = Tree::load().unwrap();
    let workflows = tree
        .texts
        .iter()
        .filter(|text| text.path.starts_with("workflows/"));
    let found = workflows.flat_map(|text| statuses::unlisted(&text.path, &text.content));
    hold(Law::StatusList, found);
}

#[test]
fn files_stay_short() {
    hold_for_each(&Tree::load().unwrap(), Law::Size, size::check);
}

#[test]
fn files_open_with_their_job() {
    hold_for_each(&Tree::load().unwrap(), Law::Opening, opening::check);
}

#[test]
fn names_say_what_a_file_is_about() {
    let tree = Tree::load().unwrap();
    hold(
        Law::Names,
        tree.names.iter().flat_map(|name| names::check(name)),
    );
}

#[test]
fn nothing_is_left_for_later() {
    let tree = Tree::load().unwrap();
    let found = tree
        .texts
        .iter()
        .flat_map(|text| leftovers::check(&text.path, &text.content));
    hold(Law::Leftovers, found);
}
