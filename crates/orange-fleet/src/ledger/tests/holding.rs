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
            ledger.give_back(at(1), &runner("r"), &call),
            HoldingAnswer::Ok,
            "{number}"
        );
        assert_eq!(
            ledger.give_back(at(1), &runner("r"), &call),
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
        ledger.save_wip(&runner("r"), &id("t"), &wip(Epoch(0), 9)),
        HoldingAnswer::Fenced
    );
    for number in [2, 1] {
        let answer = ledger.save_wip(&runner("r"), &id("t"), &wip(held.epoch, number));
        assert_eq!(answer, HoldingAnswer::Ok);
    }
    assert_eq!(ledger.tasks[&id("t")].wip, Some(wip(held.epoch, 2)));
}

/// An epoch is no secret: it serves only the runner that holds, or held, the task with it.
#[test]
fn the_epoch_of_another_runner_is_fenced() {
    let mut ledger = ledger();
    let held = claim(&mut ledger);
    ledger.register(at(1), &register("other", "o", 0));
    ledger.post(
        &PersonId::new("ann"),
        &id("t"),
        &PostRequest {
            key: RequestKey::new("k"),
            ask: Json::null(),
        },
    );
    let mail = ledger.mail.keys().next().unwrap().clone();
    let one = commit(held.head, "one", None);
    let call = append(held.epoch, held.head, std::slice::from_ref(&one), "open");
    let behind = append(held.epoch, one.head(), std::slice::from_ref(&one), "open");
    appended(&mut ledger, &call);
    let give_back = GiveBack {
        task: id("t"),
        epoch: held.epoch,
        rest: Rest::Offered,
    };
    let wip = Wip {
        epoch: held.epoch,
        number: 1,
        base: "b".to_owned(),
        bundle: String::new(),
        document: String::new(),
        imported: None,
    };
    let answer = MailAnswer {
        task: id("t"),
        epoch: held.epoch,
        answer: Json::null(),
    };
    let other = runner("other");
    let before = ledger.clone();
    for call in [&call, &behind] {
        let result = ledger.append(at(2), &other, call).tasks[0].result;
        assert_eq!(result, AppendResult::Fenced);
    }
    let fenced = HoldingAnswer::Fenced;
    assert_eq!(ledger.save_wip(&other, &id("t"), &wip), fenced);
    assert_eq!(
        ledger.answer_mail(&other, &mail, &answer),
        MailResult::Fenced
    );
    assert_eq!(ledger.give_back(at(2), &other, &give_back), fenced);
    assert_eq!(ledger, before, "nothing has changed");

    ledger.give_back(at(2), &runner("r"), &give_back);
    let repeated = AppendResult::Ok {
        version: Version(2),
    };
    assert_eq!(
        appended(&mut ledger, &call),
        repeated,
        "of the former holder"
    );
    let foreign = ledger.append(at(2), &other, &call).tasks[0].result;
    assert_eq!(foreign, AppendResult::Fenced);
}

/// A claim is forgotten only by a failover: no runner takes a task by naming a high epoch.
#[test]
fn an_invented_epoch_takes_no_task() {
    let mut ledger = ledger();
    let adopt = |held| Adopt {
        task: id("t"),
        incarnation: Incarnation(1),
        seen: Epoch(0),
        held: Some(held),
    };
    let high = Epoch(9);
    assert_eq!(ledger.adopt(&runner("r"), &adopt(high)).claim, None);
    ledger.restored(at(5));
    let mut other = register("other", "o", 0);
    other.capabilities.projects.clear();
    ledger.register(at(5), &other);
    assert_eq!(ledger.adopt(&runner("other"), &adopt(high)).claim, None);
    let later = Epoch::compose(Timeline(1), 9);
    assert_eq!(ledger.adopt(&runner("r"), &adopt(later)).claim, None);
    assert!(ledger.adopt(&runner("r"), &adopt(high)).claim.is_some());
}
