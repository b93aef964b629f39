//! Reports read what was recorded within a window, and no more.

use orange_engine::budget::{Money, RunCost};
use orange_engine::event::{Event, Fact};
use orange_engine::names::{HarnessName, ProjectName, RunId};
use orange_engine::role::Role;
use orange_engine::statistics::Records;
use orange_engine::time::Timestamp;
use orange_store::{Commit, CommitOutcome, RunSpend};

use crate::fixtures::{shipped_workflow, status};
use crate::sandbox::{RecordedTask, Sandbox};

#[test]
fn what_came_before_the_window_is_known_and_not_counted() {
    let sandbox = Sandbox::new();
    let mut store = sandbox.store();
    let workflow = shipped_workflow("default");
    let mut recorded = RecordedTask::begin(&mut store, &workflow);
    recorded.world.move_to(Role::Human, "planning");
    recorded.catch_up(&mut store).unwrap();
    let task = recorded.world.task.clone();
    let mut facts = recorded.world.events.iter().map(|event| &event.fact);
    let planned = facts.find_map(|fact| match fact {
        Fact::EffectPlanned(planned) => Some(planned.clone()),
        _ => None,
    });
    let planned = planned.unwrap();
    let last = recorded.world.events.last().unwrap().at;
    let later = |seconds: i64| Timestamp::from_millis(last.millis() + seconds * 1000);
    let event = |version: u64, fact: Fact| Event {
        version: task.version + version,
        at: later(10),
        fact,
    };
    let error = String::from("no space");
    let failed = Fact::EffectFailed {
        effect: planned.id,
        error,
        feedback: None,
    };
    let by = Role::Human;
    let events = [event(1, failed), event(2, Fact::TaskDeleted { by })];
    let outcome = store.record(&Commit {
        task: &task.id,
        version: task.version,
        events: &events,
        document: None,
        reserve: None,
        limits: None,
        workflow_text: None,
    });
    assert!(matches!(outcome.unwrap(), CommitOutcome::Recorded(_)));
    for (run, at) in [("before", later(0)), ("within", later(11))] {
        let spend = RunSpend {
            task: task.id.clone(),
            run: RunId::new(run),
            harness: HarnessName::new("claude"),
            model: None,
            tokens: None,
            cost: RunCost::Known(Money(7)),
            at,
        };
        assert!(store.record_spend(&spend).unwrap());
    }
    let records = store.records_since(later(5), None).unwrap();
    let [found] = records.tasks.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(found.events, events[..1]);
    assert_eq!(found.before.as_ref().unwrap().status, status("planning"));
    assert_eq!(found.failed_effects[&planned.id], planned.effect);
    assert_eq!(found.summary, task.summary);
    assert!(found.is_deleted);
    let runs: Vec<&str> = records.spend.iter().map(|it| it.run.as_str()).collect();
    assert_eq!(runs, ["within"]);
    assert_eq!(records.spend[0].money, Some(Money(7)));
    assert_eq!(records.spend[0].tokens, None);
    let own = store.records_since(later(5), Some(&task.project)).unwrap();
    assert_eq!(own, records);
    let other = ProjectName::new("tea");
    let other = store.records_since(later(5), Some(&other)).unwrap();
    assert_eq!(other, Records::default());
    let nothing = store.records_since(later(12), None).unwrap();
    assert_eq!(nothing, Records::default());
}
