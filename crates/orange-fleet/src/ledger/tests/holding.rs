//! Adoptions, releases and saved work.

use super::*;

#[test]
fn an_adoption_draws_a_new_epoch_once() {
    let mut ledger = ledger();
    let held = claim(&mut ledger);
    let adopt = |seen, held| Adopt {
        task: id("t"),
        incarnation: Incarnation(1),
        seen,
        held,
    };
    let first = ledger.adopt(&runner("r"), &adopt(held.epoch, None));
    let epoch = first.claim.unwrap().epoch;
    assert!(epoch > held.epoch);
    let late = ledger.adopt(&runner("r"), &adopt(held.epoch, None));
    assert_eq!(late.claim, None);
    ledger.register(at(1), &register("other", "o", 0));
    let foreign = ledger.adopt(&runner("other"), &adopt(epoch, None));
    assert_eq!(foreign.claim, None);
}

/// A failover has lost the claim: the runner that holds the task takes it again.
#[test]
fn a_lost_claim_is_adopted_with_an_epoch_of_the_new_timeline() {
    let mut ledger = ledger();
    let mut restored = ledger.clone();
    let held = claim(&mut ledger);
    restored.restored(at(5));
    assert!(
        work(&mut restored, "r", 1, 1).claims.is_empty(),
        "runners speak first"
    );
    let behind = append(
        held.epoch,
        held.head,
        &[commit(held.head, "a", None)],
        "open",
    );
    let behind = appended(&mut restored, &behind);
    assert_eq!(behind, AppendResult::Behind { head: held.head });
    let answer = restored.beat(at(6), &runner("r"), &beat("h", 1, &[("t", held.epoch.0)]));
    let BeatAnswer::Alive { lost, yours, .. } = answer else {
        unreachable!("the incarnation is current");
    };
    assert_eq!((lost.len(), yours.len()), (0, 1));
    let adopt = Adopt {
        task: id("t"),
        incarnation: Incarnation(1),
        seen: yours[0].epoch,
        held: Some(held.epoch),
    };
    let claim = restored.adopt(&runner("r"), &adopt).claim.unwrap();
    assert_eq!(claim.epoch, Epoch::compose(Timeline(1), 1));
}

#[test]
fn a_task_that_makes_no_progress_waits_for_a_person() {
    let mut ledger = ledger();
    for number in 1..=MOST_ATTEMPTS {
        let held = claim(&mut ledger);
        let call = GiveBack {
            task: id("t"),
            epoch: held.epoch,
            rest: Rest::Offered,
        };
        assert_eq!(
            ledger.give_back(at(1), &call),
            HoldingAnswer::Ok,
            "{number}"
        );
        assert_eq!(
            ledger.give_back(at(1), &call),
            HoldingAnswer::Fenced,
            "{number}"
        );
    }
    assert_eq!(ledger.view(at(1), &id("t")).unwrap().state, TaskState::Idle);
    assert!(work(&mut ledger, "r", 1, 1).claims.is_empty());
    let post = PostRequest {
        key: RequestKey::new("k"),
        ask: Json::null(),
    };
    ledger.post(&PersonId::new("ann"), &id("t"), &post);
    let answer = work(&mut ledger, "r", 1, 0);
    assert_eq!(
        (answer.claims.len(), answer.mail.len()),
        (1, 1),
        "mail needs no room"
    );
}

#[test]
fn saved_work_is_replaced_by_newer_work_of_the_holder() {
    let mut ledger = ledger();
    let held = claim(&mut ledger);
    let wip = |epoch, number| Wip {
        epoch,
        number,
        base: "b".to_owned(),
        bundle: String::new(),
        document: number.to_string(),
        imported: None,
    };
    assert_eq!(
        ledger.save_wip(&id("t"), &wip(Epoch(0), 9)),
        HoldingAnswer::Fenced
    );
    for number in [2, 1] {
        let answer = ledger.save_wip(&id("t"), &wip(held.epoch, number));
        assert_eq!(answer, HoldingAnswer::Ok);
    }
    assert_eq!(ledger.tasks[&id("t")].wip, Some(wip(held.epoch, 2)));
}
