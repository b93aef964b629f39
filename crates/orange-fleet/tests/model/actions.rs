//! What can happen next in a state of the model.

use orange_fleet::chain::Head;
use orange_fleet::ledger::MailRecord;
use orange_fleet::link::{Gate, Phase, TaskLink};

use crate::mutant::Mutant;
use crate::script;
use crate::world::{Agent, Call, Envelope, Fault, Host, HostState, Packet, World, task};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Freeze the agents of a host whose lease is about to pass.
    Freeze(usize),
    StartAgent(usize),
    /// The agent finishes, and a push is planned.
    Finish(usize),
    /// Push, and record the end of the task.
    Push(usize),
    /// A call of a host, answered at once.
    Call(usize, Call),
    /// A message that a fault has kept on its way arrives.
    Deliver(Envelope),
    /// Give up runners, and release their tasks.
    Reap,
    Tick,
    /// Give the task back although there is work to do.
    Drain(usize),
    // The rest are faults.
    Disturb(usize, Call, Fault),
    /// A late request arrives, and its answer is late too.
    DeliverOnly(Envelope),
    /// A person's client repeats a request.
    Repeat(Envelope),
    /// The process of the runner ends.
    Stop(usize),
    Restart(usize),
    /// The machine is lost.
    Lose(usize),
    /// The machine is lost, and its home comes back as it was registered.
    RollBack(usize),
    /// A new home joins in place of a runner's former one.
    Join(usize),
}

/// The actions that are no faults, most helpful ones first and time last.
pub fn progress(world: &World, mutant: Option<Mutant>, actions: &mut Vec<Action>) {
    let mut is_freeze_due = false;
    for (at, host) in world.hosts.iter().enumerate() {
        if freezes(world, host, mutant) {
            is_freeze_due = true;
            actions.push(Action::Freeze(at));
        }
        if host.state == HostState::Up {
            work(world, at, host, mutant, actions);
        }
        if host.state == HostState::Stopped {
            actions.push(Action::Restart(at));
        }
    }
    for envelope in &world.network {
        actions.push(Action::Deliver(envelope.clone()));
    }
    for (at, host) in world.hosts.iter().enumerate() {
        let calls = calls(world, host).into_iter();
        actions.extend(calls.map(|call| Action::Call(at, call)));
    }
    let mut ledger = world.ledger.clone();
    ledger.reap(world.now);
    if ledger != world.ledger {
        actions.push(Action::Reap);
    }
    // Every host freezes its agents within a tick: the margin of the lease is made for it.
    if !is_freeze_due {
        actions.push(Action::Tick);
    }
}

/// Whatever survives the runner's process freezes its agents, so a stopped runner counts too.
fn freezes(world: &World, host: &Host, mutant: Option<Mutant>) -> bool {
    let is_guarded = match host.state {
        HostState::Up => true,
        HostState::Stopped => mutant != Some(Mutant::FreezeByRunnerOnly),
        HostState::Absent | HostState::Lost => false,
    };
    let is_due = host.link.lease().phase(world.now) != Phase::Running;
    is_guarded && is_due && host.agent == Agent::Running && mutant != Some(Mutant::NoFreeze)
}

/// Whether an effect may start that was planned by a commit.
fn is_open(world: &World, host: &Host, plan: Head, mutant: Option<Mutant>) -> bool {
    match host.link.gate(&task(), plan.version, world.now) {
        Gate::Open => true,
        Gate::Unacknowledged => mutant == Some(Mutant::NoGate),
        Gate::Frozen | Gate::NotHeld => false,
    }
}

fn work(world: &World, at: usize, host: &Host, mutant: Option<Mutant>, actions: &mut Vec<Action>) {
    if !host.is_active() {
        return;
    }
    let fold = script::fold(&host.local);
    if fold.ended {
        return;
    }
    let can_start = |plan| is_open(world, host, plan, mutant);
    if host.agent == Agent::None && fold.push.is_none() && fold.start.is_some_and(can_start) {
        actions.push(Action::StartAgent(at));
    }
    if host.agent == Agent::Running && fold.push.is_none() {
        actions.push(Action::Finish(at));
    }
    if fold.push.is_some_and(can_start) {
        actions.push(Action::Push(at));
    }
}

/// The calls that a host may make now.
fn calls(world: &World, host: &Host) -> Vec<Call> {
    if host.state != HostState::Up {
        return Vec::new();
    }
    let link = &host.link;
    let held = link.task(&task());
    let is_registered = link.registration().current().is_some();
    let complete = |it: &TaskLink| it.unacknowledged(&host.local).is_empty();
    let calls = [
        (Call::Register, link.registration().due().is_some()),
        (
            Call::Append,
            held.is_some_and(|it| it.is_active() && !complete(it)),
        ),
        (Call::Adopt, !link.adoptions().is_empty()),
        (
            Call::GiveBack,
            held.is_some_and(|it| it.is_giving_back() || is_spare(host)),
        ),
        (
            Call::Beat,
            is_registered && host.last_beat != Some(world.now),
        ),
        (Call::Work, is_registered && has_work(world, host)),
    ];
    let calls = calls.into_iter().filter(|(_, is_due)| *is_due);
    calls.map(|(call, _)| call).collect()
}

/// A holder of an ended task with nothing left to decide gives it back.
fn is_spare(host: &Host) -> bool {
    let link = host.link.task(&task());
    let complete =
        link.is_some_and(|it| it.is_active() && it.unacknowledged(&host.local).is_empty());
    complete && script::fold(&host.local).ended
}

/// A long poll is answered when there is work, so it is sent only then.
fn has_work(world: &World, host: &Host) -> bool {
    let incarnation = host.link.registration().current();
    let alive = world.ledger.runners.get(&host.runner).zip(incarnation);
    if !alive.is_some_and(|(record, incarnation)| record.is_alive(incarnation)) {
        return false;
    }
    let record = &world.ledger.tasks[&task()];
    let mut mail = world.ledger.mail.values();
    let has_mail = mail.any(MailRecord::is_open);
    let is_decided = script::fold(&host.local).decided > 0;
    match host.link.task(&task()) {
        Some(link) => link.is_active() && has_mail && !is_decided,
        None => record.owner.is_none() && (has_mail || !record.summary.ended),
    }
}

/// The faults that may happen, when there are faults left.
pub fn faults(world: &World, actions: &mut Vec<Action>) {
    for envelope in world.network.iter().filter(|it| it.packet.is_request()) {
        actions.push(match envelope.packet {
            Packet::Post(_) => Action::Repeat(envelope.clone()),
            _ if !envelope.heard => continue,
            _ => Action::DeliverOnly(envelope.clone()),
        });
    }
    for (at, host) in world.hosts.iter().enumerate() {
        for call in calls(world, host) {
            for fault in [Fault::LateRequest, Fault::LateAnswer, Fault::Duplicate] {
                actions.push(Action::Disturb(at, call, fault));
            }
        }
    }
    let alive = world
        .hosts
        .iter()
        .filter(|it| matches!(it.state, HostState::Up | HostState::Stopped));
    let is_last = alive.count() < 2;
    for (at, host) in world.hosts.iter().enumerate() {
        match host.state {
            HostState::Up => {
                actions.push(Action::Stop(at));
                if host.backup.is_some() {
                    actions.push(Action::RollBack(at));
                }
                if !is_last {
                    actions.push(Action::Lose(at));
                }
            }
            HostState::Stopped if !is_last => actions.push(Action::Lose(at)),
            HostState::Absent => actions.push(Action::Join(at)),
            HostState::Stopped | HostState::Lost => {}
        }
    }
}

pub fn drains(world: &World, actions: &mut Vec<Action>) {
    for (at, host) in world.hosts.iter().enumerate() {
        let link = host.link.task(&task());
        let complete =
            link.is_some_and(|it| it.is_active() && it.unacknowledged(&host.local).is_empty());
        let is_open = !script::fold(&host.local).ended;
        if host.state == HostState::Up && complete && is_open {
            actions.push(Action::Drain(at));
        }
    }
}
