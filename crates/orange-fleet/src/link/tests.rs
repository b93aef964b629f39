//! Late, repeated and contradicting answers to a link.

use super::*;
use crate::chain::Head;
use crate::json::Json;
use crate::link::task::BATCH_BYTES;
use crate::message::{AppendResult, OwnedTask, Summary, Want};
use crate::time::Period;

const LOST_AFTER: Period = Period::seconds(90);

fn task() -> TaskId {
    TaskId::new("t")
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::default() + Period::seconds(seconds)
}

fn fresh() -> RunnerLink {
    RunnerLink::new(HomeId::new("h"), Incarnation(0), LeaseTerms::default())
}

fn registered() -> RunnerLink {
    let mut link = fresh();
    link.register_answered(Incarnation(0), at(0), &granted(1));
    link
}

fn granted(incarnation: u64) -> RegisterAnswer {
    RegisterAnswer::Registered {
        incarnation: Incarnation(incarnation),
        lost_after: LOST_AFTER,
    }
}

fn taken(incarnation: u64, replaced: bool) -> RegisterAnswer {
    RegisterAnswer::Taken {
        incarnation: Incarnation(incarnation),
        replaced,
    }
}

fn alive(lost: &[(&str, u64)], yours: &[(&str, u64)]) -> BeatAnswer {
    let owned = |it: &[(&str, u64)]| {
        let owned = it.iter().map(|(task, epoch)| OwnedTask {
            task: TaskId::new(task),
            epoch: Epoch(*epoch),
        });
        owned.collect()
    };
    BeatAnswer::Alive {
        lost_after: LOST_AFTER,
        now: Timestamp(0),
        lost: owned(lost),
        yours: owned(yours),
        want: Want::Hold,
    }
}

fn commits(count: usize) -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    for number in 0..count {
        let previous = commits.last().map_or_else(Head::default, Commit::head);
        let event = Json::new(number.to_string()).unwrap();
        commits.extend(Commit::new(previous, vec![event], Vec::new(), None));
    }
    commits
}

fn claim(epoch: u64, log: &[Commit]) -> Claim {
    Claim {
        task: task(),
        epoch: Epoch(epoch),
        head: log.last().map_or_else(Head::default, Commit::head),
        commits: log.to_vec(),
        texts: Vec::new(),
        wip: None,
        elsewhere: Vec::new(),
    }
}

/// A link that holds the task with epoch 1; the log has the first of these commits.
fn holding(local: &[Commit]) -> RunnerLink {
    let mut link = registered();
    let takeover = link.claimed(Incarnation(1), &claim(1, &local[..1]), &[]);
    assert_eq!(takeover, Takeover::Fresh);
    link
}

fn result(epoch: u64, result: AppendResult) -> TaskResult {
    TaskResult {
        task: task(),
        epoch: Epoch(epoch),
        result,
    }
}

fn ok(version: u64) -> AppendResult {
    AppendResult::Ok {
        version: Version(version),
    }
}

fn acknowledged(link: &RunnerLink) -> u64 {
    link.task(&task()).unwrap().acknowledged().version.0
}

#[test]
fn an_effect_waits_for_its_acknowledgement_and_for_the_lease() {
    let local = commits(2);
    let mut link = holding(&local);
    let gate = |link: &RunnerLink, version, now| link.gate(&task(), Version(version), at(now));
    assert_eq!(gate(&link, 1, 0), Gate::Open);
    assert_eq!(gate(&link, 2, 0), Gate::Unacknowledged);
    link.append_answered(&result(1, ok(2)), &local);
    assert_eq!(gate(&link, 2, 59), Gate::Open);
    assert_eq!(gate(&link, 2, 60), Gate::Frozen);
    link.beat_answered(Incarnation(1), at(50), &alive(&[], &[]));
    assert_eq!(gate(&link, 2, 60), Gate::Open);
    link.rebooted();
    assert_eq!(gate(&link, 2, 60), Gate::Frozen);
    let other = link.gate(&TaskId::new("other"), Version(1), at(0));
    assert_eq!(other, Gate::NotHeld);
}

#[test]
fn an_append_is_repeated_until_it_is_answered() {
    let local = commits(3);
    let mut link = holding(&local);
    let next = |link: &RunnerLink| {
        let summary = |it: &Commit| Summary {
            status: it.last.to_string(),
            ended: false,
            shown: Json::null(),
        };
        let link = link.task(&task())?;
        link.next_append(&task(), &local, |_| Vec::new(), summary)
    };
    let append = next(&link).unwrap();
    assert_eq!((append.base, append.commits.len()), (Version(1), 2));
    assert_eq!(append.summary.status, "3");
    assert_eq!(next(&link), Some(append));
    link.append_answered(&result(1, ok(2)), &local);
    assert_eq!(next(&link).unwrap().base, Version(2));
    link.append_answered(&result(1, ok(3)), &local);
    link.append_answered(&result(1, ok(2)), &local);
    assert_eq!((next(&link), acknowledged(&link)), (None, 3));
}

#[test]
fn a_batch_is_bounded_but_never_empty() {
    let big = Json::new(format!("\"{}\"", "x".repeat(BATCH_BYTES / 2))).unwrap();
    let mut local = commits(1);
    for _ in 0..3 {
        let head = local.last().unwrap().head();
        local.extend(Commit::new(head, vec![big.clone()], Vec::new(), None));
    }
    let huge = vec![big; 4];
    local.extend(Commit::new(local[3].head(), huge, Vec::new(), None));
    let mut link = holding(&local);
    let mut sizes = Vec::new();
    for _ in 0..4 {
        let summary = |_: &Commit| Summary {
            status: String::new(),
            ended: false,
            shown: Json::null(),
        };
        let held = link.task(&task()).unwrap();
        let append = held.next_append(&task(), &local, |_| Vec::new(), summary);
        let commits = append.unwrap().commits;
        sizes.push(commits.len());
        let version = commits.last().unwrap().last;
        link.append_answered(&result(1, AppendResult::Ok { version }), &local);
    }
    assert_eq!(sizes, [1, 1, 1, 1]);
    assert_eq!(acknowledged(&link), 8);
}

#[test]
fn a_fenced_task_is_dropped_with_its_tail() {
    let local = commits(2);
    let mut link = holding(&local);
    assert_eq!(
        link.append_answered(&result(0, AppendResult::Fenced), &local),
        None
    );
    let dropped = Directive::Drop {
        task: task(),
        epoch: Epoch(1),
    };
    let fenced = link.append_answered(&result(1, AppendResult::Fenced), &local);
    assert_eq!(fenced, Some(dropped.clone()));
    assert!(link.tasks().is_empty());

    let mut link = holding(&local);
    assert_eq!(
        link.beat_answered(Incarnation(1), at(1), &alive(&[("t", 0)], &[])),
        []
    );
    assert_eq!(
        link.beat_answered(Incarnation(1), at(1), &alive(&[("t", 1)], &[])),
        [dropped]
    );
}

#[test]
fn a_log_that_is_behind_gets_its_commits_again() {
    let local = commits(3);
    let mut link = holding(&local);
    link.append_answered(&result(1, ok(3)), &local);
    let behind = |head| result(1, AppendResult::Behind { head });
    assert_eq!(link.append_answered(&behind(local[1].head()), &local), None);
    assert_eq!(acknowledged(&link), 2);
    assert_eq!(link.gate(&task(), Version(3), at(0)), Gate::Unacknowledged);
    assert_eq!(link.append_answered(&behind(Head::default()), &local), None);
    assert_eq!(acknowledged(&link), 0);
    let foreign = Head {
        version: Version(1),
        sha: local[2].sha,
    };
    let halted = link.append_answered(&behind(foreign), &local);
    assert!(matches!(halted, Some(Directive::Halt { .. })));
}

#[test]
fn a_conflict_stops_the_task_and_keeps_it() {
    let local = commits(2);
    let mut link = holding(&local);
    let halted = link.append_answered(&result(1, AppendResult::Conflict), &local);
    assert!(matches!(halted, Some(Directive::Halt { .. })));
    let held = link.task(&task()).unwrap();
    assert!(held.is_halted() && !held.is_active());
    assert_eq!(link.gate(&task(), Version(1), at(0)), Gate::NotHeld);
    assert_eq!(link.give_back(&task(), Rest::Idle, &local[..1]), None);
    assert_eq!(
        link.held().len(),
        1,
        "the server must not give it to others"
    );
}

#[test]
fn only_the_newest_claim_counts() {
    let local = commits(2);
    let mut link = holding(&local);
    let claimed = |link: &mut RunnerLink, incarnation, epoch, log: &[Commit]| {
        link.claimed(Incarnation(incarnation), &claim(epoch, log), &local)
    };
    assert_eq!(claimed(&mut link, 1, 1, &local), Takeover::Stale);
    assert_eq!(claimed(&mut link, 2, 9, &local), Takeover::Stale);
    assert_eq!(claimed(&mut link, 1, 2, &local[..1]), Takeover::Continued);
    assert_eq!(acknowledged(&link), 1);
    let mut foreign = claim(3, &local[..1]);
    foreign.head.version = Version(9);
    let takeover = link.claimed(Incarnation(1), &foreign, &local);
    assert_eq!((takeover, acknowledged(&link)), (Takeover::Fresh, 9));
}

#[test]
fn a_task_that_a_beat_names_is_adopted_once() {
    let log = commits(1);
    let mut link = registered();
    link.beat_answered(Incarnation(1), at(1), &alive(&[], &[("t", 4)]));
    let adopt = Adopt {
        task: task(),
        incarnation: Incarnation(1),
        seen: Epoch(4),
        held: None,
    };
    assert_eq!(link.adoptions(), [adopt]);
    let answer = |claim| AdoptAnswer {
        task: task(),
        incarnation: Incarnation(1),
        seen: Epoch(4),
        claim,
    };
    link.adopt_answered(&answer(None), &[]);
    assert_eq!(
        link.adoptions(),
        [],
        "a refusal is not asked for again at once"
    );
    link.beat_answered(Incarnation(1), at(2), &alive(&[], &[("t", 4)]));
    assert_eq!(
        link.adopt_answered(&answer(Some(claim(5, &log))), &[]),
        Takeover::Fresh
    );
    assert_eq!(link.adoptions(), []);
    assert_eq!(
        link.claimed(Incarnation(1), &claim(4, &log), &log),
        Takeover::Stale
    );
}

#[test]
fn a_registration_answers_only_its_own_request() {
    let mut link = fresh();
    assert_eq!(link.registration().due(), Some(Incarnation(0)));
    link.register_answered(Incarnation(0), at(0), &taken(2, false));
    link.register_answered(Incarnation(0), at(0), &granted(1));
    assert_eq!(link.registration().due(), Some(Incarnation(2)));
    link.register_answered(Incarnation(2), at(5), &granted(3));
    assert_eq!(link.registration().current(), Some(Incarnation(3)));
    assert_eq!(link.lease().freeze_at(), Some(at(65)));
}

#[test]
fn a_stale_incarnation_drops_everything_and_registers_again() {
    let mut link = holding(&commits(1));
    let stale = |incarnation, replaced| BeatAnswer::Stale {
        incarnation: Incarnation(incarnation),
        replaced,
    };
    assert_eq!(
        link.beat_answered(Incarnation(0), at(9), &stale(2, false)),
        []
    );
    assert_eq!(
        link.beat_answered(Incarnation(1), at(9), &stale(2, false))
            .len(),
        1
    );
    assert_eq!(link.registration().due(), Some(Incarnation(2)));
    assert_eq!(link.lease().phase(at(9)), Phase::Frozen);
    link.register_answered(Incarnation(2), at(9), &granted(3));
    link.beat_answered(Incarnation(3), at(9), &stale(4, true));
    assert_eq!(*link.registration(), Registration::Replaced);
    assert_eq!(
        (link.registration().due(), link.adoptions()),
        (None, Vec::new())
    );
}

#[test]
fn a_replaced_home_stays_away_but_a_new_one_goes_on() {
    let mut new = fresh();
    new.register_answered(Incarnation(0), at(0), &taken(5, true));
    assert_eq!(new.registration().due(), Some(Incarnation(5)));
    let mut old = registered();
    let stale = BeatAnswer::Stale {
        incarnation: Incarnation(2),
        replaced: false,
    };
    old.beat_answered(Incarnation(1), at(1), &stale);
    old.register_answered(Incarnation(2), at(1), &taken(3, true));
    assert_eq!(*old.registration(), Registration::Replaced);
}

#[test]
fn a_task_is_given_back_only_when_the_log_has_all_of_it() {
    let local = commits(2);
    let mut link = holding(&local);
    assert_eq!(link.give_back(&task(), Rest::Idle, &local), None);
    link.append_answered(&result(1, ok(2)), &local);
    let call = link.give_back(&task(), Rest::Idle, &local).unwrap();
    assert_eq!(call.epoch, Epoch(1));
    assert_eq!(link.gate(&task(), Version(1), at(0)), Gate::NotHeld);
    let again = link.give_back(&task(), Rest::Idle, &local);
    assert_eq!(again, Some(call), "repeated until it is answered");
    link.give_back_answered(&task(), Epoch(0), HoldingAnswer::Ok);
    assert_eq!(link.held().len(), 1);
    link.give_back_answered(&task(), Epoch(1), HoldingAnswer::Ok);
    assert!(link.held().is_empty());
}

#[test]
fn mail_is_decided_by_one_commit() {
    let mut local = commits(1);
    let link = holding(&local);
    let mail = MailId::new("m");
    assert_eq!(link.mail_step(&task(), &mail, &local), MailStep::Decide);
    let event = Json::null();
    let head = local[0].head();
    local.extend(Commit::new(
        head,
        vec![event],
        Vec::new(),
        Some(mail.clone()),
    ));
    assert_eq!(link.mail_step(&task(), &mail, &local), MailStep::Decided);
    let elsewhere = link.mail_step(&TaskId::new("other"), &mail, &[]);
    assert_eq!(elsewhere, MailStep::NotHeld);
}

#[test]
fn a_stored_link_continues() {
    let local = commits(1);
    let link = holding(&local);
    let stored = serde_json::to_string(&link).unwrap();
    assert_eq!(serde_json::from_str::<RunnerLink>(&stored).unwrap(), link);
}
