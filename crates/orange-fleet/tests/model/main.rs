//! Checks the protocol in every order of messages and faults.
//!
//! The model drives the real link and ledger: one task, hosts of one or two runners, and calls
//! that are answered at once unless a fault makes the request or its answer late, lost or double.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod actions;
mod fleet;
mod mutant;
mod needed;
mod properties;
mod script;
mod settle;
mod step;
mod world;

use fleet::{Fleet, Scenario};
use stateright::{Checker, HasDiscoveries, Model};

/// Tries every state of a scenario depth first, which needs little memory.
#[expect(
    clippy::print_stdout,
    reason = "a run with `--no-capture` shows how much was tried"
)]
fn require_all(fleet: Fleet, least: usize) {
    let name = fleet.scenario.name;
    let checker = fleet.checker();
    let checker = checker.finish_when(HasDiscoveries::AnyFailures);
    let checker = checker.spawn_dfs().join();
    checker.assert_properties();
    let (unique, all) = (checker.unique_state_count(), checker.state_count());
    println!("{name}: {unique} states, {all} with repetitions");
    assert!(unique >= least, "{name}: only {unique} states");
}

/// Two runners; the task moves when one of them is not heard.
#[test]
fn two_runners() {
    require_all(Fleet::new(Scenario::TWO_RUNNERS), 100_000);
}

/// Two homes of one runner register, and each may take over from the other.
#[test]
fn two_homes() {
    require_all(Fleet::new(Scenario::TWO_HOMES), 100_000);
}

/// A person's request, a task that is given back, and a home that comes back from a backup.
#[test]
fn one_home_with_a_backup() {
    require_all(Fleet::new(Scenario::BACKUP), 50_000);
}

#[test]
#[ignore = "takes minutes; `.ci/long` runs it"]
fn long_two_runners() {
    require_all(Fleet::new(Scenario::TWO_RUNNERS.with_faults(2)), 2_000_000);
}

#[test]
#[ignore = "takes minutes; `.ci/long` runs it"]
fn long_two_homes() {
    require_all(Fleet::new(Scenario::TWO_HOMES.with_faults(3)), 500_000);
}

#[test]
#[ignore = "takes minutes; `.ci/long` runs it"]
fn long_one_home_with_a_backup() {
    require_all(Fleet::new(Scenario::BACKUP.with_faults(2)), 500_000);
}
