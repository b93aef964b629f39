//! Turns steps into calls, from what the reference has at the moment.

use std::collections::BTreeMap;

use orange_fleet::capability::{Capabilities, Needs};
use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{
    Epoch, Format, HarnessName, HomeId, Incarnation, Label, MailId, PersonId, ProjectId,
    RequestKey, RunnerId, TaskId, Version,
};
use orange_fleet::json::Json;
use orange_fleet::ledger::Ledger;
use orange_fleet::message::{
    Adopt, Append, Beat, CreateTask, GiveBack, HeldTask, MailAnswer, PostRequest, Register, Rest,
    Summary, TaskAppend, Text, Wip, WorkRequest,
};
use orange_fleet::time::{Period, Timestamp};
use proptest::sample::Index;

use crate::histories::{Caller, Creation, Flaw, Fresh, Holding, NamedEpoch, Shipment, Step};

/// A call of one organisation, as it can be made again.
#[derive(Clone, Debug)]
pub enum Call {
    Register(RunnerId, Register),
    Beat(RunnerId, Beat),
    Work(RunnerId, WorkRequest),
    Append(RunnerId, Append),
    GiveBack(RunnerId, GiveBack),
    Adopt(RunnerId, Adopt),
    SaveWip(RunnerId, TaskId, Wip),
    AnswerMail(RunnerId, MailId, MailAnswer),
    Create(CreateTask),
    Post(PersonId, TaskId, PostRequest),
    Request(MailId),
    View(TaskId),
    Changes { since: u64, most: u32 },
    Text(Sha),
}

/// What was shipped last of each task, in the log or not.
pub type Shipped = BTreeMap<TaskId, Vec<Commit>>;

fn task(number: u8) -> TaskId {
    TaskId::new(format!("t{number}"))
}

fn runner(number: u8) -> RunnerId {
    RunnerId::new(format!("r{number}"))
}

fn project(number: u8) -> ProjectId {
    ProjectId::new(["coffee", "tea"][usize::from(number % 2)])
}

fn harness(name: &str) -> HarnessName {
    HarnessName::new(name)
}

pub fn text(number: u8) -> Text {
    let content = format!("text {number} with a \0");
    let sha = Sha::of(content.as_bytes());
    Text { sha, content }
}

fn event(number: u8) -> Json {
    let texts = [
        "1",
        "{ \"b\":1.0,\"a\" : [1e3, \"ü\\u0000\"] }",
        "\"a,b]\"",
        "null",
    ];
    Json::new(texts[usize::from(number % 4)]).unwrap()
}

/// `None` for steps that are no calls of an organisation.
#[expect(clippy::too_many_lines, reason = "a table: a call for each step")]
pub fn call(step: &Step, ledger: &Ledger, shipped: &mut Shipped) -> Option<Call> {
    Some(match step {
        Step::Clock(_) | Step::Mark | Step::Reap | Step::Restore { .. } | Step::Again(_) => {
            return None;
        }
        Step::Register {
            runner: number,
            home,
            seen,
            lost_after,
            able,
        } => {
            let runner = runner(*number);
            let register = Register {
                runner: runner.clone(),
                home: HomeId::new(format!("h{home}")),
                seen: incarnation(ledger, &runner, *seen),
                lost_after: Period::seconds(*lost_after),
                capabilities: capabilities(*able),
            };
            Call::Register(runner, register)
        }
        Step::Beat {
            runner: number,
            home,
            incarnation: delta,
            held,
            honest,
        } => {
            let runner = runner(*number);
            let record = ledger.runners.get(&runner);
            let known = record.filter(|_| *honest).map(|it| it.home.clone());
            let held = held.iter().map(|it| HeldTask {
                task: self::held(ledger, it),
                epoch: epoch(ledger, it),
                acknowledged: Version(0),
            });
            let mut held: Vec<_> = held.collect();
            if *honest {
                let owned = ledger
                    .tasks
                    .iter()
                    .filter(|(_, it)| it.holder.as_ref() == Some(&runner));
                held.extend(owned.map(|(id, it)| HeldTask {
                    task: id.clone(),
                    epoch: it.epoch,
                    acknowledged: Version(0),
                }));
            }
            let beat = Beat {
                home: known.unwrap_or_else(|| HomeId::new(format!("h{home}"))),
                incarnation: incarnation(ledger, &runner, *delta),
                held,
                free: 0,
                parked: [].into(),
                activity: Json::null(),
            };
            Call::Beat(runner, beat)
        }
        Step::Work {
            runner: number,
            incarnation: delta,
            free,
            parked,
        } => {
            let runner = runner(*number);
            let parked = parked.then(|| harness("claude"));
            let work = WorkRequest {
                incarnation: incarnation(ledger, &runner, *delta),
                free: *free,
                parked: parked.into_iter().collect(),
            };
            Call::Work(runner, work)
        }
        Step::Append(shipments) => {
            let caller = caller(ledger, &shipments[0].by);
            let tasks = shipments.iter().map(|it| append(ledger, shipped, it));
            Call::Append(
                caller,
                Append {
                    tasks: tasks.collect(),
                },
            )
        }
        Step::GiveBack { by, rest } => {
            let rest = match rest {
                0 => Rest::Offered,
                1 => Rest::Idle,
                _ => {
                    let held = ledger.tasks.get(&held(ledger, by));
                    let since = held.map(|it| it.since).unwrap_or_default();
                    Rest::Paused {
                        until: since + Period::seconds(60),
                    }
                }
            };
            let call = GiveBack {
                task: held(ledger, by),
                epoch: epoch(ledger, by),
                rest,
            };
            Call::GiveBack(caller(ledger, by), call)
        }
        Step::Adopt {
            by,
            incarnation: delta,
            held,
        } => {
            let runner = caller(ledger, by);
            let seen = epoch(ledger, by);
            let id = self::held(ledger, by);
            let held = held.map(|it| match it {
                0 => seen,
                1 => seen.next(),
                2 => Epoch(Epoch::compose(ledger.timeline, 0).0 - 1),
                _ => Epoch(u64::MAX),
            });
            let adopt = Adopt {
                task: id,
                incarnation: incarnation(ledger, &runner, *delta),
                seen,
                held,
            };
            Call::Adopt(runner, adopt)
        }
        Step::SaveWip { by, number } => {
            let wip = Wip {
                epoch: epoch(ledger, by),
                number: *number,
                base: "b".to_owned(),
                bundle: "aGk=".to_owned(),
                document: format!("# Task\0 {number}"),
                imported: (*number > 1).then(|| Sha::of(b"imported")),
            };
            Call::SaveWip(caller(ledger, by), held(ledger, by), wip)
        }
        Step::AnswerMail { by, mail } => {
            let answer = MailAnswer {
                task: held(ledger, by),
                epoch: epoch(ledger, by),
                answer: event(by.task),
            };
            Call::AnswerMail(caller(ledger, by), any_mail(ledger, *mail), answer)
        }
        Step::Create(creation) => Call::Create(create(ledger, shipped, creation)),
        Step::Post {
            person,
            task: number,
            key,
        } => Call::Post(
            PersonId::new(format!("p{person}")),
            task(*number),
            PostRequest {
                key: RequestKey::new(format!("k{key}")),
                ask: event(*key),
            },
        ),
        Step::Request(mail) => Call::Request(any_mail(ledger, *mail)),
        Step::View { task: number } => Call::View(task(*number)),
        Step::Changes { since, most } => {
            let points = usize::try_from(ledger.sequence).unwrap() + 1;
            let since = u64::try_from(since.index(points)).unwrap();
            Call::Changes { since, most: *most }
        }
        Step::Text { text: number } => Call::Text(text(*number).sha),
    })
}

fn incarnation(ledger: &Ledger, runner: &RunnerId, delta: i64) -> Incarnation {
    let record = ledger.runners.get(runner);
    let current = record.map(|it| it.incarnation).unwrap_or_default();
    Incarnation(current.0.saturating_add_signed(delta))
}

fn capabilities(number: u8) -> Capabilities {
    let all = Capabilities {
        format: Format(2),
        projects: [project(0), project(1)].into(),
        harnesses: [harness("claude"), harness("codex")].into(),
        labels: [Label::new("integrator")].into(),
    };
    match number {
        0 => all,
        1 => Capabilities {
            format: Format(1),
            ..all
        },
        2 => Capabilities {
            projects: [project(0)].into(),
            ..all
        },
        3 => Capabilities {
            harnesses: [harness("claude")].into(),
            ..all
        },
        _ => Capabilities {
            labels: [].into(),
            ..all
        },
    }
}

/// The task that a caller says it holds.
fn held(ledger: &Ledger, by: &Holding) -> TaskId {
    let held = ledger.tasks.iter().filter(|(_, it)| it.owner.is_some());
    let held: Vec<_> = held.map(|(id, _)| id).collect();
    if by.is_held && !held.is_empty() {
        held[usize::from(by.task) % held.len()].clone()
    } else {
        task(by.task)
    }
}

fn caller(ledger: &Ledger, by: &Holding) -> RunnerId {
    let record = ledger.tasks.get(&held(ledger, by));
    match by.runner {
        Caller::Runner(number) => runner(number),
        Caller::Holder => record
            .and_then(|it| it.holder.clone())
            .unwrap_or_else(|| runner(0)),
    }
}

fn epoch(ledger: &Ledger, by: &Holding) -> Epoch {
    let record = ledger.tasks.get(&held(ledger, by));
    let current = record.map(|it| it.epoch).unwrap_or_default();
    match by.epoch {
        NamedEpoch::Current => current,
        NamedEpoch::Before => Epoch(current.0.saturating_sub(1)),
        NamedEpoch::After => current.next(),
        NamedEpoch::Zero => Epoch(0),
        NamedEpoch::Forgotten => Epoch(Epoch::compose(ledger.timeline, 0).0 - 1),
    }
}

/// Mail of any task, and once in a while mail that there is not.
fn any_mail(ledger: &Ledger, index: Index) -> MailId {
    let all: Vec<_> = ledger.mail.keys().collect();
    let at = index.index(all.len() + 1);
    all.get(at)
        .map_or_else(|| MailId::new("t0-1-99"), |it| (*it).clone())
}

/// Open mail of the task, mostly.
fn some_request(ledger: &Ledger, id: &TaskId, index: Index) -> Option<MailId> {
    let open = ledger
        .mail
        .iter()
        .filter(|(_, it)| it.task == *id && it.is_open());
    let open: Vec<_> = open.map(|(id, _)| id).collect();
    if open.is_empty() {
        return (index.index(8) == 0).then(|| any_mail(ledger, index));
    }
    match index.index(open.len() + 1) {
        at if at < open.len() => Some(open[at].clone()),
        _ => Some(any_mail(ledger, index)),
    }
}

fn grow(chain: &mut Vec<Commit>, fresh: &Fresh, request: Option<MailId>) {
    let previous = chain.last().map(Commit::head).unwrap_or_default();
    let events = fresh.events.iter().map(|it| event(*it)).collect();
    let texts = fresh.texts.iter().map(|it| text(*it).sha).collect();
    chain.extend(Commit::new(previous, events, texts, request));
}

fn named(commits: &[Commit]) -> Vec<Text> {
    let all = (0..4).map(text);
    let is_named = |it: &Text| commits.iter().any(|commit| commit.texts.contains(&it.sha));
    // A text that no commit names comes along once in a while.
    all.filter(|it| is_named(it) || commits.len() == 3)
        .collect()
}

fn append(ledger: &Ledger, shipped: &mut Shipped, it: &Shipment) -> TaskAppend {
    let id = held(ledger, &it.by);
    let record = ledger.tasks.get(&id);
    let log = record.map(|it| it.log.iter().map(|row| row.commit.clone()).collect());
    let mut chain: Vec<Commit> = match shipped.get(&id) {
        Some(shipped) if it.from_shipped => shipped.clone(),
        _ => log.unwrap_or_default(),
    };
    let known = chain.len().saturating_sub(it.repeated);
    for fresh in &it.fresh {
        let request = fresh
            .request
            .and_then(|index| some_request(ledger, &id, index));
        grow(&mut chain, fresh, request);
    }
    shipped.insert(id.clone(), chain.clone());
    let mut commits = chain.split_off(known);
    let base = chain.last().map(Commit::head).unwrap_or_default();
    let mut base = base.version;
    match it.flaw {
        Flaw::None => {}
        Flaw::LowBase => base = Version(base.0.saturating_sub(1)),
        Flaw::HighBase => base = base.next(),
        Flaw::Gap => drop(commits.drain(..commits.len().min(1))),
        Flaw::FirstForged => {
            let other = Sha::of(b"other");
            commits
                .first_mut()
                .into_iter()
                .for_each(|it| it.sha = other);
        }
        Flaw::LastForged => {
            commits
                .last_mut()
                .into_iter()
                .for_each(|it| it.events.reverse());
            commits
                .last_mut()
                .into_iter()
                .for_each(|it| it.texts.push(Sha::of(b"more")));
        }
        Flaw::WrongCount => {
            commits
                .last_mut()
                .into_iter()
                .for_each(|it| it.last = it.last.next());
        }
        Flaw::Empty => commits.clear(),
    }
    TaskAppend {
        task: id,
        epoch: epoch(ledger, &it.by),
        base,
        texts: named(&commits),
        commits,
        summary: Summary {
            status: ["open", "busy", "over \"it\""][usize::from(it.status % 3)].to_owned(),
            ended: it.ended,
            shown: event(it.status),
        },
    }
}

fn create(ledger: &Ledger, shipped: &mut Shipped, it: &Creation) -> CreateTask {
    let id = task(it.task);
    let mut commits = Vec::new();
    for fresh in &it.commits {
        let request = fresh
            .request
            .and_then(|index| some_request(ledger, &id, index));
        grow(&mut commits, fresh, request);
    }
    if !ledger.tasks.contains_key(&id) {
        shipped.insert(id.clone(), commits.clone());
    }
    if !it.is_chain {
        commits.reverse();
        commits
            .first_mut()
            .into_iter()
            .for_each(|it| it.sha = Head::default().sha);
    }
    let labels = (it.needs == 1).then(|| Label::new("integrator"));
    let harnesses: &[&str] = if it.needs == 2 {
        &["codex", "claude"]
    } else {
        &["claude"]
    };
    CreateTask {
        task: id,
        needs: Needs {
            format: Format(if it.needs == 3 { 2 } else { 1 }),
            project: project(it.project),
            harnesses: harnesses.iter().map(|it| harness(it)).collect(),
            labels: labels.into_iter().collect(),
        },
        priority: it.priority,
        after: it.after.iter().map(|it| task(*it)).collect(),
        parent: it.parent.map(task),
        texts: named(&commits),
        commits,
        summary: Summary {
            status: "open".to_owned(),
            ended: it.ended,
            shown: Json::null(),
        },
    }
}

/// The claim that a restored database has lost.
pub fn lose_claim(ledger: &mut Ledger, number: u8) -> Option<TaskId> {
    let id = task(number);
    let record = ledger.tasks.get_mut(&id)?;
    record.owner.take()?;
    record.epoch = Epoch(record.epoch.0 - 1);
    Some(id)
}

pub fn later(now: Timestamp, seconds: i64) -> Timestamp {
    Timestamp(now.0.saturating_add_signed(seconds * 1000))
}
