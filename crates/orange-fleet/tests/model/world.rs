//! A state of the model: real ledger and links, hosts, network.

use std::collections::BTreeSet;

use orange_fleet::capability::{Capabilities, Needs};
use orange_fleet::chain::Commit;
use orange_fleet::ids::{
    Epoch, Format, HarnessName, HomeId, Incarnation, OrgId, PersonId, ProjectId, RequestKey,
    RunnerId, TaskId, Version,
};
use orange_fleet::json::Json;
use orange_fleet::ledger::{Ledger, LedgerTerms};
use orange_fleet::link::{LeaseTerms, RunnerLink, TaskLink};
use orange_fleet::message::{
    Adopt, AdoptAnswer, Beat, BeatAnswer, CreateTask, GiveBack, HoldingAnswer, PostRequest,
    Register, RegisterAnswer, TaskAppend, TaskResult, WorkAnswer, WorkRequest,
};
use orange_fleet::time::{Period, Timestamp};

use crate::fleet::Scenario;
use crate::script::{self, Event};

/// One tick stands for 30 seconds, and all machines see it.
pub const LOST_AFTER: Period = Period(2);
const MARGIN: Period = Period(1);

pub const TASK: &str = "t";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub now: Timestamp,
    pub ledger: Ledger,
    pub hosts: Vec<Host>,
    pub network: BTreeSet<Envelope>,
    /// How many more faults may happen.
    pub faults: u8,
    /// How many more times a holder may give the task back without need.
    pub drains: u8,
    /// Whether a host may be lost and come back from a backup.
    pub backups: bool,
    /// Whether an effect has started whose plan the log did not have.
    pub premature: bool,
}

/// A home, its agents, and the process of the runner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    pub runner: RunnerId,
    pub state: HostState,
    pub link: RunnerLink,
    /// The local log of the task.
    pub local: Vec<Commit>,
    pub agent: Agent,
    pub last_beat: Option<Timestamp>,
    /// How often it has taken the task over.
    pub takeovers: u8,
    /// The home as it was registered, if backups are made.
    pub backup: Option<RunnerLink>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostState {
    /// The home has not joined yet.
    Absent,
    Up,
    /// The process of the runner has ended; agents live on.
    Stopped,
    /// The machine is lost with everything on it.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    None,
    Running,
    Frozen,
}

/// A message on its way, because of a fault. It may come at any time, or never.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Envelope {
    pub host: usize,
    /// When the request was sent. A runner knows it of every answer.
    pub sent: Timestamp,
    /// Whether the process that asked still runs: no other gets the answer.
    pub heard: bool,
    pub packet: Packet,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Packet {
    Register(Register),
    Registered(Incarnation, RegisterAnswer),
    Beat(Beat),
    BeatAnswer(Incarnation, BeatAnswer),
    Work(WorkRequest),
    WorkAnswer(WorkAnswer),
    Append(TaskAppend),
    /// With whether the last commit of the request ended the task.
    AppendAnswer(TaskResult, bool),
    Adopt(Adopt),
    AdoptAnswer(AdoptAnswer),
    GiveBack(GiveBack),
    GiveBackAnswer(Epoch, HoldingAnswer),
    /// A person's request.
    Post(PostRequest),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Register,
    Beat,
    Work,
    Append,
    Adopt,
    GiveBack,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request comes late or never.
    LateRequest,
    /// The server has done it, but the answer comes late or never.
    LateAnswer,
    /// Another copy of the request comes late.
    Duplicate,
}

impl Packet {
    pub fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Register(_)
                | Self::Beat(_)
                | Self::Work(_)
                | Self::Append(_)
                | Self::Adopt(_)
                | Self::GiveBack(_)
                | Self::Post(_)
        )
    }
}

pub fn task() -> TaskId {
    TaskId::new(TASK)
}

pub fn person() -> PersonId {
    PersonId::new("ann")
}

fn capabilities() -> Capabilities {
    Capabilities {
        format: Format(1),
        projects: [ProjectId::new("coffee")].into(),
        harnesses: [HarnessName::new("claude")].into(),
        labels: BTreeSet::new(),
    }
}

impl Host {
    pub fn new(number: usize, runner: &str, state: HostState, seen: Incarnation) -> Self {
        let terms = LeaseTerms {
            margin: MARGIN,
            kill_after: Period(1000),
        };
        Self {
            runner: RunnerId::new(runner),
            state,
            link: RunnerLink::new(HomeId::new(format!("home{number}")), seen, terms),
            local: Vec::new(),
            agent: Agent::None,
            last_beat: None,
            takeovers: 0,
            backup: None,
        }
    }

    pub fn registration(&self) -> Option<Register> {
        Some(Register {
            runner: self.runner.clone(),
            home: self.link.home().clone(),
            seen: self.link.registration().due()?,
            lost_after: LOST_AFTER,
            capabilities: capabilities(),
        })
    }

    /// Record an event locally, when the host holds the task.
    pub fn record(&mut self, number: usize, event: &Event) {
        if self.is_active() {
            let author = (number, self.takeovers);
            let commit = script::commit(&self.local, event, author);
            self.local.push(commit);
        }
    }

    pub fn is_active(&self) -> bool {
        let link = self.link.task(&task());
        link.is_some_and(TaskLink::is_active)
    }
}

impl World {
    /// A task on offer, hosts, and perhaps a person's request on its way.
    pub fn new(scenario: &Scenario) -> Self {
        let terms = LedgerTerms {
            longest_lost_after: LOST_AFTER,
            longest_gap: Period(1),
        };
        let mut ledger = Ledger::new(OrgId::new("org"), terms);
        let created = script::commit(&[], &Event::Created, (9, 0));
        let create = CreateTask {
            task: task(),
            needs: Needs {
                format: Format(1),
                project: ProjectId::new("coffee"),
                harnesses: [HarnessName::new("claude")].into(),
                labels: BTreeSet::new(),
            },
            priority: 0,
            after: BTreeSet::new(),
            parent: None,
            summary: script::summary(std::slice::from_ref(&created), Version(1)),
            commits: vec![created],
            texts: Vec::new(),
        };
        ledger.create(Timestamp(0), &create);
        let hosts = scenario.hosts.iter().enumerate();
        let hosts =
            hosts.map(|(at, (runner, state))| Host::new(at, runner, *state, Incarnation(0)));
        let mut network = BTreeSet::new();
        if scenario.asks {
            let post = PostRequest {
                key: RequestKey::new("k"),
                ask: Json::null(),
            };
            network.insert(Envelope {
                host: usize::MAX,
                sent: Timestamp(0),
                heard: false,
                packet: Packet::Post(post),
            });
        }
        let mut world = Self {
            now: Timestamp(0),
            ledger,
            hosts: hosts.collect(),
            network,
            faults: scenario.faults,
            drains: scenario.drains,
            backups: scenario.backups,
            premature: false,
        };
        if scenario.registered {
            world.register_all();
        }
        world
    }

    /// Register the hosts that are up, in order and without faults.
    fn register_all(&mut self) {
        for host in self.hosts.iter_mut().filter(|it| it.state == HostState::Up) {
            let call = host.registration().unwrap();
            let answer = self.ledger.register(self.now, &call);
            host.link.register_answered(call.seen, self.now, &answer);
            host.backup = self.backups.then(|| host.link.clone());
        }
    }

    pub fn is_over(&self) -> bool {
        let task = &self.ledger.tasks[&task()];
        let decided = self.ledger.mail.values().all(|it| !it.is_open());
        task.summary.ended && decided
    }
}
