//! What a change of a workflow changes, sentence by sentence.

mod different;
mod laws;
mod pairs;
mod same;

use orange_engine::diff::{Difference, Sign, diff};
use orange_engine::{Workflow, load, shipped};

use crate::kit::load_clean;
use different::DIFFERENT;
use pairs::PAIRS;
use same::SAME;

/// A workflow with a little of everything.
pub(crate) const BASE: &str = include_str!("base.yml");

/// Pieces of the base, and what takes their place.
pub(crate) type Replaced = &'static [(&'static str, &'static str)];

/// The base with some of its lines replaced.
pub(crate) fn changed(replaced: &[(&str, &str)]) -> Workflow {
    let mut source = BASE.to_owned();
    for (from, to) in replaced {
        assert!(source.contains(from), "the base has no `{from}`");
        source = source.replacen(from, to, 1);
    }
    let loaded = load(&source);
    assert_eq!(loaded.problems, [], "{source}");
    loaded.workflow.unwrap()
}

fn line(difference: &Difference) -> String {
    let status = difference.status.as_ref().map(ToString::to_string);
    let sign = match difference.change.sign() {
        Sign::Added => '+',
        Sign::Removed => '-',
        Sign::Changed => '~',
    };
    format!("{} {sign} {difference}", status.as_deref().unwrap_or("*"))
}

fn lines(old: &Workflow, new: &Workflow) -> Vec<String> {
    diff(old, new).iter().map(line).collect()
}

#[test]
fn what_only_reads_differently_is_no_difference() {
    let base = load_clean(BASE);
    for (what, replaced) in SAME {
        let other = changed(replaced);
        assert_eq!(lines(&base, &other), [] as [String; 0], "{what}");
        assert_eq!(lines(&other, &base), [] as [String; 0], "{what}, backwards");
    }
}

#[test]
fn every_difference_is_told_in_words() {
    let base = load_clean(BASE);
    for (replaced, expected) in DIFFERENT {
        let other = changed(replaced);
        assert_eq!(lines(&base, &other), *expected, "{replaced:?}");
        assert!(!diff(&other, &base).is_empty(), "{replaced:?} backwards");
    }
}

#[test]
fn two_changes_are_compared_with_each_other() {
    for (old, new, expected) in PAIRS {
        let (old, new) = (changed(old), changed(new));
        assert_eq!(lines(&old, &new), *expected);
    }
}

#[test]
fn guards_with_too_many_cases_are_said_to_differ() {
    let fields: Vec<String> = (0..20).map(|number| format!("f{number}")).collect();
    let declared: Vec<String> = fields.iter().map(|it| format!("{it}: 0")).collect();
    let head = format!(
        "name: many\nversion: 1\nfields: {{ {} }}\nstates: {{ a: {{}}, b: {{ terminal: true }} }}\ntransitions:\n",
        declared.join(", ")
    );
    let edges = (0..20).map(|value| {
        let guard: Vec<String> = fields.iter().map(|it| format!("{it} == {value}")).collect();
        format!("  - {{ from: a, to: b, when: {} }}\n", guard.join(" and "))
    });
    let many = load_clean(&(head.clone() + &edges.collect::<String>()));
    let one = load_clean(&(head + "  - { from: a, to: b }\n"));
    let told = "open for other values, too many cases to tell";
    for (old, new) in [(&one, &many), (&many, &one)] {
        let found = lines(old, new);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with(told), "{found:?}");
    }
    assert_eq!(lines(&many, &many), [] as [String; 0]);
}

fn everything() -> Vec<(String, Workflow)> {
    let shipped = shipped::ALL.iter().map(|it| (it.name, it.source));
    let others = [
        ("everything", include_str!("../everything.yml")),
        ("large", include_str!("../seeds/large.yml")),
        ("minimal of the seeds", include_str!("../seeds/minimal.yml")),
        ("base", BASE),
    ];
    shipped
        .chain(others)
        .map(|(name, source)| (name.to_owned(), load_clean(source)))
        .collect()
}

#[test]
fn nothing_differs_from_itself() {
    for (name, workflow) in everything() {
        assert_eq!(lines(&workflow, &workflow), [] as [String; 0], "{name}");
    }
}

#[test]
fn all_pairs_can_be_told() {
    let all = everything();
    for (old_name, old) in &all {
        for (new_name, new) in &all {
            let differences = diff(old, new);
            assert_eq!(differences.is_empty(), diff(new, old).is_empty());
            assert_eq!(differences.is_empty(), old_name == new_name);
            for difference in &differences {
                let text = difference.to_string();
                assert!(text.len() > 5 && !text.contains("  "), "{text}");
                assert!(
                    !text.contains('\n') && !text.ends_with([' ', ':']),
                    "{text}"
                );
                let json = serde_json::to_value(difference).unwrap();
                assert!(json["change"].is_string(), "{json}");
            }
        }
    }
}
