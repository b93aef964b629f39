//! Any history has the same answers and rows as in the reference.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use orange_fleet::ids::{OrgId, TaskId, Timeline};
use orange_fleet::ledger::{Ledger, LedgerTerms};
use orange_fleet::message::{AppendResult, BeatAnswer, Changes, HoldingAnswer, MailResult};
use orange_fleet::time::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use tokio::runtime::Runtime;

use crate::calls::{self, Call, Shipped};
use crate::fixture::{self, Fixture};
use crate::histories::{Step, histories};
use crate::rows;

/// The shortest history that was found to be answered differently.
type Difference = TestError<Vec<(bool, Step)>>;

/// What the drawn histories have seen, so that a law is not kept because nothing happens.
pub type Seen = BTreeMap<&'static str, u64>;

struct Comparison<'a> {
    fixture: &'a Fixture,
    now: Timestamp,
    ledgers: [Ledger; 2],
    shipped: [Shipped; 2],
    /// The places in the feed of each organisation, in its order.
    places: [Vec<u64>; 2],
    made: Vec<(usize, Call)>,
    seen: &'a mut Seen,
}

const CLEAR: &str = "
    delete from orange.runner; delete from orange.pool; delete from orange.task;
    delete from orange.log; delete from orange.body; delete from orange.mail;
    delete from orange.dependency; delete from orange.wip;
    update public.clock set now = 1000000, timeline = 1;
    update orange.coordinator set timeline = 1, up_since = 0, last_mark = 0, claims_from = 0;
";

impl<'a> Comparison<'a> {
    async fn begin(fixture: &'a Fixture, seen: &'a mut Seen) -> Self {
        fixture.client.batch_execute(CLEAR).await.unwrap();
        let ledger = |name: &str| {
            let mut ledger = Ledger::new(OrgId::new(name), LedgerTerms::default());
            ledger.timeline = Timeline(1);
            ledger
        };
        Self {
            fixture,
            now: Timestamp(1_000_000),
            ledgers: [ledger("a"), ledger("b")],
            shipped: [Shipped::new(), Shipped::new()],
            places: [Vec::new(), Vec::new()],
            made: Vec::new(),
            seen,
        }
    }

    async fn take(&mut self, at: usize, step: &Step) {
        let database = &self.fixture.database;
        match step {
            Step::Clock(seconds) => {
                self.now = calls::later(self.now, *seconds);
                let now = i64::try_from(self.now.0).unwrap();
                let sql = "update public.clock set now = $1";
                self.fixture.client.execute(sql, &[&now]).await.unwrap();
            }
            Step::Mark => {
                assert!(database.mark().await.unwrap());
                self.ledgers.iter_mut().for_each(|it| it.mark(self.now));
            }
            Step::Reap => {
                let owned = |ledgers: &[Ledger; 2]| {
                    let tasks = ledgers.iter().flat_map(|it| it.tasks.values());
                    u64::try_from(tasks.filter(|it| it.owner.is_some()).count()).unwrap()
                };
                let before = owned(&self.ledgers);
                for ledger in &mut self.ledgers {
                    ledger.mark(self.now);
                    ledger.reap(self.now);
                }
                let released = before - owned(&self.ledgers);
                assert_eq!(database.reap().await.unwrap(), Some(released));
                *self.seen.entry("released").or_default() += released;
            }
            Step::Restore { task } => self.restore(*task).await,
            Step::Again(index) => {
                if !self.made.is_empty() {
                    let (at, call) = index.get(&self.made).clone();
                    self.make(at, &call).await;
                }
            }
            _ => {
                let call = calls::call(step, &self.ledgers[at], &mut self.shipped[at]).unwrap();
                self.made.push((at, call.clone()));
                self.make(at, &call).await;
            }
        }
    }

    /// The database begins a new timeline, and has lost the claim of a task.
    async fn restore(&mut self, task: u8) {
        for ledger in &mut self.ledgers {
            ledger.restored(self.now);
            if let Some(id) = calls::lose_claim(ledger, task) {
                let sql = "update orange.task set incarnation = null, epoch = epoch - 1
                           where org = $1 and id = $2";
                let parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)] =
                    &[&ledger.org.as_str(), &id.as_str()];
                self.fixture.client.execute(sql, parameters).await.unwrap();
            }
        }
        let sql = "update public.clock set timeline = timeline + 1";
        self.fixture.client.execute(sql, &[]).await.unwrap();
        assert!(self.fixture.database.mark().await.unwrap());
    }

    fn note(&mut self, what: &'static str, count: usize) {
        *self.seen.entry(what).or_default() += u64::try_from(count).unwrap();
    }

    async fn make(&mut self, at: usize, call: &Call) {
        let database = &self.fixture.database;
        let (ledger, now) = (&mut self.ledgers[at], self.now);
        let org = ledger.org.clone();
        match call {
            Call::Register(runner, call) => {
                let answer = database.register(&org, runner, call).await.unwrap();
                assert_eq!(answer, ledger.register(now, call), "{call:?}");
            }
            Call::Beat(runner, call) => {
                let answer = database.beat(&org, runner, call).await.unwrap();
                assert_eq!(answer, ledger.beat(now, runner, call), "{call:?}");
                if let BeatAnswer::Alive { lost, yours, .. } = answer {
                    self.note("lost", lost.len());
                    self.note("yours", yours.len());
                }
            }
            Call::Work(runner, call) => {
                let answer = database.work(&org, runner, call).await.unwrap();
                assert_eq!(answer, ledger.work(now, runner, call), "{call:?}");
                self.note("claims", answer.claims.len());
                self.note("mail", answer.mail.len());
            }
            Call::Append(runner, call) => {
                let answer = database.append(&org, runner, call).await.unwrap();
                assert_eq!(answer, ledger.append(now, runner, call), "{call:?}");
                for result in &answer.tasks {
                    let name = match result.result {
                        AppendResult::Ok { .. } => "appended",
                        AppendResult::Fenced => "fenced",
                        AppendResult::Behind { .. } => "behind",
                        AppendResult::Conflict => "conflict",
                    };
                    self.note(name, 1);
                }
            }
            Call::GiveBack(runner, call) => {
                let answer = database.give_back(&org, runner, call).await.unwrap();
                assert_eq!(answer, ledger.give_back(now, runner, call), "{call:?}");
                self.note("given back", usize::from(answer == HoldingAnswer::Ok));
            }
            Call::Adopt(runner, call) => {
                let answer = database.adopt(&org, runner, call).await.unwrap();
                assert_eq!(answer, ledger.adopt(runner, call), "{call:?}");
                self.note("adopted", usize::from(answer.claim.is_some()));
            }
            Call::SaveWip(runner, task, wip) => {
                let answer = database.save_wip(&org, runner, task, wip).await.unwrap();
                assert_eq!(answer, ledger.save_wip(runner, task, wip), "{wip:?}");
                self.note("saved", usize::from(answer == HoldingAnswer::Ok));
            }
            Call::AnswerMail(runner, mail, call) => {
                let answer = database
                    .answer_mail(&org, runner, mail, call)
                    .await
                    .unwrap();
                assert_eq!(answer, ledger.answer_mail(runner, mail, call), "{call:?}");
                self.note("answered", usize::from(answer == MailResult::Ok));
            }
            Call::Create(call) => {
                let answer = database.create(&org, call).await.unwrap();
                assert_eq!(answer, ledger.create(now, call), "{call:?}");
            }
            Call::Post(person, task, call) => {
                let answer = database.post(&org, person, task, call).await.unwrap();
                assert_eq!(answer, ledger.post(person, task, call), "{call:?}");
            }
            Call::Request(mail) => {
                let answer = database.request(&org, mail).await.unwrap();
                let record = ledger.mail.get(mail);
                let project = record.map(|it| ledger.tasks[&it.task].needs.project.clone());
                assert_eq!(answer.as_ref().map(|it| it.project.clone()), project);
                let from = record.map(|it| (it.task.clone(), it.from.clone()));
                let stored = answer.as_ref().map(|it| (it.task.clone(), it.from.clone()));
                assert_eq!(stored, from);
                assert_eq!(answer.map(|it| it.state), ledger.request(mail), "{mail}");
            }
            Call::View(task) => {
                let answer = database.view(&org, task).await.unwrap();
                assert_eq!(answer, ledger.view(now, task), "{task}");
            }
            Call::Changes { since, most } => self.compare_changes(at, *since, *most).await,
            Call::Text(sha) => {
                let answer = database.text(&org, None, sha).await.unwrap();
                let mut stored = ledger.texts.iter();
                let stored = stored.find(|((_, it), _)| it == sha);
                assert_eq!(
                    answer.as_ref(),
                    stored.map(|(_, content)| content),
                    "{sha:?}"
                );
            }
        }
    }

    /// The reference counts commits, and the database has places: the n-th is the n-th.
    async fn compare_changes(&mut self, at: usize, since: u64, most: u32) {
        self.read_places(at).await;
        let ledger = &self.ledgers[at];
        let expected = ledger.changes(since, usize::try_from(most).unwrap());
        let place = |count: u64| match usize::try_from(count).unwrap() {
            0 => 0,
            count => self.places[at][count - 1],
        };
        let expected = Changes {
            next: place(expected.next),
            rows: expected.rows,
        };
        let changes = self
            .fixture
            .database
            .changes(&ledger.org, None, place(since), most);
        assert_eq!(changes.await.unwrap(), expected);
    }

    async fn read_places(&mut self, at: usize) {
        let org = &self.ledgers[at].org;
        let sql = "select place from orange.log where org = $1 order by place";
        let rows = self
            .fixture
            .client
            .query(sql, &[&org.as_str()])
            .await
            .unwrap();
        let places = rows
            .iter()
            .map(|it| u64::try_from(it.get::<_, i64>(0)).unwrap());
        self.places[at] = places.collect();
    }

    async fn end(mut self) {
        for at in [0, 1] {
            let sequence = self.ledgers[at].sequence;
            self.compare_changes(at, 0, u32::MAX).await;
            let ledger = &self.ledgers[at];
            let rows = rows::ledger(&self.fixture.client, &ledger.org).await;
            assert_eq!(rows, *ledger);
            assert_eq!(rows.sequence, sequence);
            let expected = ledger.tasks.iter().map(|(id, task)| {
                let open = task
                    .after
                    .iter()
                    .filter(|it| ledger.tasks.get(*it).is_some_and(|it| !it.summary.ended));
                let mail = ledger
                    .mail
                    .values()
                    .filter(|it| it.task == *id && it.is_open());
                let counts = (open.count(), mail.count());
                let number = |it: usize| u64::try_from(it).unwrap();
                (id.clone(), (number(counts.0), number(counts.1)))
            });
            let expected: BTreeMap<TaskId, _> = expected.collect();
            assert_eq!(
                rows::counts(&self.fixture.client, &ledger.org).await,
                expected
            );
        }
    }
}

/// Compares so many histories, and ends at the first difference.
pub fn compare(
    runtime: &Runtime,
    fixture: &Fixture,
    config: ProptestConfig,
) -> (Result<(), Difference>, Seen) {
    let mut runner = TestRunner::new(config);
    let seen = RefCell::new(Seen::new());
    let result = runner.run(&histories(), |history| {
        let mut seen = seen.borrow_mut();
        let compared = AssertUnwindSafe(|| {
            runtime.block_on(async {
                let mut comparison = Comparison::begin(fixture, &mut seen).await;
                for (org, step) in &history {
                    comparison.take(usize::from(*org), step).await;
                }
                comparison.end().await;
            });
        });
        let ended = std::panic::catch_unwind(compared);
        ended.map_err(|_| TestCaseError::fail("the answers differ"))
    });
    (result, seen.into_inner())
}

/// `PROPTEST_CASES=10000` makes it a long run.
#[test]
fn laws_of_the_reference_hold_in_the_database() {
    let runtime = Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture::start_with_clock());
    let default = ProptestConfig::default();
    // A history has about seventy calls, so that the usual number of cases would take a minute.
    let cases = default.cases / 2;
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..default
    };
    let (result, seen) = compare(&runtime, &fixture, config);
    eprintln!("{cases} histories: {seen:?}");
    result.unwrap_or_else(|error| panic!("{error}"));
    for what in [
        "adopted",
        "answered",
        "appended",
        "behind",
        "conflict",
        "fenced",
        "given back",
        "released",
        "saved",
    ] {
        let count = seen.get(what).copied().unwrap_or_default();
        assert!(cases < 50 || count > 0, "no history has {what}");
    }
}
