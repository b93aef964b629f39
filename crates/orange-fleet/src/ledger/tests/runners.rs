//! Registration, beats, and what follows when they stop.

use super::*;

#[test]
fn registration_compares_the_incarnation() {
    let mut ledger = ledger();
    let registered = |incarnation| RegisterAnswer::Registered {
        incarnation: Incarnation(incarnation),
        lost_after: LOST_AFTER,
    };
    let taken = |incarnation, replaced| RegisterAnswer::Taken {
        incarnation: Incarnation(incarnation),
        replaced,
    };
    let mut call = |now, home, seen| ledger.register(at(now), &register("r", home, seen));
    assert_eq!(call(5, "h", 0), registered(1), "the same home repeats it");
    assert_eq!(call(5, "other", 0), taken(1, true));
    assert_eq!(call(5, "other", 1), registered(2));
    assert_eq!(call(6, "h", 0), taken(2, true));
    assert_eq!(call(6, "h", 1), taken(2, true));
    assert_eq!(
        ledger.register(at(6), &register("new", "n", 3)),
        taken(0, false)
    );
}

#[test]
fn a_silent_runner_loses_its_tasks_after_its_lease() {
    let mut ledger = ledger();
    claim(&mut ledger);
    ledger.reap(at(90));
    assert!(ledger.tasks[&id("t")].owner.is_some());
    ledger.reap(at(91));
    assert_eq!(
        ledger.view(at(91), &id("t")).unwrap().state,
        TaskState::Offered
    );
    let stale = BeatAnswer::Stale {
        incarnation: Incarnation(2),
        replaced: false,
    };
    assert_eq!(ledger.beat(at(91), &runner("r"), &beat("h", 1, &[])), stale);
    assert_eq!(ledger.beat(at(91), &runner("r"), &beat("h", 2, &[])), stale);
}

#[test]
fn an_outage_counts_against_no_runner() {
    let mut ledger = ledger();
    ledger.mark(at(1));
    ledger.mark(at(200));
    ledger.reap(at(200));
    ledger.mark(at(210));
    ledger.reap(at(289));
    assert!(ledger.runners[&runner("r")].online);
    ledger.reap(at(290));
    assert!(!ledger.runners[&runner("r")].online);
}

#[test]
fn an_older_incarnation_keeps_its_tasks_for_its_lease() {
    let mut ledger = ledger();
    claim(&mut ledger);
    ledger.register(at(30), &register("r", "new", 1));
    ledger.reap(at(90));
    assert!(ledger.tasks[&id("t")].owner.is_some());
    ledger.reap(at(91));
    assert!(ledger.tasks[&id("t")].owner.is_none());
    assert!(ledger.runners[&runner("r")].online);
}

#[test]
fn a_beat_names_the_differences() {
    let mut ledger = ledger();
    let epoch = claim(&mut ledger).epoch;
    let owned = |task: &str, epoch| OwnedTask {
        task: id(task),
        epoch,
    };
    let mut differences = |held: &[(&str, u64)]| {
        let answer = ledger.beat(at(5), &runner("r"), &beat("h", 1, held));
        match answer {
            BeatAnswer::Alive { lost, yours, .. } => (lost, yours),
            BeatAnswer::Stale { .. } => unreachable!("the incarnation is current"),
        }
    };
    assert_eq!(differences(&[]), (vec![], vec![owned("t", epoch)]));
    assert_eq!(differences(&[("t", epoch.0)]), (vec![], vec![]));
    assert_eq!(
        differences(&[("t", 0)]),
        (vec![owned("t", Epoch(0))], vec![])
    );
    let unknown = vec![owned("gone", Epoch(1))];
    assert_eq!(
        differences(&[("gone", 1), ("t", epoch.0)]),
        (unknown, vec![])
    );
}
