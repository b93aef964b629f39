//! What a workflow edit changes, sentence by sentence.

mod laws;

use std::fmt::Write as _;

use orange_check::diff::{Sign, WorkflowChange, diff, lines};
use orange_engine::{Workflow, load, shipped_workflows};

use crate::fixtures::load_clean;

/// A workflow with a little of everything.
pub(crate) const BASE: &str = include_str!("base.yml");

const NOTHING: [String; 0] = [];

/// A description of the edit, and the edited workflow.
pub(crate) type EditedWorkflow = (&'static str, Workflow);

/// The base after each edit in a file.
fn edited_workflows(file: &'static str) -> Vec<EditedWorkflow> {
    let edits = file.split("\n# ").skip(1).map(|edit| {
        let (what, pieces) = edit.split_once('\n').unwrap();
        let pieces = pieces.lines().filter(|line| !line.is_empty());
        let pieces = pieces.map(|line| line.split_once(" =>").unwrap());
        let pieces = pieces.map(|(from, to)| (from, to.strip_prefix(' ').unwrap_or(to)));
        (what, changed(pieces))
    });
    edits.collect()
}

/// The base with some pieces replaced; `\n` stands for a line break.
fn changed<'a>(pieces: impl IntoIterator<Item = (&'a str, &'a str)>) -> Workflow {
    let mut source = BASE.to_owned();
    for (from, to) in pieces {
        let (from, to) = (from.replace("\\n", "\n"), to.replace("\\n", "\n"));
        assert!(source.contains(&from), "the base has no `{from}`");
        source = source.replacen(&from, &to, 1);
    }
    let loaded = load(&source);
    assert_eq!(loaded.problems, [], "{source}");
    loaded.workflow.unwrap()
}

/// Edits that do not change behaviour.
pub(crate) fn equivalent_edits() -> Vec<EditedWorkflow> {
    edited_workflows(include_str!("same.txt"))
}

fn sentence(difference: &WorkflowChange) -> String {
    let status = difference.status.as_ref().map(ToString::to_string);
    let sign = match difference.sign() {
        Sign::Added => '+',
        Sign::Removed => '-',
        Sign::Changed => '~',
    };
    format!("{} {sign} {difference}", status.as_deref().unwrap_or("*"))
}

fn sentences(old: &Workflow, new: &Workflow) -> Vec<String> {
    diff(old, new).iter().map(sentence).collect()
}

#[test]
fn equivalent_spellings_make_no_difference() {
    let base = load_clean(BASE);
    for (what, other) in equivalent_edits() {
        assert_eq!(sentences(&base, &other), NOTHING, "{what}");
        assert_eq!(sentences(&other, &base), NOTHING, "{what}, backwards");
    }
}

#[test]
fn every_difference_has_a_sentence() {
    let base = load_clean(BASE);
    let mut text = String::new();
    for (what, other) in edited_workflows(include_str!("different.txt")) {
        let found = sentences(&base, &other);
        assert_ne!(found, NOTHING, "{what}");
        assert_ne!(sentences(&other, &base), NOTHING, "{what}, backwards");
        let _ = writeln!(text, "# {what}\n{}\n", found.join("\n"));
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("differences", text);
    });
}

#[test]
fn removing_a_state_removes_its_transitions() {
    let edits = edited_workflows(include_str!("different.txt"));
    let (_, with_parked) = edits
        .iter()
        .find(|(what, _)| *what == "a new state")
        .unwrap();
    let found = sentences(with_parked, &load_clean(BASE));
    assert_eq!(found, ["parked - the state is removed"]);
}

#[test]
fn long_messages_with_the_same_beginning_differ() {
    let message = |end: &str| {
        let to = format!("Again, and this time with more care than before: {end}");
        changed([("Again: {message}", to.as_str())])
    };
    let found = sentences(&message("{message}"), &message("please"));
    let expected = "asked ~ to `busy` by the human: `notify_worker` has message \"Again, and this time with more care than…\", which continues differently";
    assert_eq!(found, [expected]);
}

#[test]
fn only_the_lines_that_changed_are_listed() {
    let (removed, added) = (|line| (Sign::Removed, line), |line| (Sign::Added, line));
    let same = (Sign::Changed, "…");
    assert_eq!(lines("a\nb\nc", "a\nb\nc"), []);
    assert_eq!(lines("a\nb\nc", "a\nx\nc"), [removed("b"), added("x")]);
    assert_eq!(
        lines("a\nb\nc", "b\nc\nd"),
        [removed("a"), same, added("d")]
    );
    assert_eq!(lines("", "a"), [added("a")]);
    assert_eq!(lines("a\nb", ""), [removed("a"), removed("b")]);
    // For very long texts, only the common start and end are matched.
    let text = |shift: usize| {
        let lines: Vec<String> = (0..2000).map(|it| (it + shift).to_string()).collect();
        lines.join("\n")
    };
    assert_eq!(lines(&text(0), &text(1)).len(), 2 * 2000);
}

fn all_workflows() -> Vec<(&'static str, Workflow)> {
    let shipped = shipped_workflows::ALL.iter().map(|it| (it.name, it.source));
    let others = [
        (
            "everything",
            include_str!("../../../../orange-engine/tests/engine/everything.yml"),
        ),
        (
            "large",
            include_str!("../../../../orange-engine/tests/engine/seeds/large.yml"),
        ),
        (
            "minimal of the seeds",
            include_str!("../../../../orange-engine/tests/engine/seeds/minimal.yml"),
        ),
        ("base", BASE),
    ];
    let all = shipped.chain(others);
    all.map(|(name, source)| (name, load_clean(source)))
        .collect()
}

#[test]
fn any_two_workflows_can_be_compared() {
    let all = all_workflows();
    for (old_name, old) in &all {
        for (new_name, new) in &all {
            let differences = diff(old, new);
            assert_eq!(differences.is_empty(), old_name == new_name);
            for difference in &differences {
                let text = difference.to_string();
                assert!(text.len() > 5 && !text.contains("  "), "{text}");
                assert!(
                    !text.contains('\n') && !text.ends_with([' ', ':']),
                    "{text}"
                );
                let json = serde_json::to_value(difference).unwrap();
                assert!(json["kind"].is_string(), "{json}");
            }
        }
    }
}
