//! Appends, ends of tasks, and decided requests.

use super::*;

#[test]
fn only_the_holder_appends_and_only_at_the_end() {
    let mut ledger = ledger();
    let held = claim(&mut ledger);
    let one = commit(held.head, "one", None);
    let two = commit(one.head(), "two", None);
    let other = commit(held.head, "other", None);
    let mut call = |epoch, base, commits: &[Commit]| {
        appended(&mut ledger, &append(epoch, base, commits, "open"))
    };
    let ok = |version| AppendResult::Ok {
        version: Version(version),
    };
    let both = [one.clone(), two.clone()];
    let behind = AppendResult::Behind { head: held.head };
    assert_eq!(call(held.epoch, one.head(), &both[1..]), behind);
    assert_eq!(call(Epoch(0), held.head, &both), AppendResult::Fenced);
    assert_eq!(call(held.epoch, held.head, &both[..1]), ok(2));
    assert_eq!(call(held.epoch, held.head, &both[..1]), ok(2), "repeated");
    assert_eq!(call(held.epoch, held.head, &both), ok(3), "the rest is new");
    assert_eq!(call(held.epoch, held.head, &both[..1]), ok(2), "late");
    assert_eq!(
        call(held.epoch, held.head, &[other]),
        AppendResult::Conflict
    );
    let mut forged = commit(two.head(), "three", None);
    forged.sha = one.sha;
    assert_eq!(
        call(held.epoch, two.head(), &[forged]),
        AppendResult::Conflict
    );
    assert_eq!(ledger.changes(1, 10).rows.len(), 2);
    assert_eq!(ledger.changes(0, 1).next, 1);
}

#[test]
fn an_end_releases_frees_and_tells_the_parent() {
    let mut ledger = ledger();
    let mut child = creation("t");
    child.task = id("next");
    child.after = [id("t")].into();
    ledger.create(at(0), &child);
    let held = claim(&mut ledger);
    let mut parent = creation("t");
    parent.task = id("parent");
    ledger.create(at(0), &parent);
    ledger.tasks.get_mut(&id("t")).unwrap().parent = Some(id("parent"));
    let blocked = ledger.view(at(1), &id("next")).unwrap().state;
    assert!(matches!(blocked, TaskState::Blocked { .. }));
    let end = append(
        held.epoch,
        held.head,
        &[commit(held.head, "end", None)],
        "over",
    );
    let ok = AppendResult::Ok {
        version: Version(2),
    };
    assert_eq!(appended(&mut ledger, &end), ok);
    assert_eq!(
        appended(&mut ledger, &end),
        ok,
        "recognised after the release"
    );
    assert_eq!(
        ledger.view(at(3), &id("t")).unwrap().state,
        TaskState::Ended
    );
    assert_eq!(
        ledger.view(at(3), &id("next")).unwrap().state,
        TaskState::Offered
    );
    assert_eq!(ledger.mail.len(), 1);
    let answer = work(&mut ledger, "r", 1, 9);
    let tasks: Vec<_> = answer.claims.iter().map(|it| it.task.as_str()).collect();
    assert_eq!(tasks, ["next", "parent"]);
    assert_eq!(answer.claims[0].elsewhere[0].status, "over");
}

#[test]
fn a_request_is_decided_once() {
    let mut ledger = ledger();
    let held = claim(&mut ledger);
    let ann = PersonId::new("ann");
    let post = |key| PostRequest {
        key: RequestKey::new(key),
        ask: Json::null(),
    };
    let first = ledger.post(&ann, &id("t"), &post("k")).unwrap();
    assert_eq!(
        ledger.post(&ann, &id("t"), &post("k")).unwrap().id,
        first.id
    );
    let second = ledger.post(&ann, &id("t"), &post("l")).unwrap();
    assert_eq!(work(&mut ledger, "r", 1, 0).mail.len(), 2);
    let decision = commit(held.head, "yes", Some(first.id.clone()));
    appended(
        &mut ledger,
        &append(
            held.epoch,
            held.head,
            std::slice::from_ref(&decision),
            "open",
        ),
    );
    let state = ledger.request(&first.id).unwrap();
    assert_eq!(
        (state.status, state.version),
        (RequestStatus::Recorded, Some(Version(2)))
    );
    let again = commit(decision.head(), "no", Some(first.id.clone()));
    let again = append(held.epoch, decision.head(), &[again], "open");
    assert_eq!(appended(&mut ledger, &again), AppendResult::Conflict);
    let refusal = |epoch| MailAnswer {
        task: id("t"),
        epoch,
        answer: Json::null(),
    };
    assert_eq!(
        ledger.answer_mail(&runner("r"), &first.id, &refusal(held.epoch)),
        MailResult::Decided
    );
    assert_eq!(
        ledger.answer_mail(&runner("r"), &second.id, &refusal(Epoch(0))),
        MailResult::Fenced
    );
    assert_eq!(
        ledger.answer_mail(&runner("r"), &second.id, &refusal(held.epoch)),
        MailResult::Ok
    );
    assert_eq!(
        ledger.answer_mail(&runner("r"), &second.id, &refusal(held.epoch)),
        MailResult::Decided
    );
}

#[test]
fn creating_twice_is_creating_once() {
    let mut ledger = ledger();
    assert_eq!(ledger.create(at(9), &creation("t")), CreateAnswer::Ok);
    let mut other = creation("t");
    other.commits = vec![commit(Head::default(), "another", None)];
    assert_eq!(ledger.create(at(9), &other), CreateAnswer::Taken);
    other.task = id("u");
    other.commits[0].first = Version(2);
    assert_eq!(ledger.create(at(9), &other), CreateAnswer::Invalid);
}
