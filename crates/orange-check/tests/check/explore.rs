//! The search covers everything it claims to cover.

use orange_check::explore::{
    Exploration, MAX_SITUATIONS, Occurrence, Rehearsal, Relevance, Replay, Situation, Step,
    StepEvidence, StepRefusal, creation_steps, explore, possible_steps,
};
use orange_engine::Workflow;
use orange_engine::document::SectionName;
use orange_engine::names::Status;
use orange_engine::role::Role;
use orange_engine::shipped_workflows;
use proptest::prelude::*;

use crate::fixtures::{load_clean, shipped_workflow};

fn explore_all(workflow: &Workflow) -> Exploration {
    let explored = explore(workflow, MAX_SITUATIONS, &mut |_| {});
    assert!(explored.is_complete);
    explored
}

/// Walks with real tasks, whose versions, runs and sections accumulate as in production.
fn walk(workflow: &Workflow, explored: &Exploration, choices: &[prop::sample::Index]) {
    let relevance = Relevance::of(workflow);
    let mut playing = Replay::new(workflow);
    let mut lines: Vec<String> = Vec::new();
    for choice in choices {
        let steps = match &playing.task {
            None => creation_steps(workflow, &relevance),
            Some(task) => possible_steps(workflow, &relevance, &Situation::of(task, &relevance)),
        };
        if steps.is_empty() {
            return;
        }
        let step: &Step = choice.get(&steps);
        let Ok(played) = playing.take(step) else {
            continue;
        };
        lines.push(step.to_string());
        let situation = Situation::of(&played.task, &relevance);
        assert!(
            explored.find(&situation).is_some(),
            "{} was not found by the search: {situation:?}\n{lines:#?}",
            workflow.name
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_stay_within_the_explored_situations(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
    ) {
        thread_local! {
            static ALL: Vec<(Workflow, Exploration)> = shipped_workflows::ALL
                .iter()
                .map(|shipped| {
                    let workflow = shipped_workflow(shipped.name);
                    let explored = explore_all(&workflow);
                    (workflow, explored)
                })
                .collect();
        }
        ALL.with(|all| {
            for (workflow, explored) in all {
                walk(workflow, explored, &choices);
            }
        });
    }
}

/// A task built from a situation must be in that situation, or the search would drift.
#[test]
fn a_task_built_from_a_situation_is_in_that_situation() {
    for shipped in shipped_workflows::ALL {
        let workflow = shipped_workflow(shipped.name);
        let explored = explore_all(&workflow);
        for node in &explored.nodes {
            let task = node.situation.task(&workflow, &explored.relevance);
            let again = Situation::of(&task, &explored.relevance);
            assert_eq!(again, node.situation);
        }
    }
}

/// A real task that follows the path to a situation ends in that situation.
#[test]
fn every_arc_leads_to_its_target() {
    for shipped in shipped_workflows::ALL {
        let workflow = shipped_workflow(shipped.name);
        let explored = explore_all(&workflow);
        for number in 0..explored.nodes.len() {
            let mut playing = Replay::new(&workflow);
            for step in explored.path_to(number) {
                playing.take(&explored.steps[step]).unwrap();
            }
            let situation = Situation::of(playing.task.as_ref().unwrap(), &explored.relevance);
            assert_eq!(situation, explored.nodes[number].situation);
        }
    }
}

/// The search counts one by one up to a limit; it does not start near it.
#[test]
fn counters_increase_one_by_one() {
    let workflow = load_clean(
        r"
name: counting
version: 1
fields: { laps: 0 }
states: { on: { kind: human }, off: { terminal: true } }
transitions:
  - { from: on, to: on, when: laps < 7, set: { laps: increment } }
  - { from: on, to: off, when: laps >= 7 }
",
    );
    let explored = explore_all(&workflow);
    assert_eq!(explored.nodes.len(), 9);
}

const HANDED_OVER: &str = r###"
name: handed-over
version: 1
states:
  one: { kind: human }
  two: { kind: human }
  end: { terminal: true }
transitions:
  - { from: one, to: two, gate: &note { section: "## Note", fresh: true } }
  - { from: two, to: one, gate: *note, hooks: [{ action: archive_section, section: "## Note" }] }
  - { from: two, to: end, gate: { section: "## Note", from_role: [reviewer] } }
"###;

/// The human requests a status, with all the evidence the first edge's gates require or with none.
fn ask(workflow: &Workflow, by: Role, to: &str, writes: bool) -> Step {
    let gates = workflow.edges[0].gates.iter().filter(|_| writes);
    let to = Status::new(to);
    Step::new(
        Occurrence::Request { by, to },
        StepEvidence::by_gates(gates),
    )
}

fn refusal(answer: Result<orange_check::explore::StepOutcome, StepRefusal>) -> String {
    answer.unwrap_err().to_string()
}

#[test]
fn a_rehearsal_keeps_the_document() {
    let workflow = load_clean(HANDED_OVER);
    let relevance = Relevance::of(&workflow);
    let mut rehearsal = Rehearsal::new(&workflow);
    let human = |to: &str, writes| ask(&workflow, Role::Human, to, writes);
    rehearsal
        .take(&creation_steps(&workflow, &relevance)[0])
        .unwrap();
    let missing = refusal(rehearsal.take(&human("two", false)));
    assert!(missing.contains("`## Note` is missing"), "{missing}");
    rehearsal.take(&human("two", true)).unwrap();
    let old = refusal(rehearsal.take(&human("one", false)));
    assert!(old.contains("`## Note` has not changed"), "{old}");
    rehearsal.take(&human("one", true)).unwrap();
    let archived = refusal(rehearsal.take(&human("two", false)));
    assert!(archived.contains("`## Note` is missing"), "{archived}");
}

#[test]
fn a_refused_call_in_a_rehearsal_still_imports_the_document() {
    let workflow = load_clean(HANDED_OVER);
    let relevance = Relevance::of(&workflow);
    let mut rehearsal = Rehearsal::new(&workflow);
    rehearsal
        .take(&creation_steps(&workflow, &relevance)[0])
        .unwrap();
    rehearsal
        .take(&ask(&workflow, Role::Human, "two", true))
        .unwrap();
    let end = |by: Role, writes| ask(&workflow, by, "end", writes);
    let other = refusal(rehearsal.take(&end(Role::Human, true)));
    assert!(other.contains("counts only if"), "{other}");
    let note = &rehearsal.task().unwrap().sections[&SectionName::from_title("Note")];
    assert!(note.is_fresh());
    assert!(note.submitted_by.contains(&Role::Human));
    let mut emptied = rehearsal.clone();
    emptied.empty_document();
    let gone = refusal(emptied.take(&end(Role::Reviewer, false)));
    assert!(gone.contains("`## Note` is missing"), "{gone}");
    rehearsal.take(&end(Role::Reviewer, false)).unwrap();
}

/// Each search step has its own document; a rehearsal does too if it is cleared between steps.
#[test]
fn a_rehearsal_can_follow_every_arc_of_the_search() {
    for shipped in shipped_workflows::ALL {
        let workflow = shipped_workflow(shipped.name);
        let explored = explore_all(&workflow);
        for number in 0..explored.nodes.len() {
            let mut rehearsal = Rehearsal::new(&workflow);
            for step in explored.path_to(number) {
                rehearsal.empty_document();
                rehearsal.take(&explored.steps[step]).unwrap();
            }
            let situation = Situation::of(rehearsal.task().unwrap(), &explored.relevance);
            assert_eq!(situation, explored.nodes[number].situation);
        }
    }
}
