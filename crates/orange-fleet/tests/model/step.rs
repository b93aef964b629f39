//! What an action does, by the real link and ledger.

use orange_fleet::chain::{Commit, Head};
use orange_fleet::ids::{RunnerId, Version};
use orange_fleet::ledger::Ledger;
use orange_fleet::link::{Directive, MailStep, Phase, Takeover};
use orange_fleet::message::{
    Append, AppendResult, Beat, BeatAnswer, Claim, Rest, TaskAppend, TaskResult, WorkAnswer,
    WorkRequest,
};
use orange_fleet::time::Timestamp;

use crate::actions::Action;
use crate::mutant::Mutant;
use crate::script::{self, Event};
use crate::world::{Agent, Call, Envelope, Fault, Host, HostState, Packet, World, person, task};

pub fn step(world: &mut World, action: Action, mutant: Option<Mutant>) {
    match action {
        Action::Freeze(at) => world.hosts[at].agent = Agent::Frozen,
        Action::StartAgent(at) => {
            let plan = script::fold(&world.hosts[at].local).start.unwrap();
            effect(world, plan);
            world.hosts[at].agent = Agent::Running;
        }
        Action::Finish(at) => world.hosts[at].record(at, &Event::Finished),
        Action::Push(at) => {
            let plan = script::fold(&world.hosts[at].local).push.unwrap();
            effect(world, plan);
            world.hosts[at].agent = Agent::None;
            world.hosts[at].record(at, &Event::Ended);
        }
        Action::Call(at, call) => disturb(world, at, call, None, mutant),
        Action::Disturb(at, call, fault) => {
            world.faults -= 1;
            disturb(world, at, call, Some(fault), mutant);
        }
        Action::Deliver(envelope) => {
            world.network.remove(&envelope);
            deliver(world, envelope, false, mutant);
        }
        Action::DeliverOnly(envelope) => {
            world.faults -= 1;
            world.network.remove(&envelope);
            deliver(world, envelope, true, mutant);
        }
        Action::Repeat(envelope) => {
            world.faults -= 1;
            deliver(world, envelope, false, mutant);
        }
        Action::Reap => world.ledger.reap(world.now),
        Action::Tick => {
            world.now = Timestamp(world.now.0 + 1);
            world.ledger.mark(world.now);
        }
        Action::Drain(at) => {
            world.drains -= 1;
            disturb(world, at, Call::GiveBack, None, mutant);
        }
        Action::Stop(at) => {
            world.faults -= 1;
            world.hosts[at].state = HostState::Stopped;
            hang_up(world, at);
        }
        Action::Restart(at) => world.hosts[at].state = HostState::Up,
        Action::Lose(at) => {
            world.faults -= 1;
            world.hosts[at].state = HostState::Lost;
            world.hosts[at].agent = Agent::None;
            hang_up(world, at);
        }
        Action::RollBack(at) => {
            world.faults -= 1;
            hang_up(world, at);
            let host = &mut world.hosts[at];
            host.link = host.backup.clone().unwrap();
            host.link.rebooted();
            host.agent = Agent::None;
            host.local.clear();
        }
        Action::Join(at) => {
            world.faults -= 1;
            let runner = world.hosts[at].runner.clone();
            let seen = world.ledger.runners.get(&runner);
            let seen = seen.map(|it| it.incarnation).unwrap_or_default();
            world.hosts[at] = Host::new(at, runner.as_str(), HostState::Up, seen);
        }
    }
}

/// Answers reach only the process that asked; requests are on their way already.
fn hang_up(world: &mut World, at: usize) {
    let network = std::mem::take(&mut world.network).into_iter();
    let kept = network.filter(|it| it.host != at || it.packet.is_request());
    let unheard = kept.map(|it| Envelope {
        heard: it.heard && it.host != at,
        ..it
    });
    world.network = unheard.collect();
}

/// A host makes a call, and it may go wrong.
fn disturb(world: &mut World, at: usize, call: Call, fault: Option<Fault>, mutant: Option<Mutant>) {
    let Some(packet) = request(world, at, call) else {
        return;
    };
    let envelope = Envelope {
        host: at,
        sent: world.now,
        heard: true,
        packet,
    };
    match fault {
        None => deliver(world, envelope, false, mutant),
        Some(Fault::LateRequest) => {
            world.network.insert(envelope);
        }
        Some(Fault::LateAnswer) => deliver(world, envelope, true, mutant),
        Some(Fault::Duplicate) => {
            world.network.insert(envelope.clone());
            deliver(world, envelope, false, mutant);
        }
    }
}

/// A message arrives. The answer to a request follows at once, or is late.
fn deliver(world: &mut World, envelope: Envelope, is_late: bool, mutant: Option<Mutant>) {
    let answer = if envelope.packet.is_request() {
        let answer = serve(world, envelope.host, &envelope.packet, mutant);
        answer.map(|packet| Envelope { packet, ..envelope })
    } else {
        Some(envelope)
    };
    match answer.filter(|it| it.heard) {
        Some(answer) if is_late => {
            world.network.insert(answer);
        }
        Some(answer) => hear(world, answer, mutant),
        None => {}
    }
}

/// An effect outside starts now.
fn effect(world: &mut World, plan: Head) {
    let log = &world.ledger.tasks[&task()].log;
    if !log.iter().any(|row| row.commit.head() == plan) {
        world.premature = true;
    }
}

fn request(world: &mut World, at: usize, call: Call) -> Option<Packet> {
    let host = &mut world.hosts[at];
    let incarnation = host.link.registration().current();
    match call {
        Call::Register => host.registration().map(Packet::Register),
        Call::Beat => {
            host.last_beat = Some(world.now);
            incarnation.map(|incarnation| {
                Packet::Beat(Beat {
                    home: host.link.home().clone(),
                    incarnation,
                    held: host.link.held(),
                    free: 1,
                    parked: [].into(),
                    activity: orange_fleet::json::Json::null(),
                })
            })
        }
        Call::Work => incarnation.map(|incarnation| {
            let free = u32::from(host.link.tasks().is_empty());
            Packet::Work(WorkRequest {
                incarnation,
                free,
                parked: [].into(),
            })
        }),
        Call::Append => {
            let link = host.link.task(&task());
            let texts = |_: &Commit| Vec::new();
            let summary = |it: &Commit| script::summary(&host.local, it.last);
            let append = link.and_then(|it| it.next_append(&task(), &host.local, texts, summary));
            append.map(Packet::Append)
        }
        Call::Adopt => host.link.adoptions().into_iter().next().map(Packet::Adopt),
        Call::GiveBack => {
            host.agent = Agent::None;
            let call = host.link.give_back(&task(), Rest::Offered, &host.local);
            call.map(Packet::GiveBack)
        }
    }
}

/// What the server does with a request.
fn serve(world: &mut World, at: usize, packet: &Packet, mutant: Option<Mutant>) -> Option<Packet> {
    let now = world.now;
    let ledger = &mut world.ledger;
    let runner = world.hosts.get(at).map(|it| it.runner.clone());
    match packet {
        Packet::Register(call) => {
            let mut call = call.clone();
            let asked = call.seen;
            if mutant == Some(Mutant::RegisterWithoutComparing) {
                let record = ledger.runners.get(&call.runner);
                call.seen = record.map(|it| it.incarnation).unwrap_or_default();
            }
            let answer = ledger.register(now, &call);
            if mutant == Some(Mutant::ReleaseAtOnce) {
                let record = ledger.runners.get_mut(&call.runner);
                record.unwrap().old_until = Timestamp(0);
            }
            Some(Packet::Registered(asked, answer))
        }
        Packet::Beat(call) => {
            let mut answer = ledger.beat(now, &runner?, call);
            if mutant == Some(Mutant::BeatWithoutYours)
                && let BeatAnswer::Alive { yours, .. } = &mut answer
            {
                yours.clear();
            }
            Some(Packet::BeatAnswer(call.incarnation, answer))
        }
        Packet::Work(call) => {
            let answer = ledger.work(now, &runner?, call);
            let is_empty = answer.claims.is_empty() && answer.mail.is_empty();
            (!is_empty).then_some(Packet::WorkAnswer(answer))
        }
        Packet::Append(append) => {
            let ended = append.summary.ended;
            let result = serve_append(ledger, now, &runner?, append, mutant);
            Some(Packet::AppendAnswer(result, ended))
        }
        Packet::Adopt(call) => {
            let mut answer = ledger.adopt(&runner?, call);
            if mutant == Some(Mutant::AdoptWithOldEpoch)
                && let Some(claim) = &mut answer.claim
            {
                claim.epoch = call.seen;
                ledger.tasks.get_mut(&call.task).unwrap().epoch = call.seen;
            }
            Some(Packet::AdoptAnswer(answer))
        }
        Packet::GiveBack(call) => {
            let answer = ledger.give_back(now, &runner?, call);
            Some(Packet::GiveBackAnswer(call.epoch, answer))
        }
        Packet::Post(call) => {
            ledger.post(&person(), &task(), call);
            None
        }
        _ => None,
    }
}

fn serve_append(
    ledger: &mut Ledger,
    now: Timestamp,
    runner: &RunnerId,
    append: &TaskAppend,
    mutant: Option<Mutant>,
) -> TaskResult {
    let record = &ledger.tasks[&append.task];
    if mutant == Some(Mutant::NotIdempotent) && record.epoch == append.epoch {
        ledger.write(&append.task, append.epoch, &append.commits, &append.summary);
        let version = append.commits.last().map_or(Version(0), |it| it.last);
        return TaskResult {
            task: append.task.clone(),
            epoch: append.epoch,
            result: AppendResult::Ok { version },
        };
    }
    let call = Append {
        tasks: vec![append.clone()],
    };
    ledger.append(now, runner, &call).tasks.remove(0)
}

/// What a host does with an answer.
fn hear(world: &mut World, envelope: Envelope, mutant: Option<Mutant>) {
    let (at, now) = (envelope.host, world.now);
    let host = &mut world.hosts[at];
    match envelope.packet {
        Packet::Registered(seen, answer) => {
            host.link.register_answered(seen, envelope.sent, &answer);
            if world.backups && host.link.registration().current().is_some() {
                let backup = host.link.clone();
                host.backup.get_or_insert(backup);
            }
        }
        Packet::BeatAnswer(incarnation, answer) => {
            let sent = match mutant {
                Some(Mutant::LeaseFromAnswer) => now,
                _ => envelope.sent,
            };
            let directives = host.link.beat_answered(incarnation, sent, &answer);
            obey(host, directives);
            let is_running = host.link.lease().phase(now) == Phase::Running;
            if host.agent == Agent::Frozen && is_running {
                host.agent = Agent::Running;
            }
        }
        Packet::WorkAnswer(answer) => work(host, at, &answer),
        Packet::AppendAnswer(result, ended) => {
            let directive = host.link.append_answered(&result, &host.local);
            obey(host, directive);
            let is_ok = matches!(result.result, AppendResult::Ok { .. });
            let link = host.link.task(&task());
            let complete = link.is_some_and(|it| it.unacknowledged(&host.local).is_empty());
            if is_ok && ended && complete {
                host.link.ended(&task(), result.epoch);
                tidy(host);
            }
        }
        Packet::AdoptAnswer(answer) => {
            let takeover = host.link.adopt_answered(&answer, &host.local);
            if let Some(claim) = &answer.claim {
                take(host, at, claim, takeover);
            }
        }
        Packet::GiveBackAnswer(epoch, answer) => {
            host.link.give_back_answered(&task(), epoch, answer);
            tidy(host);
        }
        _ => {}
    }
}

fn work(host: &mut Host, at: usize, answer: &WorkAnswer) {
    for claim in &answer.claims {
        let takeover = host.link.claimed(answer.incarnation, claim, &host.local);
        take(host, at, claim, takeover);
    }
    for mail in &answer.mail {
        if host.link.mail_step(&task(), &mail.id, &host.local) == MailStep::Decide {
            host.record(at, &Event::Decided(mail.id.clone()));
        }
    }
}

fn take(host: &mut Host, at: usize, claim: &Claim, takeover: Takeover) {
    if takeover != Takeover::Fresh {
        return;
    }
    host.agent = Agent::None;
    host.takeovers += 1;
    host.local.clone_from(&claim.commits);
    if !script::fold(&host.local).ended {
        host.record(at, &Event::Taken);
    }
}

fn obey(host: &mut Host, directives: impl IntoIterator<Item = Directive>) {
    for directive in directives {
        match directive {
            Directive::Drop { .. } => {
                host.agent = Agent::None;
                host.local.clear();
            }
            Directive::Halt { .. } => host.agent = Agent::None,
        }
    }
}

/// A task that is not held any more leaves nothing behind.
fn tidy(host: &mut Host) {
    if host.link.task(&task()).is_none() {
        host.agent = Agent::None;
        host.local.clear();
    }
}
