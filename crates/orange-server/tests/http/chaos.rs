//! Killed servers, a faulty network, lost machines: nothing acknowledged is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use orange_config::clock::Deadline;
use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{Epoch, MailId, TaskId};
use orange_fleet::message::{Changes, RequestState, RequestStatus, TaskState, TaskView};
use orange_server::TlsSetting;
use orange_server::access::Role;

use crate::client::Client;
use crate::cluster::Cluster;
use crate::proxy::Proxy;
use crate::servers::{Running, ask, create, first_admin, person, runner};
use crate::sim::{History, LAST, Sim, wait_until};

const DATABASE: &str = "ORANGE_TEST_DATABASE";
const SERVERS: usize = 3;
const RUNNERS: usize = 50;
const LOST_MACHINES: usize = 8;
const TASKS: usize = 60;

/// How many machines lose the network for longer than their lease.
const CUT_OFF: usize = 6;

/// Rounds of two seconds, at the end of which a server is killed.
const ROUNDS: usize = 6;
/// The same for the control.
const FEW_ROUNDS: usize = 2;

/// What a run leads to.
struct Outcome {
    log: Log,
    history: History,
    tasks: Vec<TaskId>,
    requests: BTreeMap<MailId, TaskId>,
    decided: BTreeMap<MailId, RequestState>,
    faults: u64,
}

/// A server in a process of its own, so that it can be killed.
struct ServerProcess {
    child: Child,
    address: SocketAddr,
    /// The process ends when this is closed, and so does not outlive the test.
    _stdin: Option<ChildStdin>,
}

impl ServerProcess {
    fn start(database: &str) -> Self {
        let own = env::current_exe().unwrap();
        let mut child = Command::new(own)
            .args([
                "--exact",
                "chaos::a_server_process",
                "--ignored",
                "--nocapture",
            ])
            .env(DATABASE, database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut addresses = lines.map_while(Result::ok).filter_map(|line| {
            let (_, address) = line.split_once("listens on ")?;
            address.trim().parse().ok()
        });
        let address = addresses.next().expect("the server says where it listens");
        let stdin = child.stdin.take();
        Self {
            child,
            address,
            _stdin: stdin,
        }
    }
}

impl Drop for ServerProcess {
    /// As `kill -9` does.
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Not a test: what `ServerProcess` runs.
#[test]
#[ignore = "a process of the other test"]
fn a_server_process() {
    let Ok(database) = env::var(DATABASE) else {
        return;
    };
    let running = Running::start(&database, TlsSetting::Off);
    println!("listens on {}", running.address);
    let _closed = std::io::stdin().read_to_end(&mut Vec::new());
}

#[test]
fn nothing_acknowledged_is_lost_when_servers_are_killed_and_calls_are_cut() {
    let outcome = run(ROUNDS, true);
    let (log, history) = (&outcome.log, &outcome.history);
    check_log(log, &outcome.tasks);
    check_acknowledged(log, history);
    let unplanned = unplanned(log, history);
    assert!(
        unplanned.is_empty(),
        "effects without a plan: {unplanned:?}"
    );
    check_requests(log, &outcome.requests, &outcome.decided);
    println!(
        "{} commits acknowledged, {} effects, {} takeovers, {} adoptions, {} fenced, {} faults of the network, {ROUNDS} servers killed, {} requests",
        history.acknowledged.len(),
        history.effects.len(),
        history.takeovers,
        history.adoptions,
        history.fenced,
        outcome.faults,
        outcome.requests.len(),
    );
    let is_chaos = outcome.faults > 0 && history.takeovers > 0;
    assert!(is_chaos, "nothing went wrong");
}

#[test]
fn without_waiting_for_the_log_effects_have_no_plan() {
    let outcome = run(FEW_ROUNDS, false);
    let unplanned = unplanned(&outcome.log, &outcome.history);
    assert!(!unplanned.is_empty(), "the check finds nothing");
}

#[expect(clippy::too_many_lines, reason = "one run, from its setup to its end")]
fn run(rounds: usize, is_gated: bool) -> Outcome {
    let cluster = Cluster::start();
    let url = cluster.url();
    let mut servers: Vec<_> = (0..SERVERS).map(|_| ServerProcess::start(&url)).collect();
    let numbered = (1_u64..).zip(&servers);
    let proxies: Vec<_> = numbered
        .map(|(number, it)| Proxy::start(it.address, 0x9E37_79B9_7F4A_7C15 ^ number))
        .collect();
    let addresses: Vec<_> = proxies.iter().map(|it| it.address).collect();

    let mut check = Running::start(&url, TlsSetting::Off);
    let admin = first_admin(check.address, &url);
    let ann = person(&admin, "ann", "coffee", Role::Operate);
    let history = Arc::new(Mutex::new(History::default()));
    let sims: Vec<_> = (0..RUNNERS)
        .map(|number| {
            let name = format!("runner-{number}");
            let mut client = runner(&admin, &name);
            client.address = addresses[number % addresses.len()];
            let mut sim = Sim::new(&name, client, addresses.clone(), Arc::clone(&history));
            sim.is_gated = is_gated;
            Arc::new(sim)
        })
        .collect();
    let tasks: Vec<TaskId> = (0..TASKS)
        .map(|it| TaskId::new(format!("task-{it}")))
        .collect();
    // Half of the tasks are there before the runners, half come in the midst of it.
    for task in &tasks[..TASKS / 2] {
        create(&ann, task.as_str());
    }
    let threads: Vec<_> = sims
        .iter()
        .map(|sim| {
            let sim = Arc::clone(sim);
            thread::spawn(move || sim.run())
        })
        .collect();
    for proxy in &proxies {
        proxy.set_faulty(true);
    }

    let mut requests = BTreeMap::new();
    let mut later = tasks[TASKS / 2..].iter();
    let mut cut_off = Vec::new();
    for round in 0..rounds {
        for task in later.by_ref().take(TASKS / 2 / rounds) {
            create(&ann, task.as_str());
        }
        // Requests through the faulty way, each repeated until it is answered.
        for number in 0..5 {
            let task = &tasks[(round * 5 + number) % (TASKS / 2)];
            let through = Client {
                address: addresses[number % addresses.len()],
                ..ann.clone()
            };
            let id = insist(&through, task, &format!("{round}-{number}"));
            requests.insert(id, task.clone());
        }
        if round == 0 {
            cut_off = cut(&sims);
        }
        thread::sleep(Duration::from_secs(2));
        // A server is killed, and another one takes its place.
        let victim = round % SERVERS;
        servers[victim] = ServerProcess::start(&url);
        proxies[victim].lead_to(servers[victim].address);
        // Machines are lost for good.
        for sim in sims
            .iter()
            .skip(round)
            .step_by(rounds)
            .take(LOST_MACHINES / rounds + 1)
        {
            sim.stopped.store(true, Ordering::Relaxed);
        }
    }
    for proxy in &proxies {
        proxy.set_faulty(false);
    }
    // The leases of those that were cut off end, and others get their tasks.
    for (sim, task, epoch) in &cut_off {
        wait_until("a task is taken from one that is cut off", || {
            let held = TaskState::Held {
                runner: sim.id.clone(),
                epoch: *epoch,
            };
            state(&ann, task).is_some_and(|it| it != held)
        });
    }
    for (sim, ..) in &cut_off {
        sim.cut_off.store(false, Ordering::Relaxed);
    }

    // F8: without further faults every task ends and every request is decided.
    let mut open: BTreeSet<TaskId> = tasks.iter().cloned().collect();
    wait_until("all tasks end", || {
        open.retain(|task| state(&ann, task) != Some(TaskState::Ended));
        open.is_empty()
    });
    let mut decided = BTreeMap::new();
    wait_until("all requests are decided", || {
        for id in requests.keys() {
            if !decided.contains_key(id) {
                let reply = ann.get(&format!("/v1/requests/{id}"));
                if reply.status == 200 {
                    let state: RequestState = reply.read();
                    if state.status != RequestStatus::Open {
                        decided.insert(id.clone(), state);
                    }
                }
            }
        }
        decided.len() == requests.len()
    });

    // The runners end first: what they have heard by then is what counts.
    for sim in &sims {
        sim.stopped.store(true, Ordering::Relaxed);
    }
    servers.clear();
    for thread in threads {
        thread.join().unwrap();
    }
    let faults = proxies.iter().map(Proxy::faults).sum();
    let log = read_log(&ann);
    check.stop();
    let history = std::mem::take(&mut *history.lock().unwrap());
    Outcome {
        log,
        history,
        tasks,
        requests,
        decided,
        faults,
    }
}

/// Cuts off some machines that have work to do, and will have decided more than they can ship.
fn cut(sims: &[Arc<Sim>]) -> Vec<(Arc<Sim>, TaskId, Epoch)> {
    let mut found = Vec::new();
    wait_until("runners work", || {
        for sim in sims {
            let held = sim.held();
            let early = held.into_iter().find(|(task, _)| {
                let last = sim.local(task).last().map(|it| it.last);
                last.is_some_and(|it| it.0 + 4 <= LAST.0)
            });
            let is_new = !sim.cut_off.load(Ordering::Relaxed) && found.len() < CUT_OFF;
            if let Some((task, epoch)) = early.filter(|_| is_new) {
                sim.cut_off.store(true, Ordering::Relaxed);
                found.push((Arc::clone(sim), task, epoch));
            }
        }
        found.len() == CUT_OFF
    });
    found
}

/// Asks until it is answered. The key makes it one request.
fn insist(person: &Client, task: &TaskId, key: &str) -> MailId {
    let body = serde_json::to_string(&ask("tell", key)).unwrap();
    let path = format!("/v1/tasks/{task}/requests");
    let mut found = None;
    let is_answered = Deadline::after(Duration::from_mins(1)).wait_for(|| {
        let reply = person.call("POST", &path, &body);
        found = reply.ok().filter(|it| it.status == 200);
        found.is_some()
    });
    assert!(is_answered);
    found.unwrap().read::<RequestState>().id
}

fn state(person: &Client, task: &TaskId) -> Option<TaskState> {
    let reply = person.get(&format!("/v1/tasks/{task}"));
    (reply.status == 200).then(|| reply.read::<TaskView>().state)
}

type Log = BTreeMap<TaskId, Vec<(Epoch, Commit)>>;

/// The whole feed, page by page.
fn read_log(person: &Client) -> Log {
    let mut log = Log::new();
    let mut since = 0;
    loop {
        let page: Changes = person.get(&format!("/v1/changes?since={since}")).read();
        if page.rows.is_empty() {
            return log;
        }
        since = page.next;
        for row in page.rows {
            log.entry(row.task)
                .or_default()
                .push((row.epoch, row.commit));
        }
    }
}

/// F1: no gap, no fork, and epochs never fall. That the feed skips nothing is shown too.
fn check_log(log: &Log, tasks: &[TaskId]) {
    assert_eq!(log.keys().collect::<BTreeSet<_>>(), tasks.iter().collect());
    for (task, rows) in log {
        let mut head = Head::default();
        let mut last = Epoch(0);
        for (epoch, commit) in rows {
            assert!(commit.follows(head), "{task}: a gap after {head:?}");
            assert!(*epoch >= last, "{task}: an epoch fell");
            head = commit.head();
            last = *epoch;
        }
    }
}

fn heads(log: &Log) -> BTreeSet<(TaskId, Head)> {
    let rows = log.iter().flat_map(|(task, rows)| {
        let heads = rows.iter().map(|(_, commit)| commit.head());
        heads.map(|head| (task.clone(), head))
    });
    rows.collect()
}

/// F2: what was acknowledged is in the log.
fn check_acknowledged(log: &Log, history: &History) {
    let heads = heads(log);
    let lost: Vec<_> = history.acknowledged.difference(&heads).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert_eq!(history.halted, 0, "a home and the log disagree");
}

/// F3: effects whose plan is not in the log.
fn unplanned(log: &Log, history: &History) -> Vec<(TaskId, Head)> {
    let heads = heads(log);
    history.effects.difference(&heads).cloned().collect()
}

/// F5: each request is decided by exactly one commit.
fn check_requests(
    log: &Log,
    requests: &BTreeMap<MailId, TaskId>,
    decided: &BTreeMap<MailId, RequestState>,
) {
    for (id, task) in requests {
        let commits = log[task].iter().map(|(_, commit)| commit);
        let naming: Vec<&Commit> = commits
            .filter(|it| it.request.as_ref() == Some(id))
            .collect();
        assert_eq!(naming.len(), 1, "{id} of {task}");
        assert_eq!(decided[id].version, Some(naming[0].last), "{id}");
    }
    let named = log.values().flatten();
    let named = named.filter(|(_, commit)| commit.request.is_some()).count();
    assert_eq!(named, requests.len());
}
