//! Every rule is needed: without it, the model finds a failure.

use stateright::{Checker, HasDiscoveries, Model};

use crate::fleet::{Fleet, Scenario};
use crate::mutant::Mutant;

/// The violated property and the steps of a shortest way there.
fn counter_example(scenario: Scenario, mutant: Mutant) -> Option<(&'static str, Vec<String>)> {
    let mut shortest = None;
    let mut depth = None;
    loop {
        let fleet = Fleet {
            mutant: Some(mutant),
            ..Fleet::new(scenario)
        };
        let checker = fleet.checker();
        let mut checker = checker.finish_when(HasDiscoveries::AnyFailures);
        if let Some(depth) = depth {
            checker = checker.target_max_depth(depth);
        }
        let checker = checker.spawn_bfs().join();
        let failures = checker.discoveries().into_iter().filter(|(name, _)| {
            let property = checker.model().property(name);
            property.expectation.discovery_is_failure()
        });
        let failures = failures.map(|(name, path)| (name, path.into_actions()));
        let Some((name, steps)) = failures.min_by_key(|(_, steps)| steps.len()) else {
            return shortest;
        };
        // The checker reports the last violation among those that it saw together, so it looks
        // again for a shorter one. A path of n steps has the depth n + 1, which is excluded.
        depth = Some(steps.len() + 1);
        let steps = steps.iter().map(|it| format!("{it:?}"));
        shortest = Some((name, steps.collect()));
    }
}

fn require(scenario: Scenario, mutant: Mutant, property: &str, length: usize) {
    let found = counter_example(scenario, mutant);
    let (name, steps) = found.unwrap_or_else(|| ("nothing", Vec::new()));
    let listed = steps.join("\n");
    assert_eq!(
        (name, steps.len()),
        (property, length),
        "{mutant:?}:\n{listed}"
    );
}

const TWO: Scenario = Scenario {
    settle_every: u64::MAX,
    ..Scenario::TWO_RUNNERS
};

#[test]
fn the_acknowledgement_gate() {
    require(TWO.with_faults(0), Mutant::NoGate, "F3", 2);
}

#[test]
fn freezing_before_the_lease_passes() {
    require(TWO.with_faults(0), Mutant::NoFreeze, "F4", 11);
}

#[test]
fn freezing_while_the_runner_is_stopped() {
    require(TWO, Mutant::FreezeByRunnerOnly, "F4", 12);
}

#[test]
fn counting_the_lease_from_when_a_beat_was_sent() {
    require(TWO, Mutant::LeaseFromAnswer, "healthy homes stay", 6);
}

#[test]
fn recognising_a_repeated_append() {
    require(TWO, Mutant::NotIdempotent, "F1", 3);
}

#[test]
fn a_new_epoch_for_an_adopted_task() {
    let scenario = Scenario {
        settle_every: u64::MAX,
        drains: 0,
        asks: false,
        ..Scenario::BACKUP.with_faults(2)
    };
    require(scenario, Mutant::AdoptWithOldEpoch, "no conflict", 7);
}

#[test]
fn registering_by_compare_and_swap() {
    let scenario = Scenario::TWO_HOMES;
    require(
        scenario,
        Mutant::RegisterWithoutComparing,
        "healthy homes stay",
        2,
    );
}

#[test]
fn releasing_only_when_the_older_lease_has_passed() {
    let scenario = Scenario {
        settle_every: u64::MAX,
        hosts: Scenario::TWO_HOMES.hosts,
        ..Scenario::TWO_RUNNERS
    };
    require(scenario, Mutant::ReleaseAtOnce, "F4", 10);
}

#[test]
fn naming_the_tasks_that_a_runner_owns() {
    let scenario = Scenario {
        settle_every: 1,
        ..TWO.with_ticks(1)
    };
    require(scenario, Mutant::BeatWithoutYours, "F8", 1);
}

/// A machine that stands still cannot freeze its agents in time. That must break nothing else.
#[test]
fn without_freezing_only_the_agents_overlap() {
    let fleet = Fleet {
        mutant: Some(Mutant::NoFreeze),
        without: Some("F4"),
        ..Fleet::new(Scenario::TWO_RUNNERS.with_ticks(4).with_faults(0))
    };
    let checker = fleet.checker().spawn_dfs().join();
    for (name, path) in checker.discoveries() {
        let is_failure = checker
            .model()
            .property(name)
            .expectation
            .discovery_is_failure();
        assert!(!is_failure, "{name}: {:?}", path.into_actions());
    }
    assert!(checker.unique_state_count() > 5_000);
}
