//! What the search claims to be everything is everything.

use orange_engine::Workflow;
use orange_engine::explore::{
    Explored, MAX_SITUATIONS, Playing, Relevance, Situation, Step, beginnings, explore, possible,
};
use orange_engine::shipped;
use proptest::prelude::*;

use crate::kit::{load_clean, shipped_workflow};

fn explored(workflow: &Workflow) -> Explored {
    let explored = explore(workflow, MAX_SITUATIONS, &mut |_| {});
    assert!(explored.is_complete);
    explored
}

/// Walks with real tasks, whose versions, runs and sections pile up as they do in life.
fn walk(workflow: &Workflow, explored: &Explored, choices: &[prop::sample::Index]) {
    let relevance = Relevance::of(workflow);
    let mut playing = Playing::new(workflow);
    let mut told: Vec<String> = Vec::new();
    for choice in choices {
        let steps = match &playing.task {
            None => beginnings(workflow, &relevance),
            Some(task) => possible(workflow, &relevance, &Situation::of(task, &relevance)),
        };
        if steps.is_empty() {
            return;
        }
        let step: &Step = choice.get(&steps);
        let Ok(played) = playing.take(step) else {
            continue;
        };
        told.push(step.to_string());
        let situation = Situation::of(&played.task, &relevance);
        assert!(
            explored.find(&situation).is_some(),
            "{} was not found by the search: {situation:?}\n{told:#?}",
            workflow.name
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_walk_leaves_what_was_explored(
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
    ) {
        thread_local! {
            static ALL: Vec<(Workflow, Explored)> = shipped::ALL
                .iter()
                .map(|shipped| {
                    let workflow = shipped_workflow(shipped.name);
                    let explored = explored(&workflow);
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

/// A task made from a situation is in that situation, or the search would drift.
#[test]
fn a_situation_makes_a_task_in_that_situation() {
    for shipped in shipped::ALL {
        let workflow = shipped_workflow(shipped.name);
        let explored = explored(&workflow);
        for node in &explored.nodes {
            let task = node.situation.task(&workflow, &explored.relevance);
            let again = Situation::of(&task, &explored.relevance);
            assert_eq!(again, node.situation);
        }
    }
}

/// The way to every situation, walked by a real task, ends in it.
#[test]
fn every_way_leads_where_it_says() {
    for shipped in shipped::ALL {
        let workflow = shipped_workflow(shipped.name);
        let explored = explored(&workflow);
        for number in 0..explored.nodes.len() {
            let mut playing = Playing::new(&workflow);
            for step in explored.way_to(number) {
                playing.take(&explored.steps[step]).unwrap();
            }
            let situation = Situation::of(playing.task.as_ref().unwrap(), &explored.relevance);
            assert_eq!(situation, explored.nodes[number].situation);
        }
    }
}

/// A counter is counted one by one up to its limit, not taken to be near it from the start.
#[test]
fn counters_are_counted_one_by_one() {
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
    let explored = explored(&workflow);
    assert_eq!(explored.nodes.len(), 9);
}
