//! What must hold in every state, and what must be possible.

use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::Epoch;
use orange_fleet::ledger::MailState;
use orange_fleet::link::{Phase, Registration, TaskLink};

use crate::script;
use crate::world::{Agent, Host, HostState, World, task};

/// F1: a log has no gap, and its epochs never fall.
pub fn log_is_gapless(world: &World) -> bool {
    let mut head = Head::default();
    let mut epoch = Epoch::default();
    let mut log = world.ledger.tasks[&task()].log.iter();
    log.all(|row| {
        let fits = row.commit.follows(head) && epoch <= row.epoch;
        head = row.commit.head();
        epoch = row.epoch;
        fits
    })
}

/// F2: what was acknowledged is in the log.
pub fn acknowledged_is_logged(world: &World) -> bool {
    world.hosts.iter().all(|host| {
        let link = host.link.task(&task());
        link.is_none_or(|it| is_logged(world, it.acknowledged()))
    })
}

fn is_logged(world: &World, head: Head) -> bool {
    let mut log = world.ledger.tasks[&task()].log.iter();
    head == Head::default() || log.any(|row| row.commit.head() == head)
}

/// F3: the plan of every outside effect is in the log before the effect.
pub fn effects_are_planned(world: &World) -> bool {
    !world.premature
}

/// F4: unfrozen agents of a task are on one runner.
pub fn agents_are_on_one_runner(world: &World) -> bool {
    let running = world.hosts.iter().filter(|it| it.agent == Agent::Running);
    running.count() <= 1
}

/// F5: a request is decided at most once, and its state says where.
pub fn requests_are_decided_once(world: &World) -> bool {
    let log = &world.ledger.tasks[&task()].log;
    world.ledger.mail.iter().all(|(id, mail)| {
        let decisions = log
            .iter()
            .filter(|row| row.commit.request.as_ref() == Some(id));
        let decisions: Vec<_> = decisions.map(|row| row.commit.last).collect();
        match &mail.state {
            MailState::Recorded(version) => decisions == [*version],
            MailState::Open | MailState::Answered(_) => decisions.is_empty(),
        }
    })
}

/// F6: the fold of the log is its summary, and the holder's fold up to what was acknowledged.
pub fn folds_agree(world: &World) -> bool {
    let task_record = &world.ledger.tasks[&task()];
    let commits: Vec<Commit> = task_record
        .log
        .iter()
        .map(|row| row.commit.clone())
        .collect();
    let summary = script::summary(&commits, task_record.head().version);
    let holders = world.hosts.iter().filter(|it| it.state == HostState::Up);
    let agree = holders.filter_map(|host| Some((host, host.link.task(&task())?)));
    let mut agree = agree.map(|(host, link)| {
        let until = link.acknowledged().version;
        let log = commits.iter().filter(|it| it.last <= until);
        let local = host.local.iter().filter(|it| it.last <= until);
        script::fold(log) == script::fold(local)
    });
    summary == task_record.summary && agree.all(|it| it)
}

/// A home and the log never disagree under one epoch: no home is cloned or rolled back here.
pub fn no_conflict(world: &World) -> bool {
    let mut hosts = world.hosts.iter();
    !hosts.any(|host| host.link.task(&task()).is_some_and(TaskLink::is_halted))
}

/// A home with a running lease is the current incarnation, unless another home has joined.
pub fn healthy_homes_stay(world: &World) -> bool {
    world.hosts.iter().all(|host| {
        let Registration::Registered(incarnation) = host.link.registration() else {
            return true;
        };
        let record = &world.ledger.runners[&host.runner];
        let is_alive = matches!(host.state, HostState::Up | HostState::Stopped);
        let is_running = host.link.lease().phase(world.now) == Phase::Running;
        let is_other = record.home != *host.link.home();
        !is_alive || !is_running || is_other || record.incarnation == *incarnation
    })
}

/// A second holder has continued the log of a first.
pub fn task_can_move(world: &World) -> bool {
    let log = &world.ledger.tasks[&task()].log;
    let mut taken = log.iter().filter(|row| row.epoch > Epoch(0));
    let first = taken.next().map(|row| row.epoch);
    first.is_some() && taken.any(|row| Some(row.epoch) != first)
}

pub fn agents_can_freeze(world: &World) -> bool {
    world.hosts.iter().any(|it| it.agent == Agent::Frozen)
}

/// A holder was fenced while it had commits that the log lacks.
pub fn tails_can_be_stale(world: &World) -> bool {
    let epoch = world.ledger.tasks[&task()].epoch;
    let is_stale = |host: &Host| {
        let link = host.link.task(&task());
        link.is_some_and(|it| it.epoch() < epoch && !it.unacknowledged(&host.local).is_empty())
    };
    world.hosts.iter().any(is_stale)
}
