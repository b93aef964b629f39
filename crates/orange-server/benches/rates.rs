//! Appends and claims per second, beside bare statements with the same bytes.
//!
//! Run with `cargo bench -p orange-server --bench rates`; `SECONDS=10` measures longer. It fails
//! when a rate is below half of the bare one, or a latency above its limit.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark measures time and prints what it measured"
)]

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use orange_fleet::capability::{Capabilities, Needs};
use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{
    Epoch, Format, HarnessName, HomeId, Incarnation, OrgId, ProjectId, RunnerId, TaskId,
};
use orange_fleet::json::Json;
use orange_fleet::message::{
    Append, AppendResult, CreateTask, Register, Summary, TaskAppend, WorkRequest,
};
use orange_fleet::time::Period;
use orange_server::database::Database;
use postgres_fixture::{Cluster, Fsync};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

const CLIENTS: usize = 16;
const ROUNDS: usize = 3;
const POOLS: usize = 10;
const QUEUE: usize = 60_000;
const EVENT_BYTES: usize = 780;
/// Calls per second while latencies are measured: of four calls, one is a claim.
const PACE: u64 = 200;

/// The same tables beside those of the product, filled by the same rows.
const BARE: &str = "
    create schema bare;
    create table bare.task (like orange.task including all);
    create table bare.log (like orange.log including all);
    insert into bare.log select * from orange.log;
    insert into bare.task (org, id, project, pool, priority, version, head_sha, bytes, epoch, holder,
        incarnation, since, status, ended, shown)
    select org, id, project, pool, priority, version, head_sha, bytes, epoch, holder,
        incarnation, since, status, ended, shown from orange.task;
    analyze;
";

/// The rest of the queue: copies of one task of each pool.
const FILL: &str = "
    insert into orange.task (org, id, project, pool, priority, version, head_sha, bytes, since,
        status, ended, shown)
    select t.org, t.id || '-' || n, t.project, t.pool, n % 7, t.version, t.head_sha, t.bytes,
        t.since + n, t.status, t.ended, t.shown
    from orange.task t, generate_series(1, $1::bigint) n where t.id like 'q%';
";

const FILL_LOG: &str = "
    insert into orange.log
    select l.org, l.task || '-' || n, l.first, l.last, l.epoch, l.sha, l.events, l.texts,
        l.request, -row_number() over (), l.at
    from orange.log l, generate_series(1, $1::bigint) n where l.task like 'q%'
";

const BARE_APPEND: &str = "
    with written as (
        insert into bare.log values ($1, $2, $3, $3, $4, $5, $6, '', null, $7, $8)
    )
    update bare.task set version = $3, head_sha = $5, bytes = bytes + 780, status = 'open',
        shown = 'null'
    where org = $1 and id = $2";

const BARE_CLAIM: &str = "
    update bare.task set epoch = epoch + 1, holder = $2, incarnation = 1, attempts = attempts + 1
    where org = $1 and id = (
        select id from bare.task
        where org = $1 and wakes is not null and pool = (
            select head.pool from unnest($3::bigint[]) as it (id)
            cross join lateral (
                select pool, returns, priority, since, id from bare.task
                where org = $1 and pool = it.id and wakes is not null
                order by returns desc, priority desc, since, id limit 1
            ) head
            order by head.returns desc, head.priority desc, head.since, head.id limit 1
        )
        order by returns desc, priority desc, since, id limit 1
        for no key update skip locked
    )
    returning id";

const BARE_LOG: &str = "select * from bare.log where org = $1 and task = $2 order by first";

fn org() -> OrgId {
    OrgId::new("o")
}

fn runner(number: usize) -> RunnerId {
    RunnerId::new(format!("r{number}"))
}

fn event(number: u64) -> Json {
    let text = "x".repeat(EVENT_BYTES - 30);
    Json::new(format!("{{\"n\":\"{number:012}\",\"t\":\"{text}\"}}")).unwrap()
}

fn summary() -> Summary {
    Summary {
        status: "open".to_owned(),
        ended: false,
        shown: Json::null(),
    }
}

fn creation(id: &str, project: &str) -> CreateTask {
    let commit = Commit::new(Head::default(), vec![event(0)], Vec::new(), None);
    CreateTask {
        task: TaskId::new(id),
        needs: Needs {
            format: Format(1),
            project: ProjectId::new(project),
            harnesses: [HarnessName::new("claude")].into(),
            labels: [].into(),
        },
        priority: 0,
        after: [].into(),
        parent: None,
        commits: commit.into_iter().collect(),
        texts: Vec::new(),
        summary: summary(),
    }
}

/// One task that its runner appends to.
struct Writer {
    runner: RunnerId,
    task: TaskId,
    epoch: Epoch,
    head: Head,
}

impl Writer {
    async fn append(&mut self, database: &Database) {
        let event = event(self.head.version.0);
        let commit = Commit::new(self.head, vec![event], Vec::new(), None).unwrap();
        let head = commit.head();
        let append = TaskAppend {
            task: self.task.clone(),
            epoch: self.epoch,
            base: self.head.version,
            commits: vec![commit],
            texts: Vec::new(),
            summary: summary(),
        };
        let call = Append {
            tasks: vec![append],
        };
        let answer = database.append(&org(), &self.runner, &call).await.unwrap();
        assert!(matches!(
            answer.tasks[0].result,
            AppendResult::Ok { version } if version == head.version
        ));
        self.head = head;
    }
}

async fn claim(database: &Database, runner: &RunnerId) {
    let work = WorkRequest {
        incarnation: Incarnation(1),
        free: 1,
        parked: [].into(),
    };
    let answer = database.work(&org(), runner, &work).await.unwrap();
    assert!(answer.claims.len() == 1, "the queue is empty");
    assert_eq!(answer.claims[0].commits.len(), 1);
}

/// Calls per second of all clients together.
async fn rate<C: AsyncFnMut()>(clients: impl Iterator<Item = C>) -> f64 {
    let seconds = std::env::var("SECONDS").ok().and_then(|it| it.parse().ok());
    let most = Duration::from_secs(seconds.unwrap_or(4));
    let begun = Instant::now();
    let count = Cell::new(0_u32);
    let count = &count;
    let running = clients.map(async |mut call| {
        while begun.elapsed() < most {
            call().await;
            count.set(count.get() + 1);
        }
    });
    join_all(running).await;
    f64::from(count.get()) / begun.elapsed().as_secs_f64()
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection, and what it does.
struct Bare {
    client: Client,
    append: Statement,
    claim: Statement,
    log: Statement,
}

struct Bench {
    database: Database,
    writers: Vec<Writer>,
    bare: Vec<Bare>,
    _cluster: Cluster,
}

impl Bench {
    async fn begin() -> Self {
        let cluster = Cluster::start(Fsync::On).unwrap();
        let database = Database::connect(&cluster.url(), CLIENTS).await.unwrap();
        database.migrate().await.unwrap();
        let mut writers = Vec::new();
        for number in 0..CLIENTS {
            let projects = (0..POOLS).map(|it| ProjectId::new(format!("p{it}")));
            let register = Register {
                runner: runner(number),
                home: HomeId::new(format!("h{number}")),
                seen: Incarnation(0),
                lost_after: Period::seconds(900),
                capabilities: Capabilities {
                    format: Format(1),
                    projects: projects.collect(),
                    harnesses: [HarnessName::new("claude")].into(),
                    labels: [].into(),
                },
            };
            let (org, name) = (org(), runner(number));
            database.register(&org, &name, &register).await.unwrap();
            let call = creation(&format!("w{number}"), "p0");
            database.create(&org, &call).await.unwrap();
            let work = WorkRequest {
                incarnation: Incarnation(1),
                free: 1,
                parked: [].into(),
            };
            let work = database.work(&org, &name, &work).await.unwrap();
            writers.push(Writer {
                runner: runner(number),
                task: work.claims[0].task.clone(),
                epoch: work.claims[0].epoch,
                head: work.claims[0].head,
            });
        }
        for number in 0..POOLS {
            let call = creation(&format!("q{number}"), &format!("p{number}"));
            database.create(&org(), &call).await.unwrap();
        }
        let (client, connection) = tokio_postgres::connect(&cluster.url(), NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let copies = i64::try_from(QUEUE / POOLS).unwrap();
        client.execute(FILL, &[&copies]).await.unwrap();
        client.execute(FILL_LOG, &[&copies]).await.unwrap();
        client.batch_execute(BARE).await.unwrap();
        let mut bare = Vec::new();
        for _ in 0..CLIENTS {
            let (client, connection) = tokio_postgres::connect(&cluster.url(), NoTls)
                .await
                .unwrap();
            tokio::spawn(connection);
            bare.push(Bare {
                append: client.prepare(BARE_APPEND).await.unwrap(),
                claim: client.prepare(BARE_CLAIM).await.unwrap(),
                log: client.prepare(BARE_LOG).await.unwrap(),
                client,
            });
        }
        Self {
            database,
            writers,
            bare,
            _cluster: cluster,
        }
    }

    async fn appends(&mut self) -> f64 {
        let database = &self.database;
        let writers = self.writers.iter_mut();
        rate(writers.map(|it| async move || it.append(database).await)).await
    }

    async fn claims(&self) -> f64 {
        let database = &self.database;
        let runners = (0..CLIENTS).map(runner);
        rate(runners.map(|it| async move || claim(database, &it).await)).await
    }

    async fn bare_appends(&self, round: usize) -> f64 {
        let clients = self.bare.iter().enumerate();
        let clients = clients.map(|(number, bare)| {
            let mut version = 1_000_000 * i64::try_from(round + 1).unwrap();
            async move || {
                version += 1;
                let place = version * 100 + i64::try_from(number).unwrap();
                let events = format!("[{}]", event(version.unsigned_abs()).as_str());
                let task = format!("w{number}");
                let sha = [0_u8; 32].as_slice();
                let parameters: Parameters<'_> = &[
                    &"o", &task, &version, &1_i64, &sha, &events, &place, &version,
                ];
                let written = bare.client.execute(&bare.append, parameters).await.unwrap();
                assert_eq!(written, 1);
            }
        });
        rate(clients).await
    }

    async fn bare_claims(&self, pools: &[i64]) -> f64 {
        let clients = self.bare.iter().enumerate();
        let clients = clients.map(|(number, bare)| {
            async move || {
                let holder = format!("r{number}");
                let parameters: Parameters<'_> = &[&"o", &holder, &pools];
                let rows = bare.client.query(&bare.claim, parameters).await.unwrap();
                let task: &str = rows[0].get(0);
                let log = bare.client.query(&bare.log, &[&"o", &task]).await.unwrap();
                assert_eq!(log.len(), 1);
            }
        });
        rate(clients).await
    }

    /// The slowest of a hundred calls, in milliseconds, when calls begin at a fixed pace.
    async fn latencies(&mut self) -> (f64, f64) {
        let every = Duration::from_micros(1_000_000 / PACE);
        let database = &self.database;
        let (appends, claims) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let begun = Instant::now();
        let clients = self
            .writers
            .iter_mut()
            .enumerate()
            .map(async |(number, writer)| {
                for turn in 0..150 {
                    let at = every * u32::try_from(turn * CLIENTS + number).unwrap();
                    tokio::time::sleep_until((begun + at).into()).await;
                    if (turn + number) % 4 == 0 {
                        claim(database, &writer.runner).await;
                        claims.borrow_mut().push(begun.elapsed().saturating_sub(at));
                    } else {
                        writer.append(database).await;
                        appends
                            .borrow_mut()
                            .push(begun.elapsed().saturating_sub(at));
                    }
                }
            });
        join_all(clients).await;
        let slow = |all: RefCell<Vec<Duration>>| {
            let mut all = all.into_inner();
            all.sort();
            all[all.len() * 99 / 100].as_secs_f64() * 1000.0
        };
        (slow(appends), slow(claims))
    }
}

fn verdict(name: &str, value: f64, limit: f64, is_good: bool) -> bool {
    let word = if is_good { "ok" } else { "MISSED" };
    println!("{name:<46} {value:>9.2}   limit {limit:>6.2}   {word}");
    is_good
}

#[tokio::main]
async fn main() {
    let build = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    println!("{build} build, {CLIENTS} clients, {QUEUE} queued tasks in {POOLS} pools, fsync on");
    let mut bench = Bench::begin().await;
    let rows = bench.bare[0]
        .client
        .query("select id from orange.pool", &[])
        .await
        .unwrap();
    let pools: Vec<i64> = rows.iter().map(|it| it.get(0)).collect();
    let mut rates: [Vec<f64>; 4] = Default::default();
    for round in 0..ROUNDS {
        rates[0].push(bench.appends().await);
        rates[1].push(bench.bare_appends(round).await);
        rates[2].push(bench.claims().await);
        rates[3].push(bench.bare_claims(&pools).await);
    }
    let [appends, bare_appends, claims, bare_claims] = rates.map(median);
    println!("appends per second: {appends:.0}, bare {bare_appends:.0}");
    println!("claims per second:  {claims:.0}, bare {bare_claims:.0}");
    let (append, claim) = bench.latencies().await;
    let share = |it: f64, bare: f64| it / bare;
    let results = [
        (
            "appends, as a share of bare ones",
            share(appends, bare_appends),
            0.5,
            true,
        ),
        (
            "claims, as a share of bare ones",
            share(claims, bare_claims),
            0.5,
            true,
        ),
        (
            "append, p99 in ms at 200 calls per second",
            append,
            20.0,
            false,
        ),
        (
            "claim, p99 in ms at 200 calls per second",
            claim,
            50.0,
            false,
        ),
    ];
    let results = results.map(|(name, value, limit, is_least)| {
        let is_good = if is_least {
            value >= limit
        } else {
            value <= limit
        };
        verdict(name, value, limit, is_good)
    });
    assert!(results.iter().all(|it| *it), "a limit was missed");
}
