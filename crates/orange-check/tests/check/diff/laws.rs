//! Workflows that compare as equal behave the same.

use std::sync::LazyLock;

use orange_check::diff::diff;
use orange_engine::decision::Decision;
use orange_engine::input::{Request, RequestKind};
use orange_engine::names::Status;
use orange_engine::role::Role;
use orange_engine::{Cause, Workflow, load};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{BASE, equivalent_edits};
use crate::fixtures::{World, load_clean};
use crate::random_histories::{Happening, any_step, cause, config};

/// Two workflows that compare as equal, and the edit that separates their texts.
struct EquivalentPair {
    what: String,
    old: Workflow,
    new: Workflow,
}

static ALIKE: LazyLock<Vec<EquivalentPair>> = LazyLock::new(|| {
    let same = equivalent_edits()
        .into_iter()
        .map(|(what, new)| EquivalentPair {
            what: what.to_owned(),
            old: load_clean(BASE),
            new,
        });
    let sources = [
        BASE,
        include_str!("../../../../orange-engine/tests/engine/everything.yml"),
    ];
    let mutants = sources.iter().flat_map(|source| mutants(source));
    let all: Vec<EquivalentPair> = same.chain(mutants).collect();
    assert!(all.len() > 50, "there are only {}", all.len());
    all
});

/// Mutants of the text that differ in one line, load, and compare as equal. A reported change must
/// be reported in both directions.
fn mutants(source: &str) -> Vec<EquivalentPair> {
    let old = load_clean(source);
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let next = lines.get(place + 1).copied().unwrap_or_default();
        let counted = line.replace('2', "3").replace(": 0", ": 1");
        let shorter = without_last_item(line);
        for (how, replaced, taken) in [
            ("without", vec![], 1),
            ("swapped", vec![next, line], 2),
            ("counted", vec![counted.as_str()], 1),
            ("shorter", vec![shorter.as_str()], 1),
        ] {
            let rest = &lines[(place + taken).min(lines.len())..];
            let mutant = [&lines[..place], &replaced, rest].concat().join("\n");
            let Ok(new) = load(&mutant).into_result() else {
                continue;
            };
            let is_same = diff(&old, &new).is_empty();
            let what = format!("{how} {}: {line}", place + 1);
            assert_eq!(is_same, diff(&new, &old).is_empty(), "{what}");
            if is_same {
                let old = old.clone();
                found.push(EquivalentPair { what, old, new });
            }
        }
    }
    found
}

/// `{ a, b }` without its `b`.
fn without_last_item(line: &str) -> String {
    let Some((before, item)) = line.rsplit_once(", ") else {
        return line.to_owned();
    };
    let end = item.find([']', '}']).unwrap_or(item.len());
    format!("{before} {}", &item[end..])
}

/// Everything a user or an agent could observe about a task.
fn observable(world: &World<'_>, alike: &EquivalentPair) -> Value {
    let task = &world.task;
    let fields = alike.old.fields.keys().map(|it| (it, task.value(it)));
    let runs = task.runs.iter();
    let runs = runs.map(|(role, run)| json!([role, run.headless, run.state]));
    let pending = task.pending.iter().map(|pending| {
        let planned = &pending.planned;
        let mut effect = json!([planned.effect, planned.on_error, planned.timeout]);
        normalize(&mut effect);
        effect
    });
    json!({
        "status": task.status,
        "from": task.entered.from,
        "trigger": task.entered.trigger,
        "by": task.entered.by,
        "fields": fields.map(|it| json!(it)).collect::<Vec<_>>(),
        "crashes": task.crash_count,
        "workspace": task.workspace,
        "runs": runs.collect::<Vec<_>>(),
        "children": task.children,
        "pending": pending.collect::<Vec<_>>(),
        "attention": task.attention.is_empty(),
    })
}

/// Drops generated names and insignificant line endings.
fn normalize(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.remove("run");
            entries.remove("runs");
            entries.values_mut().for_each(normalize);
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::String(text) => text.truncate(text.trim_end().len()),
        _ => {}
    }
}

fn answer(decision: &Decision) -> &'static str {
    match decision {
        Decision::Plan(plan) if plan.is_already_done => "already",
        Decision::Plan(_) => "plan",
        Decision::Refusal(_) => "refusal",
        Decision::Needs(_) => "needs",
    }
}

fn request(by: Role, to: Status) -> Request {
    Request {
        by,
        kind: RequestKind::Move { to },
        is_confirmed: false,
        message: Some(String::from("please")),
        head: None,
        if_version: None,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn laws_equivalent_edits_make_no_difference(
        which in any::<Index>(),
        start in proptest::option::of(any::<Index>()),
        history in proptest::collection::vec(any_step(), 0..60),
    ) {
        let alike = which.get(&ALIKE);
        let begin = |workflow| match &start {
            Some(start) => World::placed(workflow, start.get(&alike.old.states).name.as_str()),
            None => World::begin(workflow),
        };
        let (mut old, mut new) = (begin(&alike.old), begin(&alike.new));
        for happening in &history {
            // States may be listed in another order, and versions count events, so there may be
            // more.
            if matches!(happening, Happening::HandEdit(..)) {
                continue;
            }
            let (before, now) = match happening {
                Happening::Move(role, to, yes) => {
                    let to = to.get(&alike.old.states).name.clone();
                    let mut request = request(role.clone(), to);
                    request.is_confirmed = *yes;
                    let task_request = Cause::Request(request);
                    (Some(task_request.clone()), Some(task_request))
                }
                other => (cause(&mut old, other), cause(&mut new, other)),
            };
            let (Some(before), Some(now)) = (before, now) else {
                continue;
            };
            let answers = (old.step(before), new.step(now));
            prop_assert_eq!(
                answer(&answers.0), answer(&answers.1),
                "{}: {:?}\n{:?}", &alike.what, happening, answers
            );
            prop_assert_eq!(observable(&old, alike), observable(&new, alike), "{}: {:?}", &alike.what, happening);
        }
    }
}
