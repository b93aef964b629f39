//! A simulated runner: the real link, a store in memory, and HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use orange_config::clock::{Deadline, since_boot};
use orange_fleet::capability::Capabilities;
use orange_fleet::chain::{Commit, Head, Sha};
use orange_fleet::ids::{
    Epoch, Format, HarnessName, HomeId, Incarnation, MailId, ProjectId, RunnerId, TaskId, Version,
};
use orange_fleet::json::Json;
use orange_fleet::link::{Directive, Gate, LeaseTerms, MailStep, RunnerLink, Takeover};
use orange_fleet::message::{
    AdoptAnswer, Append, AppendAnswer, AppendResult, Beat, BeatAnswer, Claim, HoldingAnswer, Mail,
    Register, RegisterAnswer, Rest, Summary, Want, WorkAnswer, WorkRequest,
};
use orange_fleet::time::{Period, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::Client;

/// What the checks at the end compare with the log.
#[derive(Debug, Default)]
pub struct History {
    /// Heads that the log has acknowledged.
    pub acknowledged: BTreeSet<(TaskId, Head)>,
    /// Effects that were started, by the commit that planned them.
    pub effects: BTreeSet<(TaskId, Head)>,
    pub halted: usize,
    pub takeovers: usize,
    pub adoptions: usize,
    pub fenced: usize,
}

/// How long a task is in this simulation, in events.
pub const LAST: Version = Version(8);

pub struct Sim {
    pub id: RunnerId,
    client: Mutex<Client>,
    /// The servers, in turn.
    addresses: Vec<SocketAddr>,
    home: Mutex<Home>,
    pub history: Arc<Mutex<History>>,
    pub stopped: AtomicBool,
    pub lost_after: Period,
    /// Whether nothing reaches the servers.
    pub cut_off: AtomicBool,
    /// Whether effects wait for the log, which they must.
    pub is_gated: bool,
    /// Whether the answer to the last beat wanted it drained.
    drained: AtomicBool,
}

/// What is on the disk of a runner.
struct Home {
    link: RunnerLink,
    local: BTreeMap<TaskId, Vec<Commit>>,
    started: BTreeSet<(TaskId, Version)>,
    beaten: Option<Timestamp>,
    turns: u64,
}

pub fn now() -> Timestamp {
    Timestamp(u64::try_from(since_boot().as_millis()).unwrap())
}

/// The summary after a commit: a task ends with its last event.
pub fn summary(commit: &Commit) -> Summary {
    Summary {
        status: format!("step-{}", commit.last),
        ended: commit.last >= LAST,
        shown: Json::null(),
    }
}

pub fn capabilities() -> Capabilities {
    Capabilities {
        format: Format(1),
        projects: [ProjectId::new("coffee")].into(),
        harnesses: [HarnessName::new("claude")].into(),
        labels: BTreeSet::new(),
    }
}

impl Sim {
    pub fn new(
        id: &str,
        client: Client,
        addresses: Vec<SocketAddr>,
        history: Arc<Mutex<History>>,
    ) -> Self {
        let terms = LeaseTerms {
            margin: Period::seconds(1),
            ..LeaseTerms::default()
        };
        let home = HomeId::new(format!("home-{id}"));
        Self {
            id: RunnerId::new(id),
            client: Mutex::new(client),
            addresses,
            home: Mutex::new(Home {
                link: RunnerLink::new(home, Incarnation(0), terms),
                local: BTreeMap::new(),
                started: BTreeSet::new(),
                beaten: None,
                turns: 0,
            }),
            history,
            stopped: AtomicBool::new(false),
            lost_after: Period::seconds(4),
            cut_off: AtomicBool::new(false),
            is_gated: true,
            drained: AtomicBool::new(false),
        }
    }

    fn home(&self) -> MutexGuard<'_, Home> {
        self.home.lock().unwrap()
    }

    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap()
    }

    /// A call; after an error the next one goes to the next server.
    fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> io::Result<T> {
        if self.cut_off.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::HostUnreachable.into());
        }
        let client = self.client.lock().unwrap().clone();
        let body = serde_json::to_string(body).unwrap();
        let answered = client.call(method, path, &body);
        let answered = answered.and_then(|reply| {
            if reply.status == 200 {
                return Ok(serde_json::from_str(&reply.body).unwrap());
            }
            let is_busy = matches!(reply.status, 429 | 503);
            assert!(is_busy, "{method} {path}: {} {}", reply.status, reply.body);
            Err(io::Error::other(reply.body))
        });
        if answered.is_err() {
            let mut client = self.client.lock().unwrap();
            let place = self.addresses.iter().position(|it| *it == client.address);
            let next = (place.unwrap() + 1) % self.addresses.len();
            client.address = self.addresses[next];
        }
        answered
    }

    /// Whether it is registered now.
    pub fn register(&self) -> bool {
        let (seen, home) = {
            let home = self.home();
            let Some(seen) = home.link.registration().due() else {
                return home.link.registration().current().is_some();
            };
            (seen, home.link.home().clone())
        };
        let call = Register {
            runner: self.id.clone(),
            home,
            seen,
            lost_after: self.lost_after,
            capabilities: capabilities(),
        };
        let sent = now();
        let answer: io::Result<RegisterAnswer> = self.call("POST", "/v1/runners", &call);
        let mut home = self.home();
        if let Ok(answer) = answer {
            home.link.register_answered(seen, sent, &answer);
        }
        home.link.registration().current().is_some()
    }

    /// Whether the beat was answered.
    pub fn beat(&self) -> bool {
        let (call, sent) = {
            let home = self.home();
            let Some(incarnation) = home.link.registration().current() else {
                return false;
            };
            let call = Beat {
                home: home.link.home().clone(),
                incarnation,
                held: home.link.held(),
                free: 1,
                parked: BTreeSet::new(),
                activity: Json::null(),
            };
            (call, now())
        };
        let path = format!("/v1/runners/{}/beat", self.id);
        let Ok(answer) = self.call::<BeatAnswer>("POST", &path, &call) else {
            return false;
        };
        if let BeatAnswer::Alive { want, .. } = &answer {
            self.drained.store(*want == Want::Drain, Ordering::Relaxed);
        }
        let mut home = self.home();
        home.beaten = Some(sent);
        let directives = home.link.beat_answered(call.incarnation, sent, &answer);
        for directive in directives {
            self.obey(&mut home, directive);
        }
        true
    }

    fn obey(&self, home: &mut Home, directive: Directive) {
        match directive {
            Directive::Drop { task, .. } => {
                self.history().fenced += 1;
                home.local.remove(&task);
            }
            Directive::Halt { .. } => self.history().halted += 1,
        }
    }

    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    pub fn held(&self) -> Vec<(TaskId, Epoch)> {
        let held = self.home().link.held().into_iter();
        held.map(|it| (it.task, it.epoch)).collect()
    }

    pub fn local(&self, task: &TaskId) -> Vec<Commit> {
        self.home().local.get(task).cloned().unwrap_or_default()
    }

    /// The process ends and starts again: everything but the disk is gone.
    pub fn restart(&self) {
        let mut home = self.home();
        let stored = serde_json::to_string(&home.link).unwrap();
        home.link = serde_json::from_str(&stored).unwrap();
        home.beaten = None;
    }

    /// The machine loses what it holds, but is the same home: as after a claim whose answer was
    /// lost.
    pub fn forget(&self, task: &TaskId) {
        let mut home = self.home();
        let stored = serde_json::to_string(&home.link).unwrap();
        let mut stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
        stored["tasks"]
            .as_object_mut()
            .unwrap()
            .remove(task.as_str());
        home.link = serde_json::from_value(stored).unwrap();
        home.local.remove(task);
    }

    pub fn adopt(&self) {
        let calls = self.home().link.adoptions();
        for call in calls {
            let path = format!("/v1/tasks/{}/adopt", call.task);
            let Ok(answer) = self.call::<AdoptAnswer>("POST", &path, &call) else {
                continue;
            };
            let mut home = self.home();
            let local = home.local.get(&call.task).cloned().unwrap_or_default();
            let takeover = home.link.adopt_answered(&answer, &local);
            if let Some(claim) = &answer.claim {
                self.take(&mut home, takeover, claim);
                self.history().adoptions += 1;
            }
        }
    }

    fn take(&self, home: &mut Home, takeover: Takeover, claim: &Claim) {
        if takeover == Takeover::Fresh {
            home.local.insert(claim.task.clone(), claim.commits.clone());
            if claim.commits.iter().any(|it| it.last > Version(1)) {
                self.history().takeovers += 1;
            }
        }
    }

    /// Asks once for work, and decides its mail.
    pub fn work(&self, free: u32) -> bool {
        let incarnation = self.home().link.registration().current();
        let Some(incarnation) = incarnation else {
            return false;
        };
        let call = WorkRequest {
            incarnation,
            free,
            parked: BTreeSet::new(),
        };
        let path = format!("/v1/runners/{}/work", self.id);
        let Ok(answer) = self.call::<WorkAnswer>("POST", &path, &call) else {
            return false;
        };
        let mut home = self.home();
        for claim in &answer.claims {
            let local = home.local.get(&claim.task).cloned().unwrap_or_default();
            let takeover = home.link.claimed(answer.incarnation, claim, &local);
            self.take(&mut home, takeover, claim);
        }
        for mail in &answer.mail {
            Self::decide(&mut home, mail);
        }
        true
    }

    /// Decides mail by a commit of its own.
    fn decide(home: &mut Home, mail: &Mail) {
        let local = home.local.get(&mail.task).cloned().unwrap_or_default();
        if home.link.mail_step(&mail.task, &mail.id, &local) == MailStep::Decide {
            let event = Json::new(format!("{{\"decided\":\"{}\"}}", mail.id)).unwrap();
            Self::push(home, &mail.task, event, Some(mail.id.clone()));
        }
    }

    fn push(home: &mut Home, task: &TaskId, event: Json, request: Option<MailId>) {
        let local = home.local.get_mut(task).unwrap();
        let head = local.last().unwrap().head();
        local.extend(Commit::new(head, vec![event], Vec::new(), request));
    }

    /// Records one more commit of a task.
    pub fn commit(&self, task: &TaskId) {
        let mut home = self.home();
        let event = Json::new(format!("{{\"by\":\"{}\"}}", self.id)).unwrap();
        Self::push(&mut home, task, event, None);
    }

    /// Ships what the log lacks, and starts the effects that the log has the plan of.
    pub fn ship(&self) {
        let (append, calls) = {
            let home = self.home();
            let tasks = home.link.tasks().iter().filter_map(|(task, link)| {
                let local = home.local.get(task)?;
                link.next_append(task, local, |_| Vec::new(), summary)
            });
            let tasks: Vec<_> = tasks.collect();
            (
                Append {
                    tasks: tasks.clone(),
                },
                tasks,
            )
        };
        if calls.is_empty() {
            return;
        }
        let Ok(answer) = self.call::<AppendAnswer>("POST", "/v1/append", &append) else {
            return;
        };
        let mut home = self.home();
        for (result, sent) in answer.tasks.iter().zip(&calls) {
            let local = home.local.get(&result.task).cloned().unwrap_or_default();
            let directive = home.link.append_answered(result, &local);
            if let AppendResult::Ok { version } = result.result {
                let known = sent.commits.iter().filter(|it| it.last <= version);
                let heads = known.map(|it| (result.task.clone(), it.head()));
                self.history().acknowledged.extend(heads);
                if sent.summary.ended && Some(version) == sent.commits.last().map(|it| it.last) {
                    home.link.ended(&result.task, result.epoch);
                }
            }
            if let Some(directive) = directive {
                self.obey(&mut home, directive);
            }
        }
    }

    /// Starts each effect that may start: one per commit.
    pub fn perform(&self) {
        let mut home = self.home();
        let mut due = Vec::new();
        for task in home.link.tasks().keys() {
            for commit in home.local.get(task).into_iter().flatten() {
                let is_new = !home.started.contains(&(task.clone(), commit.last));
                let gate = home.link.gate(task, commit.last, now());
                if is_new && (gate == Gate::Open || !self.is_gated) {
                    due.push((task.clone(), commit.head()));
                }
            }
        }
        for (task, head) in due {
            home.started.insert((task.clone(), head.version));
            self.history().effects.insert((task, head));
        }
    }

    /// Whether the task was given back.
    pub fn give_back(&self, task: &TaskId, rest: Rest) -> bool {
        let call = {
            let mut home = self.home();
            let local = home.local.get(task).cloned().unwrap_or_default();
            home.link.give_back(task, rest, &local)
        };
        let Some(call) = call else {
            return false;
        };
        let path = format!("/v1/tasks/{task}/give-back");
        let Ok(answer) = self.call::<HoldingAnswer>("POST", &path, &call) else {
            return false;
        };
        let mut home = self.home();
        home.link.give_back_answered(task, call.epoch, answer);
        home.local.remove(task);
        answer == HoldingAnswer::Ok
    }

    /// Works until it is stopped: one thread waits for work, this one does the rest.
    pub fn run(self: &Arc<Self>) {
        let waiting = Arc::clone(self);
        let worker = thread::spawn(move || {
            while !waiting.stopped.load(Ordering::Relaxed) {
                let free = u32::from(waiting.held().len() < 2);
                if !waiting.work(free) {
                    thread::sleep(Duration::from_millis(100));
                }
                // Mail that is being decided comes again at once.
                thread::sleep(Duration::from_millis(100));
            }
        });
        while !self.stopped.load(Ordering::Relaxed) {
            self.turn();
            thread::sleep(Duration::from_millis(100));
        }
        worker.join().unwrap();
    }

    fn turn(&self) {
        if !self.register() {
            return;
        }
        let is_due = {
            let home = self.home();
            home.beaten.is_none_or(|it| now() - it >= Period(1000))
        };
        if is_due {
            self.beat();
        }
        self.adopt();
        let turns = {
            let mut home = self.home();
            home.turns += 1;
            home.turns
        };
        for (number, (task, _)) in (0_u64..).zip(self.held()) {
            let turn = turns + number;
            let last = self.local(&task).last().map(|it| it.last);
            let is_over = last.is_some_and(|it| it >= LAST);
            let link = self.home().link.task(&task).cloned();
            let Some(link) = link else {
                continue;
            };
            if link.is_active() && !is_over && turn.is_multiple_of(3) {
                self.commit(&task);
            }
            // Now and then a task is left to others, and what was begun is continued.
            let rest = if is_over { Rest::Idle } else { Rest::Offered };
            if is_over || turn.is_multiple_of(41) || link.is_giving_back() {
                self.give_back(&task, rest);
            }
        }
        self.ship();
        self.perform();
    }
}

/// Waits until something holds; panics when it does not within a minute.
pub fn wait_until(what: &str, condition: impl FnMut() -> bool) {
    let is_so = Deadline::after(Duration::from_mins(1)).wait_for(condition);
    assert!(is_so, "it never happened: {what}");
}

/// The first commit of a task.
pub fn first_commit(task: &str) -> Commit {
    let event = Json::new(format!("{{\"created\":\"{task}\"}}")).unwrap();
    let text = Sha::of(TEXT.as_bytes());
    Commit::new(Head::default(), vec![event], vec![text], None).unwrap()
}

/// The text of every task here.
pub const TEXT: &str = "# Grüße\n\nsecret-text\n";
